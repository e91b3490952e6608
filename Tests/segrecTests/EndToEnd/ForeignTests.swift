import Foundation
import TestKit
import Testing

/// A person's own directories beside recordings, in a spool or a root that is used for more than one thing.
@Suite struct `Foreign directories` {
  /// All names below a directory, directories included.
  private func names(_ path: String) -> [String] { (FileManager.default.subpaths(atPath: path) ?? []).sorted() }

  /// Directories that look like recordings and renditions but hold no run, two days old.
  private func makeForeign(in path: String) throws {
    let files = FileManager.default
    for name in ["photos/2024", "empty", "lists", "git", ".removed-me/2024"] {
      try files.createDirectory(atPath: "\(path)/\(name)", withIntermediateDirectories: true)
    }
    for name in ["photos/live.m3u8", "lists/vod.m3u8", "git/.lock"] {
      try "not a process number".write(toFile: "\(path)/\(name)", atomically: true, encoding: .utf8)
    }
    let old = [FileAttributeKey.modificationDate: Date(timeIntervalSinceNow: -200_000)]
    for name in names(path) { try files.setAttributes(old, ofItemAtPath: "\(path)/\(name)") }
  }

  @Test func `cleaning and uploading leave them as they are, and the recording beside them goes`() throws {
    let spool = try PreparedSpool()
    try makeForeign(in: spool.path)
    try FileManager.default.createDirectory(atPath: "\(spool.path)/talk/2024", withIntermediateDirectories: true)
    let before = names(spool.path)
    let root = spool.directory.file("root")
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    let upload = try spool.upload("file://\(root)").wait()
    #expect(upload.status == 0, "\(upload.errors)")
    #expect(names(spool.path).filter { !before.contains($0) && !$0.hasPrefix("talk/") } == [])
    let input = spool.directory.file("input.mp4")
    try Media.generate(input, seconds: 1)
    let record = try Program.run(
      segrecBinary, ["record", "--input", input, "--spool", spool.path, "--recording", "other"])
    #expect(record.status == 0, "\(record.errors)")
    for arguments in [["--spool", spool.path, "--dry-run"], ["--spool", spool.path]] {
      let clean = try Program.run(segrecBinary, ["clean", "--max-age", "0s"] + arguments)
      #expect(clean.status == 0, "\(clean.errors)")
    }
    let foreign = before.filter { !$0.hasPrefix("talk") } + ["talk", "talk/2024"]
    let left = names(spool.path).filter { !$0.hasPrefix("other") }
    #expect(left.filter { !$0.hasSuffix("lock") || $0.hasPrefix("git") } == foreign.sorted())

    try makeForeign(in: root)
    try FileManager.default.createDirectory(atPath: "\(root)/talk/2024", withIntermediateDirectories: true)
    let clean = try Program.run(segrecBinary, ["clean", "--max-age", "0s", "--root", root])
    #expect(clean.status == 0, "\(clean.errors)")
    #expect(names(root).filter { !$0.hasPrefix("talk/.") } == foreign.sorted())
  }
}
