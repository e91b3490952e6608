import Foundation
import HLS
import Platform
import Storage
import TestKit
import Testing

private func name(_ text: String) throws -> PathName { try #require(PathName(text)) }

@Suite struct `Tree of segments` {
  let directory: TemporaryDirectory
  let tree: Tree
  let key = Scene().key

  init() throws {
    directory = try TemporaryDirectory()
    tree = try Tree(root: directory.path, create: false)
  }

  private func put(_ path: String, _ text: String = "x") throws {
    let url = URL(fileURLWithPath: directory.file(path))
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: url)
  }

  private func segment(_ sequence: Int) -> SegmentName {
    SegmentName(sequence: sequence, start: Scene.began, ticks: 450_000)
  }

  @Test func `a root that is not there is made with all above it, or refused`() throws {
    #expect(throws: StorageError.self) { try Tree(root: directory.file("x/y"), create: false) }
    _ = try Tree(root: directory.file("x/y/z/"), create: true)
    #expect(FileManager.default.fileExists(atPath: directory.file("x/y/z")))
    try put("file")
    #expect { try Tree(root: directory.file("file"), create: true) } throws: { "\($0)".contains("Not a directory") }
  }

  @Test func `listings give what follows the grammar, in order, and nothing else`() throws {
    let later = RunName(start: WallClockTime(milliseconds: Scene.began.milliseconds + 1), suffix: 0)
    for path in [
      "b/main/\(key.run)/init.mp4", "a/mic/\(key.run)/init.mp4", "a/main/\(later)/x", "a/main/\(key.run)/init.mp4",
      "a/main/notes/x", "a/live.m3u8", "a/fake.m3u8/x", ".hidden/main/\(key.run)/init.mp4", "with space/x", "README.md",
    ] { try put(path) }
    #expect(try tree.recordings() == [name("a"), name("b")])
    #expect(try tree.renditions(of: name("a")) == [.main, .mic])
    #expect(try tree.runs(of: name("a"), rendition: .main) == [key.run, later])
    #expect(try tree.runs(of: name("nobody"), rendition: .main) == [])
    #expect(
      try tree.runs(of: name("a")).map(\.description) == [
        "a/main/\(key.run)", "a/main/\(later)", "a/mic/\(key.run)",
      ])
  }

  @Test func `the state of a run is what its names say`() throws {
    for path in [
      "init.mp4", "\(segment(1))", "\(segment(0))", "sent/\(segment(2))", "refused/\(segment(5))", "00000009.mp4",
      "pieces/00000008.mp4", "6.next", ".x.part", "core", "00000003_x.m4s", "sent/notes",
    ] { try put("\(key)/\(path)") }
    try FileManager.default.createDirectory(
      atPath: directory.file("\(key)/\(segment(7))"), withIntermediateDirectories: true)
    let state = try tree.state(of: key)
    #expect(state.hasInitSection)
    #expect(state.segments == [segment(0), segment(1)])
    #expect(state.sent == [segment(2)])
    #expect(state.refused == [segment(5)])
    #expect(state.pieces == [9])
    #expect(state.donePieces == [8])
    #expect(state.marker == MarkerName(count: 6, kind: .next))
    #expect(state.highestCount == 6)
  }

  @Test func `symbolic links below the root are neither listed nor followed`() throws {
    let outside = try TemporaryDirectory()
    try FileManager.default.createDirectory(atPath: directory.file("a"), withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: directory.file("linked"), withDestinationPath: outside.path)
    try FileManager.default.createSymbolicLink(atPath: directory.file("a/main"), withDestinationPath: outside.path)
    #expect(try tree.recordings() == [name("a")])
    #expect(try tree.renditions(of: name("a")) == [])
    for recording in ["linked", "a"] {
      let key = RunKey(recording: try name(recording), rendition: .main, run: key.run)
      #expect(throws: StorageError.self) { _ = try tree.receive(EntryPath(key: key, entry: .initSection)) }
      #expect(throws: StorageError.self) {
        _ = try RunWriter(tree: tree, key: key, lock: tree.lock(name(recording)))
      }
    }
    #expect(throws: StorageError.self) { try tree.writeAtomically("linked/live.m3u8", [1]) }
    #expect(outside.files() == [])
    // A file of the run that is a link is not read either.
    let run = RunKey(recording: try name("b"), rendition: .main, run: key.run)
    try put("\(run)/x")
    try Data([1]).write(to: URL(fileURLWithPath: outside.file("secret")))
    try FileManager.default.createSymbolicLink(
      atPath: directory.file("\(run)/init.mp4"), withDestinationPath: outside.file("secret"))
    let entry = EntryPath(key: run, entry: .initSection)
    #expect(try tree.facts(of: entry) == nil)
    #expect(throws: StorageError.self) { _ = try tree.openForReading(entry) }
  }

  @Test(arguments: ["../x", "a/../x", "/x", "a//x", ".x", "a/.x", "", "a/b/c/d", "a/", "a/b\0c"])
  func `a derived file has a place inside the tree or none`(path: String) throws {
    try put("a/main/x")
    #expect(throws: StorageError.self) { try tree.writeAtomically(path, [1]) }
    #expect(throws: StorageError.self) { try tree.read(path, limit: 10) }
    #expect(directory.files() == ["a/main/x"])
  }

  @Test func `a derived file is replaced whole while others read it`() async throws {
    try put("a/main/x")
    let tree = tree
    let sizes = [40_000, 10, 70_000]
    try tree.writeAtomically("a/live.m3u8", [UInt8](repeating: 0, count: sizes[0]))
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        for round in 1...60 {
          try tree.writeAtomically(
            "a/live.m3u8", [UInt8](repeating: UInt8(round % 3), count: sizes[round % 3]), durable: round % 2 == 0)
        }
      }
      group.addTask {
        for _ in 0..<600 {
          let bytes = try #require(try tree.read("a/live.m3u8", limit: 100_000))
          let kind = Int(try #require(bytes.first))
          #expect(bytes.count == sizes[kind])
          #expect(bytes.allSatisfy { $0 == UInt8(kind) })
        }
      }
      try await group.waitForAll()
    }
    #expect(directory.files().sorted() == ["a/live.m3u8", "a/main/x"])
    #expect(try tree.read("a/vod.m3u8", limit: 10) == nil)
    #expect(try tree.removeDerived("a/live.m3u8"))
    #expect(try !tree.removeDerived("a/live.m3u8"))
  }

  @Test func `a list lies in two files by turns, and in a third while the spare one is read`() throws {
    try put("a/main/x")
    let path = "a/live.m3u8"
    let place = try Directory(path: directory.file("a"))
    func write(_ byte: UInt8) throws -> UInt64 {
      try tree.writeAtomically(path, [UInt8](repeating: byte, count: 10 - Int(byte)), durable: false)
      return try place.status("live.m3u8").identity.inode
    }
    let first = try write(0)
    let second = try write(1)
    #expect(try [write(2), write(3), write(4)] == [first, second, first])
    let reader = try place.openForReading("live.m3u8")
    #expect(try write(5) == second)
    let third = try write(6)
    #expect(third != first && third != second)
    #expect(try reader.readAll(limit: 100) == [UInt8](repeating: 4, count: 6))
    #expect(try tree.read(path, limit: 100) == [UInt8](repeating: 6, count: 4))
    try tree.writeAtomically(path, [7])
    #expect(directory.files().sorted() == [path, "a/main/x"])
  }

  @Test func `a sent segment moves to its area and can be found, read and removed there`() throws {
    let entry = EntryPath(key: key, entry: .segment(segment(0)))
    try put(entry.description, "media")
    try tree.move(entry, to: .sent)
    #expect(directory.files() == ["\(key)/sent/\(segment(0))"])
    #expect(try tree.facts(of: entry) == nil)
    #expect(try tree.facts(of: entry, area: .sent)?.size == 5)
    #expect(try tree.openForReading(entry, area: .sent).readAll(limit: 10) == Array("media".utf8))
    try tree.move(entry, from: .sent, to: .refused)
    try tree.move(entry, from: .refused, to: .run)
    #expect(try tree.facts(of: entry)?.size == 5)
    #expect(try tree.remove(entry))
    #expect(try !tree.remove(entry))
  }

  @Test(arguments: 0...8, [true, false])
  func `a move that a power cut interrupts loses nothing`(step: Int, namesSurvive: Bool) throws {
    for area in [Tree.Area.sent, .refused] {
      let disk = try SimulatedDisk()
      let scene = Scene()
      _ = scene.record(on: disk)
      disk.crash(namesSurvive: true, unsynced: .kept, then: .stopping(afterStep: step))
      let entry = EntryPath(
        key: scene.key, entry: .segment(SegmentName(sequence: 0, start: scene.start(0), ticks: 270_000)))
      _ = try? Tree(disk.root).move(entry, to: area)
      disk.crash(namesSurvive: namesSurvive, unsynced: .lost)
      let places = disk.files().keys.filter { $0.hasSuffix("/\(entry.entry)") }
      // Both directories may have it; neither would be a loss.
      #expect(!places.isEmpty)
      #expect(places.allSatisfy { disk.files()[$0] == scene.segment(0) })
    }
  }

  @Test func `pruning removes empty directories, and nothing that holds a file`() throws {
    try put("\(key)/sent/\(segment(0))")
    try put("other/main/\(key.run)/notes")
    #expect(try !tree.pruneEmpty(tree.lock(key.recording)))
    try tree.remove(EntryPath(key: key, entry: .segment(segment(0))), area: .sent)
    #expect(try tree.pruneEmpty(tree.lock(key.recording)))
    #expect(try !tree.pruneEmpty(tree.lock(name("other"))))
    #expect(try tree.recordings() == [name("other")])
    #expect(directory.files().contains("other/main/\(key.run)/notes"))
  }

  @Test func `100,000 segments are listed in one pass`() throws {
    try put("\(key)/init.mp4")
    let run = directory.file(key.description)
    for sequence in 0..<100_000 {
      close(open("\(run)/\(segment(sequence))", O_CREAT | O_WRONLY, 0o644))
    }
    let clock = ContinuousClock()
    var state = RunState()
    let time = try clock.measure { state = try tree.state(of: key) }
    #expect(state.segments.count == 100_000)
    #expect(state.segments.last == segment(99_999))
    // 0.27 s in a release build, ten times that in a debug build on a busy machine; a quadratic one takes hours.
    #expect(time < .seconds(100))
  }
}

