import Foundation
import Platform
import TestKit
import Testing

@Suite struct `Log lines` {
  let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  /// What `body` writes to a log of the format.
  private func lines(_ format: Log.Format, _ body: (Log) -> Void) throws -> [String] {
    let file = try FileDescriptor.create(replacing: directory.file("log"))
    body(Log(format: format, descriptor: file.number))
    let text = try String(contentsOfFile: directory.file("log"), encoding: .utf8)
    #expect(text.isEmpty || text.hasSuffix("\n"))
    return text.split(separator: "\n").map(String.init)
  }

  private func tell(_ log: Log) {
    log.info(
      "segment", "segment 3 is on the disk", ["recording": "lecture", "sequence": 3, "seconds": 5.0, "late": false])
    log.warning("upload", "server \"x\"\nsays \u{1B}[31mno")
    log.error("disk", "no room")
  }

  @Test func `text is sentences, and warnings and errors say so`() throws {
    #expect(
      try lines(.text, tell) == [
        "segment 3 is on the disk", "warning: server \"x\" says ?[31mno", "error: no room",
      ])
  }

  @Test func `quiet leaves the errors`() throws {
    #expect(try lines(.quiet, tell) == ["error: no room"])
  }

  @Test func `JSON has one object a line, with the event's fields`() throws {
    let lines = try lines(.json, tell)
    #expect(lines.count == 3)
    let first = try #require(
      JSONSerialization.jsonObject(with: Data(lines[0].utf8)) as? [String: Any])
    #expect(first["level"] as? String == "info")
    #expect(first["event"] as? String == "segment")
    #expect(first["message"] as? String == "segment 3 is on the disk")
    #expect(first["recording"] as? String == "lecture")
    #expect(first["sequence"] as? Int == 3)
    #expect(first["seconds"] as? Double == 5)
    #expect(first["late"] as? Bool == false)
    let time = try #require(first["time"] as? String)
    let formatter = ISO8601DateFormatter()
    formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
    #expect(abs(try #require(formatter.date(from: time)).timeIntervalSinceNow) < 60)
    let second = try #require(JSONSerialization.jsonObject(with: Data(lines[1].utf8)) as? [String: Any])
    #expect(second["message"] as? String == "server \"x\"\nsays \u{1B}[31mno")
    #expect(!lines[1].contains("\u{1B}"))
  }

  @Test func `infinite numbers leave the line valid`() throws {
    let line = try #require(lines(.json) { $0.info("x", "x", ["a": .number(.infinity), "b": .number(.nan)]) }.first)
    #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(line.utf8)) }
  }

  @Test func `a reader that does not read holds nobody up, and is told how much it missed`() throws {
    var pair: [Int32] = [0, 0]
    #expect(pipe(&pair) == 0)
    let reader = FileDescriptor(owning: pair[0], path: "pipe")
    let writer = FileDescriptor(owning: pair[1], path: "pipe")
    let log = Log(format: .text, descriptor: writer.number)
    let message = String(repeating: "x", count: 1_000)
    for _ in 0..<200 { log.info("x", message) }
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    let count = try reader.read(into: &buffer)
    let written = count / 1_001
    #expect(written < 200)
    log.info("x", "after")
    let rest = String(decoding: buffer[..<(try reader.read(into: &buffer))], as: UTF8.self)
    #expect(rest == "\(200 - written) lines before this one went unread\nafter\n")
  }

  @Test func `a live line is for terminals only`() throws {
    let lines = try lines(.text) { log in
      log.showLive("12 s")
      #expect(!log.hasLiveLine)
      log.info("x", "line")
    }
    #expect(lines == ["line"])
  }

  @Test func `on a terminal lines go above the live line`() throws {
    var master: Int32 = 0
    var slave: Int32 = 0
    #expect(openpty(&master, &slave, nil, nil, nil) == 0)
    let terminal = FileDescriptor(owning: master, path: "pty")
    let other = FileDescriptor(owning: slave, path: "pty")
    var size = winsize(ws_row: 24, ws_col: 20, ws_xpixel: 0, ws_ypixel: 0)
    #expect(ioctl(slave, UInt(TIOCSWINSZ), &size) == 0)
    #expect(Terminal.width(other.number) == 20)
    let log = Log(format: .text, descriptor: other.number)
    log.showLive("a live line that is too long")
    log.info("x", "event")
    log.showLive(nil)
    log.info("x", "last")
    let live = "a live line that is"
    let expected = "\r\u{1B}[K\(live)\r\u{1B}[Kevent\r\n\(live)\r\u{1B}[Klast\r\n"
    var seen: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    // A terminal passes on what was written when it gets round to it.
    while seen.count < expected.utf8.count {
      let count = try terminal.read(into: &buffer)
      seen += buffer[..<count]
    }
    #expect(String(decoding: seen, as: UTF8.self) == expected)
  }
}
