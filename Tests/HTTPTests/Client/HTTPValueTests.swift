import Testing

@testable import HTTP

@Suite struct `HTTP dates and digests` {
  static let now: Int64 = 1_796_000_000_000

  @Test(arguments: [
    "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
  ])
  func `every form of RFC 9110 is the same instant`(text: String) {
    #expect(parseHTTPDate(text, now: Self.now) == 784_111_777_000)
  }

  @Test(arguments: [
    "", "tomorrow", "Sun, 06 Nov 1994 08:49:37", "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT",
    "Sun, 06 Xxx 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 1994 08:49:37 CET",
  ])
  func `nothing else is a date`(text: String) {
    #expect(parseHTTPDate(text, now: Self.now) == nil)
  }

  @Test(
    arguments: [
      ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199_000), ("Fri, 01 Mar 2024 00:00:00 GMT", 1_709_251_200_000),
      ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Sat, 01 Jan 2000 00:00:00 GMT", 946_684_800_000),
      ("Wed, 01 Mar 2000 00:00:00 GMT", 951_868_800_000), ("Mon, 30 Nov 2026 02:00:00 GMT", 1_796_004_000_000),
    ] as [(String, Int64)])
  func `leap years count`(text: String, milliseconds: Int64) {
    #expect(parseHTTPDate(text, now: Self.now) == milliseconds)
  }

  @Test(
    arguments: [
      ("120", .seconds(120)), ("0", .zero), ("Sun, 06 Nov 1994 08:49:47 GMT", .seconds(10)),
      ("Sun, 06 Nov 1994 08:49:27 GMT", .zero), ("soon", nil), ("-5", nil), ("", nil),
      ("99999999999999999999999", .seconds(86_400)),
    ] as [(String, Duration?)])
  func `Retry-After is measured by the server's clock`(text: String, expected: Duration?) {
    #expect(parseRetryAfter(text, serverDate: 784_111_777_000, now: Self.now) == expected)
  }

  @Test(arguments: [
    (Int64(0), "19700101T000000Z"), (1_709_251_199_999, "20240229T235959Z"), (1_796_004_000_000, "20261130T020000Z"),
    (1_735_689_599_000, "20241231T235959Z"), (1_735_689_600_000, "20250101T000000Z"),
  ])
  func `signatures carry the time in basic form`(milliseconds: Int64, expected: String) {
    #expect(basicTimestamp(milliseconds) == expected)
  }

  @Test(arguments: [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
    ("foobar", "Zm9vYmFy"),
  ])
  func `base64 is RFC 4648's`(text: String, expected: String) {
    #expect(base64(Array(text.utf8)) == expected)
  }

  @Test func `the digest of a body is RFC 9530's`() throws {
    // The first example of RFC 9530 §B.1: {"hello": "world"} and a line feed.
    let digest = try SHA256Digest.of(Array("{\"hello\": \"world\"}\n".utf8))
    #expect(contentDigest(sha256: digest) == "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:")
  }
}

@Suite struct `Stall watch` {
  let start = ContinuousClock.now

  @Test func `growth is life, however slow, and only silence is a stall`() {
    var watch = StallWatch(stallLimit: .seconds(10), answerLimit: .seconds(10), now: start)
    for second in 0..<600 {
      // One byte every nine seconds.
      #expect(
        watch.observe(taken: Int64(second / 9), received: 0, awaitsAnswer: false, now: start + .seconds(second))
          == .alive)
    }
    #expect(watch.observe(taken: 66, received: 0, awaitsAnswer: false, now: start + .seconds(603)) == .alive)
    #expect(watch.observe(taken: 66, received: 0, awaitsAnswer: false, now: start + .seconds(604)) == .stalled)
  }

  @Test func `a server may take its time to answer`() {
    var watch = StallWatch(stallLimit: .seconds(10), answerLimit: .seconds(40), now: start)
    #expect(watch.observe(taken: 9, received: 0, awaitsAnswer: true, now: start) == .alive)
    #expect(watch.observe(taken: 9, received: 0, awaitsAnswer: true, now: start + .seconds(39)) == .alive)
    #expect(watch.observe(taken: 9, received: 0, awaitsAnswer: true, now: start + .seconds(40)) == .stalled)
    #expect(watch.observe(taken: 9, received: 20, awaitsAnswer: true, now: start + .seconds(41)) == .alive)
    #expect(watch.observe(taken: 9, received: 20, awaitsAnswer: true, now: start + .seconds(51)) == .stalled)
  }

  @Test func `starting over on another connection is progress`() {
    var watch = StallWatch(stallLimit: .seconds(10), answerLimit: .seconds(10), now: start)
    _ = watch.observe(taken: 500, received: 0, awaitsAnswer: false, now: start)
    #expect(watch.observe(taken: 100, received: 0, awaitsAnswer: false, now: start + .seconds(9)) == .alive)
    #expect(watch.observe(taken: 100, received: 0, awaitsAnswer: false, now: start + .seconds(18)) == .alive)
  }
}
