import Foundation
import HLS
import HTTP
import Platform
import Storage
import Synchronization
import TestKit
import Testing

@testable import Delivery

@Suite struct `Uploading to S3` {
  let spool: SpoolFixture
  let kept = LogKeeper()
  init() throws { spool = try SpoolFixture() }

  private func configuration(_ endpoint: String, bucket: String = "bkt/pre") throws -> UploadConfiguration {
    var configuration = try UploadConfiguration.quick("s3://\(bucket)")
    configuration.s3Endpoint = try ServerURL(endpoint)
    var source = AWSCredentialSource(region: "us-east-1")
    source.accessKey = "AKTEST"
    source.secretKey = "SKsecret/with+chars"
    configuration.credentials.aws = source
    return configuration
  }

  private func upload(_ configuration: UploadConfiguration) throws -> UploadSummary {
    try Uploader(configuration, tree: spool.tree, log: kept.log).run(.drain)
  }

  @Test func `objects go below the prefix, signed, and never over others`() throws {
    try spool.addRun(segments: 2)
    let server = try FaultServer()
    #expect(try upload(configuration(server.url)).isComplete)
    #expect(server.files.keys.allSatisfy { $0.hasPrefix("/bkt/pre/talk/main/") })
    #expect(server.exchanges.allSatisfy { $0.request.headers["if-none-match"] == "*" })
    #expect(server.exchanges.allSatisfy { $0.request.headers["authorization"]?.hasPrefix("AWS4-HMAC-SHA256 ") == true })
    #expect(server.exchanges.allSatisfy { $0.request.headers["content-type"] == "video/mp4" })
  }

  @Test func `an object that is there with the same bytes is done, with others it is a refusal`() throws {
    try spool.addRun(segments: 0, marker: nil)
    let path = spool.tree.path(of: SpoolFixture.key())
    for sequence in 0..<2 {
      try Data("same".utf8).write(to: URL(fileURLWithPath: "\(path)/\(SpoolFixture.segment(sequence).entry)"))
    }
    let server = try FaultServer { request in
      guard request.name.hasPrefix("0000000") else { return .store }
      if request.method == "PUT" { return .answer(412) }
      return .answer(200, body: request.name.hasPrefix("00000000") ? "same" : "else")
    }
    let summary = try upload(configuration(server.url))
    #expect(summary.sent == 1)
    #expect(summary.refused == 1)
    #expect(try spool.names(SpoolFixture.key(), .refused).first?.hasPrefix("00000001") == true)
  }

  @Test func `a comparison that fails is made again`() throws {
    try spool.addRun(segments: 1)
    let gets = Mutex(0)
    let server = try FaultServer { request in
      guard request.name == "init.mp4" else { return .store }
      if request.method == "PUT" { return .answer(412) }
      return gets.withLock { count in
        count += 1
        return count < 3 ? .resetAfterBody : .answer(200, body: "init")
      }
    }
    #expect(try upload(configuration(server.url)).isComplete)
  }

  @Test func `a wrong clock is put right by the server's`() throws {
    try spool.addRun(segments: 3)
    let server = try FaultServer { request in
      request.headers["x-amz-date"]?.hasPrefix("2031") == true
        ? .store
        : .answer(
          403, headers: ["Date: Sun, 05 Jan 2031 12:00:00 GMT"],
          body: "<Error><Code>RequestTimeTooSkewed</Code></Error>")
    }
    let summary = try upload(configuration(server.url))
    #expect(summary.isComplete)
    #expect(server.exchanges.filter { !$0.isStored }.count == 1)
    #expect(kept.count("upload-paused") == 0)
  }

  @Test func `expired keys pause until there are new ones`() throws {
    try spool.addRun(segments: 1)
    let file = spool.directory.file("keys")
    try Data("[default]\naws_access_key_id=OLD\naws_secret_access_key=x\n".utf8).write(to: URL(fileURLWithPath: file))
    let server = try FaultServer { request in
      if request.headers["authorization"]?.contains("Credential=NEW/") == true { return .store }
      try? Data("[default]\naws_access_key_id=NEW\naws_secret_access_key=x\n".utf8)
        .write(to: URL(fileURLWithPath: file), options: .atomic)
      return .answer(400, body: "<Error><Code>ExpiredToken</Code></Error>")
    }
    var configuration = try configuration(server.url)
    configuration.credentials.aws = AWSCredentialSource(region: "us-east-1")
    configuration.credentials.aws?.sharedFile = file
    #expect(try upload(configuration).isComplete)
  }
}
