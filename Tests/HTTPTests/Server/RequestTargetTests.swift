import Testing

@testable import HTTP

private func components(_ target: String) throws -> [String] {
  try RequestTarget(parsing: Array(target.utf8)).components
}

@Suite struct `Request target` {
  @Test(arguments: [
    ("/", []), ("/a", ["a"]), ("/a/b/", ["a", "b"]), ("/a%20b/%C3%A9", ["a b", "é"]), ("/%61%2e%62", ["a.b"]),
    ("http://host:80/a?x=1", ["a"]), ("HTTPS://host", []), ("/a%252fb", ["a%2fb"]), ("/...", ["..."]),
  ])
  func `is decoded once`(target: String, expected: [String]) throws {
    #expect(try components(target) == expected)
  }

  @Test(
    arguments: [
      ("", .notAPath), ("*", .notAPath), ("a/b", .notAPath), ("ftp://host/a", .notAPath), ("/a%00b", .unsafeCharacter),
      ("/a%2Fb", .unsafeCharacter), ("/a%5cb", .unsafeCharacter), ("/a\\b", .unsafeCharacter),
      ("/a\nb", .unsafeCharacter),
      ("/a%0d%0aSet-Cookie:x", .unsafeCharacter), ("/a%7f", .unsafeCharacter), ("/é", .unsafeCharacter),
      ("/a#b", .unsafeCharacter), ("/a b", .unsafeCharacter), ("/../etc/passwd", .dotSegment), ("/a/./b", .dotSegment),
      ("/a//b", .dotSegment), ("//host/a", .dotSegment), ("/%2e%2e/a", .dotSegment), ("/%2E./a", .dotSegment),
      ("/a%", .badEncoding), ("/a%4", .badEncoding), ("/a%zz", .badEncoding), ("/%c0%af", .notText),
      ("/%c0%ae%c0%ae/", .notText), ("/%ff", .notText), ("/%ed%a0%80", .notText), ("/?a=%00", .unsafeCharacter),
      ("/?a=%f", .badEncoding),
    ] as [(String, RequestTarget.Refusal)])
  func `is refused when two programs could read it differently`(target: String, refusal: RequestTarget.Refusal) {
    #expect(throws: refusal) { try RequestTarget(parsing: Array(target.utf8)) }
  }

  @Test func `gives the query by name and keeps it out of the path`() throws {
    let target = try RequestTarget(parsing: Array("/a/b?token=s%26t&_HLS_msn=12&flag&x=a+b".utf8))
    #expect(target.path == "/a/b")
    #expect(target.query("token") == "s&t")
    #expect(target.query("_HLS_msn") == "12")
    #expect(target.query("flag") == "")
    #expect(target.query("x") == "a b")
    #expect(target.query("y") == nil)
  }

  @Test func `is bounded`() {
    #expect(throws: RequestTarget.Refusal.tooLong) {
      try RequestTarget(parsing: [UInt8](repeating: 0x2F, count: RequestTarget.maximumLength + 1))
    }
  }

  /// Whatever the bytes: refused, or components that are safe as file names and that encode back to an equal target.
  @Test func `never yields a component that could leave a directory`() throws {
    var random = SeededRandom(seed: 6)
    let alphabet = Array("/%.?&=+2eEfFcC0aA#\\ \u{7f}\u{80}é:".utf8) + [0, 10, 0xFF]
    var accepted = 0
    for _ in 0..<50_000 {
      var bytes = (0..<Int.random(in: 0..<24, using: &random)).map { _ in
        Bool.random(using: &random)
          ? alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
          : UInt8.random(in: 0...255, using: &random)
      }
      if Int.random(in: 0..<4, using: &random) > 0 { bytes.insert(0x2F, at: 0) }
      guard let target = try? RequestTarget(parsing: bytes) else { continue }
      accepted += 1
      for component in target.components {
        #expect(!component.isEmpty && component != "." && component != "..")
        #expect(component.utf8.allSatisfy { $0 != 0 && $0 != 0x2F && $0 != 0x5C && $0 >= 0x20 && $0 != 0x7F })
      }
      let again = "/" + target.components.map(percentEncoded).joined(separator: "/")
      #expect(try RequestTarget(parsing: Array(again.utf8)).components == target.components)
    }
    #expect(accepted > 1_000)
  }
}

private func percentEncoded(_ text: String) -> String {
  text.utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

/// SplitMix64.
private struct SeededRandom: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
