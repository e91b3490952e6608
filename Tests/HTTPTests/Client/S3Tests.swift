import Foundation
import TestKit
import Testing

@testable import HTTP

@Suite struct `S3 signatures` {
  let credentials = AWSCredentials(
    accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", region: "us-east-1")
  /// 2013-05-24T00:00:00Z, the time of Amazon's examples.
  static let time: Int64 = 1_369_353_600_000
  static let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

  @Test(arguments: [
    ("lifecycle", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
    ("max-keys=2&prefix=J", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ("prefix=J&max-keys=2", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
  ])
  func `are those of Amazon's examples`(query: String, expected: String) throws {
    let fields = try AWSSignature(credentials: credentials, time: Self.time).fields(
      method: "GET", host: "examplebucket.s3.amazonaws.com", path: "/", query: query, payload: Self.empty)
    #expect(
      fields.last?.value
        == "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
        + "SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=\(expected)")
  }

  @Test func `a session token is sent and signed`() throws {
    var temporary = credentials
    temporary.sessionToken = "TOKEN"
    let fields = try AWSSignature(credentials: temporary, time: Self.time).fields(
      method: "PUT", host: "h", path: "/x", query: nil, payload: Self.empty)
    #expect(fields.contains { $0.name == "x-amz-security-token" && $0.value == "TOKEN" })
    #expect(
      fields.last?.value.contains("SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token") == true)
  }

  @Test(arguments: [
    ("/a%20b", "/a%20b"), ("/a+b=c", "/a%2Bb%3Dc"), ("/a~b%7e", "/a~b~"), ("", "/"), ("/%C3%A9", "/%C3%A9"),
  ])
  func `paths have one spelling`(path: String, expected: String) {
    #expect(AWSSignature.canonicalPath(path) == expected)
  }
}

@Suite struct `S3 buckets` {
  @Test(
    arguments: [
      ("s3://bkt/pre", nil, nil, "https://bkt.s3.eu-west-1.amazonaws.com/pre"),
      ("s3://my.bkt", nil, nil, "https://s3.eu-west-1.amazonaws.com/my.bkt"),
      ("s3://bkt/pre", "http://127.0.0.1:9000", nil, "http://127.0.0.1:9000/bkt/pre"),
      ("s3://bkt/pre", "https://store.example", S3Bucket.Style.virtualHost, "https://bkt.store.example/pre"),
      ("s3://bkt", nil, .path, "https://s3.eu-west-1.amazonaws.com/bkt"),
    ] as [(String, String?, S3Bucket.Style?, String)])
  func `have their place`(url: String, endpoint: String?, style: S3Bucket.Style?, expected: String) throws {
    let bucket = S3Bucket(
      try ServerURL(url), endpoint: try endpoint.map { try ServerURL($0) }, region: "eu-west-1", style: style)
    #expect(bucket.base.text == expected)
  }

  @Test func `say what is wrong with a code`() {
    #expect(S3Bucket.errorCode(in: Array("<Error><Code>SlowDown</Code><Message>".utf8)) == "SlowDown")
    #expect(S3Bucket.errorCode(in: Array("<html>".utf8)) == nil)
  }
}

@Suite struct Credentials {
  let directory: TemporaryDirectory
  init() throws { directory = try TemporaryDirectory() }

  private func write(_ text: String, _ name: String = "file") throws -> String {
    try Data(text.utf8).write(to: URL(fileURLWithPath: directory.file(name)))
    return directory.file(name)
  }

  @Test(
    arguments: [
      ("abc", "abc"), ("abc\n", "abc"), ("# comment\n\n  abc  \n", "abc"), ("SEGREC_TOKEN=abc\n", "abc"),
      ("OTHER_THING=1\nSEGREC_TOKEN=\"a b\"\n", "a b"), ("export SEGREC_TOKEN='x'\n", "x"), ("", nil),
      ("\n# only\n", nil),
      ("SEGREC_TOKEN=\n", nil), ("YWJj=", "YWJj="), ("YWJjZA==", "YWJjZA=="),
    ] as [(String, String?)])
  func `a token file holds a token or an environment`(text: String, expected: String?) {
    #expect(CredentialSource.token(in: text) == expected)
  }

  @Test func `a token file is read when asked for`() throws {
    var source = CredentialSource()
    source.tokenFile = try write("one")
    let url = try ServerURL("http://h")
    #expect(try source.load(for: url) == .bearer("one"))
    _ = try write("two")
    #expect(try source.load(for: url) == .bearer("two"))
    _ = try write("")
    #expect(throws: ClientError.self) { try source.load(for: url) }
    source.tokenFile = directory.file("nothing")
    #expect(throws: ClientError.self) { try source.load(for: url) }
  }

  @Test func `netrc gives each host its own`() throws {
    var source = CredentialSource()
    source.netrcFile = try write(
      """
      # comment
      machine a.example login me password p1
      macdef init
      machine fake login no password no

      machine B.example
        login "you too" account x
        password "p\\"2"
      default login anybody password p3
      """)
    func load(_ host: String) throws -> Authorization { try source.load(for: try ServerURL("http://\(host)")) }
    #expect(try load("a.example") == .basic(user: "me", password: "p1"))
    #expect(try load("b.example") == .basic(user: "you too", password: "p\"2"))
    #expect(try load("c.example") == .basic(user: "anybody", password: "p3"))
  }

  @Test func `any netrc is read to its end`() {
    var generator = SeededGenerator(seed: 3)
    let words = [
      "machine", "login", "password", "default", "macdef", "\"", "\\", "a", "\n", "\n\n", " ", "#", "account",
    ]
    for _ in 0..<3000 {
      let text = (0..<Int.random(in: 0..<20, using: &generator)).map { _ in words.randomElement(using: &generator) ?? ""
      }
      _ = Netrc(text.joined(separator: Bool.random(using: &generator) ? " " : "")).credentials(for: "a")
    }
  }

  @Test func `S3 keys come from the environment, else from the shared file`() throws {
    let file = try write(
      "[default]\naws_access_key_id = A\naws_secret_access_key=B\n[work]\naws_access_key_id=C\naws_secret_access_key=D\n"
        + "aws_session_token = E\n")
    var variables = ["AWS_SHARED_CREDENTIALS_FILE": file, "AWS_REGION": "eu-west-3"]
    var keys = try AWSCredentialSource(region: nil) { variables[$0] }.load()
    #expect(keys == AWSCredentials(accessKey: "A", secretKey: "B", region: "eu-west-3"))
    variables["AWS_PROFILE"] = "work"
    keys = try AWSCredentialSource(region: "x", variable: { variables[$0] }).load()
    #expect(keys == AWSCredentials(accessKey: "C", secretKey: "D", sessionToken: "E", region: "x"))
    variables["AWS_ACCESS_KEY_ID"] = "K"
    variables["AWS_SECRET_ACCESS_KEY"] = "S"
    keys = try AWSCredentialSource(region: nil, variable: { variables[$0] }).load()
    #expect(keys.accessKey == "K" && keys.secretKey == "S" && keys.sessionToken == nil)
    variables = ["AWS_SHARED_CREDENTIALS_FILE": file, "AWS_PROFILE": "nobody"]
    let source = try AWSCredentialSource(region: nil) { variables[$0] }
    #expect(throws: ClientError.self) { try source.load() }
  }

  @Test func `S3 keys come from a container's endpoint`() throws {
    let json = "{\"AccessKeyId\" : \"A\",\"SecretAccessKey\":\"B\\/x\", \"Token\":\"T\", \"Expiration\":\"2026-01-01\"}"
    let server = try FaultServer { request in
      request.headers["authorization"] == "secret" ? .answer(200, body: json) : .answer(403)
    }
    let variables = [
      "AWS_CONTAINER_CREDENTIALS_FULL_URI": "\(server.url)/keys", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "secret",
    ]
    let keys = try AWSCredentialSource(region: nil) { variables[$0] }.load()
    #expect(keys == AWSCredentials(accessKey: "A", secretKey: "B/x", sessionToken: "T", region: "us-east-1"))
    let locked = try AWSCredentialSource(region: nil) { ["AWS_CONTAINER_CREDENTIALS_FULL_URI": server.url][$0] }
    #expect(throws: ClientError.self) { try locked.load() }
  }
}
