import Foundation
import TestKit
import Testing

@Suite struct `Leftovers of a killed recorder` {
  private func record(_ name: String, _ directory: TemporaryDirectory, _ arguments: [String]) throws -> Program {
    try Program(
      segrecBinary,
      [
        "record", "--recording", name, "--spool", directory.file("spool"), "--input-format", "lavfi", "--input",
        "testsrc2=size=160x90:rate=25", "--segment-duration", "1s", "--chunk-duration", "200ms",
      ] + arguments)
  }

  @Test func `are finished by the next recorder, whatever that records`() throws {
    let directory = try TemporaryDirectory()
    let killed = try record("first", directory, ["--realtime"])
    try killed.wait(for: "segment 1 recorded")
    #expect(eventually(within: 20) { directory.files(below: "spool").contains { $0.hasSuffix(".part") } })
    killed.send(signal: SIGKILL)
    _ = try killed.wait()
    // One that is at work is left alone.
    let busy = try record("busy", directory, ["--realtime"])
    try busy.wait(for: "segment 0 recorded")
    let next = try record("second", directory, ["--duration", "1s"]).wait()
    #expect(next.status == 0, "\(next.errors)")
    let files = directory.files(below: "spool")
    #expect(!files.contains { $0.hasPrefix("first/") && $0.hasSuffix(".part") }, "\(files)")
    let segments = files.filter { $0.hasPrefix("first/") && $0.hasSuffix(".m4s") }
    #expect(sequences(segments) == Array(0..<segments.count))
    #expect(files.contains { $0.hasPrefix("first/") && $0.hasSuffix("/\(segments.count).end") }, "\(files)")
    #expect(!files.contains { $0.hasPrefix("busy/") && ($0.hasSuffix(".end") || $0.hasSuffix(".next")) }, "\(files)")
    busy.send(signal: SIGTERM)
    #expect(try busy.wait().status == 0)
  }

  @Test(arguments: ["main", "mic"])
  func `end together, of whichever rendition the kill came before a write`(behind: String) throws {
    let directory = try TemporaryDirectory()
    let whole = try record(
      "talk", directory,
      ["--duration", "960ms", "--input-format", "lavfi", "--mic", "sine=sample_rate=48000", "--mic-mode", "separate"])
    #expect(try whole.wait().status == 0)
    // What a recorder had left that was killed a moment ago: no marker, and the last chunk of one of them not whole.
    for path in directory.files(below: "spool/talk").map({ directory.file("spool/talk/\($0)") }) {
      if path.hasSuffix(".end") { try FileManager.default.removeItem(atPath: path) }
      guard path.hasSuffix(".m4s") else { continue }
      let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
      if path.contains("/\(behind)/") { try file.truncate(atOffset: try file.seekToEnd() - 1) }
      try file.close()
      let name = path.split(separator: "/").last?.split(separator: "_").dropLast().joined(separator: "_") ?? ""
      let run = (path as NSString).deletingLastPathComponent
      try FileManager.default.moveItem(atPath: path, toPath: "\(run)/.\(name).part")
    }
    // Whoever records next in this spool finishes them.
    let next = try record("next", directory, ["--duration", "200ms"]).wait()
    #expect(next.status == 0, "\(next.errors)")
    let ticks = segmentNames(directory, below: "spool/talk").compactMap {
      Int($0.dropLast(4).split(separator: "_").last ?? "")
    }
    // Of 960 ms in chunks of 200 ms, or of ten frames of sound, up to the last whole one that both have.
    #expect(ticks == [72_000, 76_800])
  }
}
