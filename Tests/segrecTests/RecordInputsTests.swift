import HLS
import Testing

@testable import segrec

@Suite struct `Inputs as typed` {
  @Test(arguments: [
    ("rtsp://viewer:pass@host/x", ["viewer:pass", "pass"]),
    ("rtsp://key@host/x", ["key"]),
    ("rtsp://u:p@ss@host/x", ["u:p@ss", "p@ss"]),
    ("http://host/a@b", []),
    ("http://host?x=a@b", []),
    ("/path/u:p@file", []),
    ("-", []),
    ("http://u:@host/", []),
  ])
  func `userinfo is what stands before the last at sign of the authority`(url: String, expected: [String]) {
    #expect(userinfo(of: url) == expected)
  }

  @Test(arguments: [
    ("rtmp://host/app/key-1", ["key-1"]), ("RTMPS://host:443/app/inst/key?x=1", ["key", "x=1"]),
    ("rtmp://host/app", []),
    ("http://host/app/key", []), ("/rtmp/app/key", []),
  ])
  func `the key of an RTMP address is a secret`(url: String, expected: [String]) {
    #expect(streamKey(of: url) == expected)
  }

  @Test func `a format behind the only input is for that one, behind one of two it is for none`() throws {
    let parser = OptionParser(groups: RecordCommand.groups, positional: [])
    func parsed(_ words: [String]) throws -> RecordArguments? {
      guard case .arguments(var arguments, _) = try parser.parse(words, into: RecordCommand.defaults) else {
        return nil
      }
      try arguments.giveRestToLast()
      return arguments
    }
    let only = try parsed(["--input", ":0", "--input-format", "x11grab", "--input-option", "framerate=30"])
    #expect(only?.sources.map(\.format) == ["x11grab"] && only?.sources.first?.options.count == 1)
    #expect(throws: Failure.self) { try parsed(["--input", "a", "--input", "b", "--input-format", "alsa"]) }
  }

  @Test func `a format belongs to the input that follows it`() throws {
    let parser = OptionParser(groups: RecordCommand.groups, positional: [])
    let words = [
      "--input-format", "x11grab", "--input-option", "framerate=30", "--input", ":0", "--input-format", "pulse",
      "--input",
      "default", "--input", "x",
    ]
    guard case .arguments(let arguments, _) = try parser.parse(words, into: RecordCommand.defaults) else { return }
    #expect(arguments.sources.map(\.format) == ["x11grab", "pulse", nil])
    #expect(arguments.sources.map(\.options.count) == [1, 0, 0])
  }

  @Test func `a default name holds the time, the host and four digits`() throws {
    let start = try #require(WallClockTime(compact: "20261130T021308.123Z"))
    #expect(defaultRecordingName(start, host: "lab 3.uni", random: 0xA3).text == "20261130T021308Z-lab-3.uni-00a3")
    #expect(RecordingName(defaultRecordingName(start, host: "", random: 7).text) != nil)
  }

  @Test(arguments: [("1280x720", 1280, 720), ("-1x720", nil, 720), ("1280x-1", 1280, nil)] as [(String, Int?, Int?)])
  func `a side of a size may be left open`(text: String, width: Int?, height: Int?) throws {
    let size = try parseSize("--size", text)
    #expect(size.width == width && size.height == height)
  }

  @Test(arguments: ["1280", "0x10", "ax1", "-2x2", "1x2x3", ""])
  func `what is no size is refused`(text: String) {
    #expect(throws: UsageError.self) { try parseSize("--size", text) }
  }

  @Test(arguments: [
    ("25", 25.0), ("29.97", 30_000.0 / 1001), ("59.94", 60_000.0 / 1001), ("30000/1001", 30_000.0 / 1001),
  ])
  func `a rate may be decimal or a fraction`(text: String, expected: Double) throws {
    #expect(abs(try parseRate("--max-fps", text).value - expected) < 1e-9)
  }
}
