import Foundation
import TestKit
import Testing

/// What a script learns from the exit code and a person from the last line, where a disk or a name does not do. Needs the
/// right to mount.
@Suite(.serialized) struct `Exit codes` {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func run(_ arguments: [String]) throws -> (status: Int32, last: String, errors: String) {
    let result = try Program.run(segrecBinary, arguments)
    return (result.status, String(result.errors.split(separator: "\n").last ?? ""), result.errors)
  }

  @Test func `an export that cannot be made or written is the disk's fault, and libav says nothing itself`() throws {
    let input = directory.file("input.mp4")
    try Media.generate(input, seconds: 4)
    let spool = directory.file("spool")
    #expect(try run(["record", "--input", input, "--spool", spool, "--recording", "talk"]).status == 0)
    let impossible = try run(["export", "\(spool)/talk", "/proc/x.mp4"])
    #expect(impossible.status == 73 && impossible.last.contains(" cannot create /proc/x.mp4: "), "\(impossible)")
    let disk = try SmallDisk(directory.file("small"), bytes: 32_768)
    let full = try run(["export", "\(spool)/talk", directory.file("small/x.mp4")])
    #expect(full.status == 74 && full.last.contains("small/x.mp4: No space left"), "\(full)")
    #expect(directory.files(below: "small") == [])
    withExtendedLifetime(disk) {}
    let made = try run(["export", "\(spool)/talk", directory.file("x.mp4")])
    #expect(made.status == 0 && made.errors.split(separator: "\n").count == 1, "\(made)")
    let again = try run(["export", "\(spool)/talk", directory.file("x.mp4")])
    #expect(again.status == 73 && again.last.contains("--replace"), "\(again)")
  }

  @Test func `a spool that may not be written is 74, and each problem is told once`() throws {
    let spool = try PreparedSpool()
    let sent = "\(spool.path)/\(PreparedSpool.run)/sent"
    try FileManager.default.createDirectory(atPath: sent, withIntermediateDirectories: true)
    let old = PreparedSpool.name(0).replacingOccurrences(of: "20261130", with: "20241130")
    for name in [old, old.replacingOccurrences(of: "00000000", with: "00000009")] {
      try Data([1]).write(to: URL(fileURLWithPath: "\(sent)/\(name)"))
    }
    try Program.tool("/usr/bin/mount", ["--bind", "-o", "ro", spool.path, spool.path])
    defer { _ = try? Program.run("/usr/bin/umount", ["-l", spool.path]) }
    let upload = try run(["upload", "--spool", spool.path, "--upload", "http://127.0.0.1:9", "--drain-timeout", "1s"])
    #expect(upload.status == 74 && upload.last.contains("Read-only file system"), "\(upload)")
    let clean = try Program.run(segrecBinary, ["clean", "--spool", spool.path])
    #expect(clean.status == 74, "\(clean.errors)")
    #expect(
      clean.output.hasPrefix("nothing could be removed\n") && clean.output.contains("2 problems: "), "\(clean.output)")
    let lines = clean.errors.split(separator: "\n")
    #expect(lines.count == 2 && Set(lines).count == 2, "\(lines)")
  }

  @Test func `a name that is too long and a spool that is none are called so`() throws {
    let long = String(repeating: "n", count: 129)
    let named = try run(["record", "--input", "x", "--recording", long, "--spool", directory.file("s")])
    #expect(named.status == 64 && named.last.contains("too long"), "\(named)")
    for command in [["upload", "--upload", "http://127.0.0.1:9"], ["record", "--input", "x"], ["clean"], ["status"]] {
      let empty = try run(command + ["--spool", ""])
      #expect(empty.status == 64 && empty.last.contains("--spool: is empty"), "\(empty)")
    }
  }
}
