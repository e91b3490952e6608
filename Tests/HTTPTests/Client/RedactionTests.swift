import Testing

@testable import HTTP

@Suite struct `Redaction of secrets` {
  @Test(arguments: [
    ("http://user:pw@host/x", "http://***@host/x"),
    ("failed: 'rtsp://a:b@c:554/s?x=1'", "failed: 'rtsp://***@c:554/s?x=1'"),
    ("https://h/x?token=abc&y=1", "https://h/x?token=***&y=1"),
    ("https://h/x?y=1&X-Amz-Signature=00ff#f", "https://h/x?y=1&X-Amz-Signature=***#f"),
    ("Authorization: Bearer abcdefghijk", "Authorization: Bearer ***"),
    ("Authorization: Basic dXNlcjpwdw==", "Authorization: Basic ***"),
    ("AWS4-HMAC-SHA256 Credential=AK/2026, Signature=abc", "AWS4-HMAC-SHA256 Credential=***, Signature=***"),
    ("http://a@b@c/d", "http://***@c/d"),
    ("no secret here: basic auth is refused", "no secret here: basic auth is refused"),
    ("http://host/a@b", "http://host/a@b"),
    ("", ""),
  ])
  func `masks what looks like a credential`(text: String, expected: String) {
    #expect(Redaction().masked(text) == expected)
  }

  @Test(arguments: [
    "pa ss/w@rd", "pa%20ss/w@rd", "pa%20ss%2Fw%40rd", "pa%20ss%2fw%40rd", "pa%2520ss%252Fw%2540rd", "%70%61 ss/w@rd",
    "pa ss\\/w@rd",
  ])
  func `masks a known secret in every spelling`(spelling: String) {
    let redaction = Redaction(secrets: ["pa ss/w@rd"])
    #expect(redaction.masked("before \(spelling) after") == "before *** after")
  }

  @Test func `a secret inside a longer one does not save the rest of it`() {
    #expect(Redaction(secrets: ["abc", "abcdef"]).masked("x abcdef y") == "x *** y")
  }

  @Test func `never fails and never lets a known secret through`() {
    var generator = SeededGenerator(seed: 7)
    let alphabet = Array("ab%25?&=:/@ token\\Bearer".utf8)
    for _ in 0..<5000 {
      let text = (0..<Int.random(in: 0..<40, using: &generator)).map { _ in alphabet.randomElement(using: &generator)! }
      let masked = Redaction(secrets: ["ab/@"]).masked(String(decoding: text, as: UTF8.self) + "ab/@")
      #expect(!masked.contains("ab/@"))
    }
  }
}

@Suite struct `Server URL` {
  @Test(arguments: [
    ("http://host", "http://host/"),
    ("HTTP://Host:8080/a/b/", "http://host:8080/a/b"),
    ("https://[2001:db8::1]:443/x?sig=1", "https://[2001:db8::1]:443/x?sig=1"),
    ("http://h/a b", "http://h/a%20b"),
    ("http://h/é", "http://h/%C3%A9"),
    ("http://h/a#frag", "http://h/a"),
    ("s3://bucket/pre/fix/", "s3://bucket/pre/fix"),
    ("file:///var/spool", "file:///var/spool"),
  ])
  func `is read as people write it`(typed: String, sent: String) throws {
    #expect(try ServerURL(typed).text == sent)
  }

  @Test(arguments: [
    "host/x", "ftp://h/x", "http://", "http://u:p@h/x", "http://u@h", "http://h:0/", "http://h:70000/", "http://h:1x/",
    "http://[::1/x", "http://[::1]x/", "http://h\n/x", "http://a b/", "file://other/dir", "s3:///x", "s3://b:1/",
    "http://[g::1]/",
  ])
  func `is refused where it cannot work`(typed: String) {
    #expect(throws: ServerURL.ParseError.self) { try ServerURL(typed) }
  }

  @Test func `a refusal does not repeat the password`() throws {
    let error = #expect(throws: ServerURL.ParseError.self) { try ServerURL("http://u:hunter2@h/x") }
    #expect(error?.description.contains("hunter2") == false)
    #expect(error?.description.contains("--netrc-file") == true)
  }

  @Test func `names go below the path and before the query`() throws {
    #expect(try ServerURL("https://h/up?t=1").appending("r/main/x.m4s").text == "https://h/up/r/main/x.m4s?t=1")
    #expect(try ServerURL("https://h").appending("r").text == "https://h/r")
  }

  @Test func `a file URL names a directory`() throws {
    #expect(try ServerURL("file:///a%20b/c").directory == "/a b/c")
    #expect(try ServerURL("file:///").directory == "/")
    #expect(try ServerURL("file:///a%00b").directory == nil)
  }

  @Test func `origins differ by scheme, host and port`() throws {
    let url = try ServerURL("https://h/x")
    #expect(url.hasSameOrigin(as: try ServerURL("https://H:443/y")))
    #expect(!url.hasSameOrigin(as: try ServerURL("http://h/y")))
    #expect(!url.hasSameOrigin(as: try ServerURL("https://h:444/y")))
    #expect(!url.hasSameOrigin(as: try ServerURL("https://i/y")))
  }

  @Test func `any text is read or refused`() {
    var generator = SeededGenerator(seed: 11)
    let alphabet = Array("htps3file:/[]@?#%:.0a é\u{7}".unicodeScalars)
    for _ in 0..<5000 {
      var text = "http://"
      for _ in 0..<Int.random(in: 0..<20, using: &generator) {
        text.unicodeScalars.append(alphabet.randomElement(using: &generator)!)
      }
      guard let url = try? ServerURL(text) else { continue }
      #expect((try? ServerURL(url.text)) == url, "\(text)")
    }
  }
}

/// SplitMix64: the same numbers on every run.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
