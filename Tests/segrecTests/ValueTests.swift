import Platform
import Recording
import Testing

@testable import segrec

@Suite struct `Values with units` {
  @Test(arguments: [
    ("5s", 5_000), ("5", 5_000), ("250ms", 250), ("1.5h", 5_400_000), ("24h", 86_400_000), ("7d", 604_800_000),
    ("10m", 600_000), ("0", 0),
  ])
  func `a duration is read to the millisecond`(text: String, milliseconds: Int64) throws {
    #expect(try parseDuration("--x", text) == .milliseconds(milliseconds))
  }

  @Test(arguments: ["", "s", "-5s", "5x", "1e3", "0x10", "nan", "5 s", ".5s", "5.s", "1.2.3", "９s", "99999999999999d"])
  func `what is no duration is refused by name`(text: String) {
    let error = #expect(throws: UsageError.self) { try parseDuration("--drain-timeout", text) }
    #expect(error?.subject == "--drain-timeout")
  }

  @Test(arguments: [("2500k", 2_500_000), ("2.5M", 2_500_000), ("64000", 64_000), ("1G", 1_000_000_000)])
  func `a bit rate counts in thousands`(text: String, expected: Int) throws {
    #expect(try parseBitrate("--video-bitrate", text) == expected)
  }

  @Test(arguments: ["0", "k", "-1k", "5KiB", "2500 k"])
  func `what is no bit rate is refused`(text: String) {
    #expect(throws: UsageError.self) { try parseBitrate("--video-bitrate", text) }
  }

  @Test(arguments: [
    ("1080p,480p", [Rung(side: 1080), Rung(side: 480)]), ("480p,1080p", [Rung(side: 1080), Rung(side: 480)]),
    ("720p", [Rung(side: 720)]), ("720p,480p@800k", [Rung(side: 720), Rung(side: 480, bitRate: 800_000)]),
    ("480p,720p@2.5M,480p@800k,480p", [Rung(side: 720, bitRate: 2_500_000), Rung(side: 480, bitRate: 800_000)]),
  ])
  func `a ladder is read in any order, each height once`(text: String, expected: [Rung]) throws {
    #expect(try parseLadder("--ladder", text) == expected)
  }

  @Test(arguments: [
    "", ",", "1080", "p", "-480p", "480P", "480px", "480p@", "480p@x", "480p@1M@2M", "480p@1M,480p@2M", "63p", "4321p",
    "1080p,", "854x480", "99999999999999999999p", "1080p,900p,720p,600p,480p,360p,240p",
  ])
  func `what is no ladder is refused by name`(text: String) {
    let error = #expect(throws: UsageError.self) { try parseLadder("--ladder", text) }
    #expect(error?.subject == "--ladder")
  }

  @Test(arguments: [("10G", 10 << 30), ("500M", 500 << 20), ("0", 0), ("1.5k", 1536), ("2T", 2 << 40)])
  func `bytes count in powers of 1024`(text: String, expected: Int64) throws {
    #expect(try parseBytes("--max-spool", text) == expected)
  }

  @Test(arguments: ["=v", "novalue", ""])
  func `a pair needs a key`(text: String) {
    #expect(throws: UsageError.self) { try parsePair("--input-option", text) }
  }

  @Test func `a pair is split at its first equals sign`() throws {
    let pair = try parsePair("--input-option", "headers=a=b")
    #expect(pair == ("headers", "a=b"))
  }
}

@Suite struct `Environment in values` {
  private let environment = ["PASS": "s3cret", "EMPTY": ""]

  @Test(arguments: [
    ("rtsp://cam:${PASS}@host/", "rtsp://cam:s3cret@host/", ["s3cret"]),
    ("a${EMPTY}b", "ab", []),
    ("$${PASS} and $5 and ${PASS}${PASS}", "${PASS} and $5 and s3crets3cret", ["s3cret", "s3cret"]),
    ("no end ${PASS", "no end ${PASS", []),
  ])
  func `a name in braces becomes its value`(text: String, expected: String, secrets: [String]) throws {
    let result = try expandEnvironment("--input", text) { environment[$0] }
    #expect(result.text == expected)
    #expect(result.secrets == secrets)
  }

  @Test(arguments: ["${MISSING}", "${1X}", "${}", "${A-B}"])
  func `what is not set or no name is refused by name`(text: String) {
    let error = #expect(throws: UsageError.self) { try expandEnvironment("--input", text) { environment[$0] } }
    #expect(error?.subject == "--input")
  }
}

@Suite struct `Live line` {
  @Test func `it shows time, rate, losses, segments, backlog and state`() {
    let status = LiveStatus(
      time: .seconds(423), framesPerSecond: 24.96, dropped: 2, refilled: 10, bitrate: 2_480_000, segments: 84,
      backlog: 3,
      state: "recording")
    #expect(
      renderLiveLine(status, width: 200)
        == "recording  0:07:03  25.0 fps  dropped 2  refilled 10  2.5 Mb/s  segments 84  backlog 3")
  }

  @Test(arguments: [
    (79, "recording  0:07:03  25.0 fps  dropped 2  2.5 Mb/s  segments 84  backlog 3"),
    (40, "recording  0:07:03  dropped 2  backlog 3"), (30, "recording  0:07:03  backlog 3"), (9, "recording"),
  ])
  func `on a narrow terminal it leaves out what matters least`(width: Int, expected: String) {
    let status = LiveStatus(
      time: .seconds(423), framesPerSecond: 24.96, dropped: 2, refilled: 10, bitrate: 2_480_000, segments: 84,
      backlog: 3, state: "recording")
    #expect(renderLiveLine(status, width: width) == expected)
  }

  @Test(arguments: [0, 1, 20, 80])
  func `it never exceeds the width`(width: Int) {
    let status = LiveStatus(time: .seconds(1e6), backlog: 100_000, state: "server unreachable")
    #expect(renderLiveLine(status, width: width).count <= width)
  }

  @Test(arguments: [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_960, "1.0 MB"), (1_240_000_000, "1.2 GB")])
  func `bytes are told in powers of a thousand`(bytes: Int64, expected: String) {
    #expect(byteText(bytes) == expected)
  }
}