@Suite struct `Recording lock` {
  let directory: TemporaryDirectory
  let tree: Tree
  let recording = Scene.recording

  init() throws {
    directory = try TemporaryDirectory()
    tree = try Tree(root: directory.path, create: false)
  }

  private func isFree(in tree: Tree) throws -> Bool {
    guard let lock = try tree.tryLock(recording) else { return false }
    return lock.recording == recording
  }

  @Test func `one owner at a time, and the other is told who it is`() throws {
    let lock = try tree.lock(recording)
    let other = try Tree(root: directory.path, create: false)
    #expect(throws: StorageError.locked(recording, by: getpid())) { _ = try other.lock(recording, patience: .zero) }
    #expect(try !isFree(in: other))
    #expect("\(StorageError.locked(recording, by: 7))" == "recording lecture is in use by process 7")
    _ = consume lock
    #expect(try isFree(in: other))
  }

  @Test func `an owner may take a moment to let go`() throws {
    let lock = try tree.lock(recording)
    let start = ContinuousClock.now
    #expect(throws: StorageError.self) { _ = try tree.lock(recording, patience: .milliseconds(30)) }
    #expect(.now - start >= .milliseconds(30))
    _ = consume lock
    #expect(try tree.lock(recording, patience: .zero).recording == recording)
  }

  @Test func `asking whether somebody has it makes nothing and is in nobody's way`() throws {
    #expect(try !tree.isLocked(recording))
    #expect(directory.files() == [])
    let lock = try tree.lock(recording)
    #expect(try tree.isLocked(recording))
    _ = consume lock
    #expect(try !tree.isLocked(recording))
    if let made = try tree.tryLockPresent(try #require(RecordingName("nobody"))) {
      Issue.record("\(made.recording)")
    }
    #expect(try tree.recordings() == [recording])
  }

  @Test func `a lock file that a dead process left is no obstacle`() throws {
    try FileManager.default.createDirectory(
      atPath: directory.file("lecture"), withIntermediateDirectories: true)
    try Data("99999999\n".utf8).write(to: URL(fileURLWithPath: directory.file("lecture/.lock")))
    _ = try tree.lock(recording)
    let text = try String(contentsOfFile: directory.file("lecture/.lock"), encoding: .utf8)
    #expect(text == "\(getpid())\n")
  }

  @Test func `a lock on a directory that was pruned meanwhile is taken anew`() throws {
    for _ in 0..<50 {
      #expect(try tree.pruneEmpty(tree.lock(recording)))
      #expect(directory.files() == [])
    }
  }
}
