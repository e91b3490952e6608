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
}
