import Foundation
import HLS
import Platform
import Storage
import TestKit
import Testing

private let key = RunKey(
  recording: Scene.recording, rendition: .main, run: RunName(start: Scene.began, suffix: 1))

private func segment(_ sequence: Int, ticks: Int64 = 450_000) -> EntryPath {
  EntryPath(key: key, entry: .segment(SegmentName(sequence: sequence, start: Scene.began, ticks: ticks)))
}

private func arrive(_ entry: EntryPath, _ bytes: [UInt8], in tree: Tree) throws(StorageError) -> IncomingFile.Outcome {
  var file = try tree.receive(entry)
  for start in stride(from: 0, to: bytes.count, by: 1_000) {
    try file.append(Array(bytes[start..<min(start + 1_000, bytes.count)]).span.bytes)
  }
  return try file.commit()
}

@Suite struct `Incoming file` {
  let directory: TemporaryDirectory
  let tree: Tree

  init() throws {
    directory = try TemporaryDirectory()
    tree = try Tree(root: directory.file("a/root"), create: true)
  }

  @Test func `it appears under its name when it is whole, and not before`() throws {
    var file = try tree.receive(segment(0))
    try file.append(Array("half".utf8).span.bytes)
    #expect(try tree.facts(of: segment(0)) == nil)
    #expect(try file.commit() == .stored)
    #expect(try tree.facts(of: segment(0))?.size == 4)
    #expect(directory.files() == ["a/root/\(segment(0))"])
  }

  @Test func `one that is abandoned or let go leaves nothing`() throws {
    let abandoned = try tree.receive(segment(0))
    abandoned.abandon()
    do {
      var lost = try tree.receive(segment(1))
      try lost.append([1, 2, 3].span.bytes)
    }
    #expect(directory.files() == [])
  }

  @Test func `the same bytes again are the same, others are a conflict, and the first stay`() throws {
    let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    var other = bytes
    other[199_999] ^= 1
    #expect(try arrive(segment(3), bytes, in: tree) == .stored)
    #expect(try arrive(segment(3), bytes, in: tree) == .same)
    #expect(try arrive(segment(3), other, in: tree) == .conflict)
    #expect(try arrive(segment(3), Array(bytes.dropLast()), in: tree) == .conflict)
    #expect(try arrive(segment(3), bytes + [0], in: tree) == .conflict)
    #expect(try arrive(segment(3), [], in: tree) == .conflict)
    let stored = try FileManager.default.contents(atPath: #require(directory.files().first.map(directory.file)))
    #expect(stored.map(Array.init) == bytes)
    #expect(directory.files().count == 1)
  }

  @Test(arguments: [true, false])
  func `one number is one segment, whatever else the name says`(restarted: Bool) throws {
    #expect(try arrive(segment(3), [1], in: tree) == .stored)
    let tree = restarted ? try Tree(root: directory.file("a/root"), create: false) : tree
    #expect(try arrive(segment(3, ticks: 449_999), [1], in: tree) == .conflict)
    #expect(try arrive(segment(4, ticks: 449_999), [1], in: tree) == .stored)
    #expect(directory.files().count == 2)
  }

  @Test func `a number whose file was removed is free again`() throws {
    #expect(try arrive(segment(3), [1], in: tree) == .stored)
    try tree.remove(segment(3))
    #expect(try arrive(segment(3, ticks: 449_999), [2], in: tree) == .stored)
  }

  @Test func `a piece that has been made into a segment is the same when it comes again`() throws {
    let piece = EntryPath(key: key, entry: .piece(sequence: 7))
    #expect(try arrive(piece, [1, 2], in: tree) == .stored)
    try tree.move(piece, to: .pieces)
    #expect(try arrive(piece, [1, 2], in: tree) == .same)
    #expect(try arrive(piece, [1, 3], in: tree) == .conflict)
    // Its segment has the same number, which is no conflict.
    #expect(try arrive(segment(7), [1], in: tree) == .stored)
    #expect(directory.files().count == 2)
  }

  @Test func `a run is closed once`() throws {
    func marker(_ count: Int, _ kind: MarkerName.Kind) -> EntryPath {
      EntryPath(key: key, entry: .marker(MarkerName(count: count, kind: kind)))
    }
    #expect(try arrive(marker(2, .next), [], in: tree) == .stored)
    #expect(try arrive(marker(2, .next), [], in: tree) == .same)
    #expect(try arrive(marker(3, .next), [], in: tree) == .conflict)
    #expect(try arrive(marker(2, .end), [], in: tree) == .conflict)
  }

  @Test(arguments: [false, true])
  func `a number that a closed run does not count is refused, whoever looks`(isFresh: Bool) throws {
    let marker = EntryPath(key: key, entry: .marker(MarkerName(count: 2, kind: .end)))
    // It came before the marker did.
    #expect(try arrive(segment(7), [7], in: tree) == .stored)
    #expect(try arrive(marker, [], in: tree) == .stored)
    let tree = isFresh ? try Tree(root: directory.file("a/root"), create: false) : tree
    #expect(try arrive(segment(2), [2], in: tree) == .closed)
    #expect(try arrive(segment(8), [8], in: tree) == .closed)
    #expect(try arrive(segment(1), [1], in: tree) == .stored)
    #expect(try arrive(segment(7), [7], in: tree) == .same)
    #expect(try tree.segments(of: key).map(\.sequence) == [1, 7])
    #expect(directory.files().count == 3)
  }

  @Test func `a recording that was removed as empty can come back`() throws {
    #expect(try arrive(segment(0), [1], in: tree) == .stored)
    try tree.remove(segment(0))
    #expect(try tree.pruneEmpty(tree.lock(key.recording)))
    #expect(try arrive(segment(1), [1], in: tree) == .stored)
  }

  @Test func `of two that claim one number at once, one is stored`() throws {
    let renaming = Monitor(0)
    let disk = try SimulatedDisk(beforeRename: {
      renaming.withLock { $0 += 1 }
      // Waits for the other, which must not come as far while this one is here.
      _ = renaming.wait(timeout: .milliseconds(300)) { $0 == 2 ? true : nil }
    })
    let tree = try Tree(disk.root)
    let outcomes = Monitor([IncomingFile.Outcome]())
    let threads = try (1...2 as ClosedRange<Int64>).map { ticks in
      try Platform.Thread("arrival") {
        guard let outcome = try? arrive(segment(0, ticks: ticks), [1], in: tree) else { return }
        outcomes.withLock { $0.append(outcome) }
      }
    }
    for thread in threads { thread.join() }
    let seen = outcomes.withLock { $0 }
    #expect(seen.count { $0 == .stored } == 1)
    #expect(seen.count { $0 == .conflict } == 1)
    #expect(disk.files().count == 1)
  }

  @Test(arguments: 0...12, [true, false])
  func `what was answered survives a power cut, and repeating it is always right`(
    step: Int, namesSurvive: Bool
  ) throws {
    for unsynced in SimulatedDisk.UnsyncedData.allCases {
      let bytes: [UInt8] = [1, 2, 3]
      let disk = try SimulatedDisk(.stopping(afterStep: step))
      let before = try? arrive(segment(0), bytes, in: Tree(disk.root))
      disk.crash(namesSurvive: namesSurvive, unsynced: unsynced)
      let path = segment(0).description
      if before != nil { #expect(disk.files()[path] == bytes) }
      #expect(disk.files()[path] == nil || disk.files()[path] == bytes)
      let after = try arrive(segment(0), bytes, in: Tree(disk.root))
      #expect(after == .stored || after == .same)
      #expect(disk.files()[path] == bytes)
    }
  }

  @Test(arguments: 1...6)
  func `directories that could not be made durable are made so by the next arrival`(failing: Int) throws {
    let disk = try SimulatedDisk(.failing(step: failing, code: EIO))
    let tree = try Tree(disk.root)
    #expect(throws: StorageError.self) { try arrive(segment(0), [1], in: tree) }
    #expect(try arrive(segment(0), [1], in: tree) == .stored)
    disk.crash(namesSurvive: false, unsynced: .lost)
    #expect(disk.files() == [segment(0).description: [1]])
  }

  /// The step of an arrival that gives the file its name; the one after it makes that durable.
  private func naming() throws -> Int {
    let counting = try SimulatedDisk()
    _ = try arrive(segment(0), [1], in: Tree(counting.root))
    return try #require(counting.log.firstIndex { $0.hasPrefix("rename") }) + 1
  }

  @Test func `the second of two same files waits for the name to be durable`() throws {
    // The first was killed when it had its name and no more.
    let disk = try SimulatedDisk(.stopping(afterStep: naming()))
    #expect(throws: StorageError.self) { try arrive(segment(0), [1], in: Tree(disk.root)) }
    disk.kill()
    #expect(try arrive(segment(0), [1], in: Tree(disk.root)) == .same)
    disk.crash(namesSurvive: false, unsynced: .lost)
    #expect(disk.files()[segment(0).description] == [1])
  }

  @Test func `what could not be made durable is not left under its name`() throws {
    let disk = try SimulatedDisk(.failing(step: naming() + 1, code: EIO))
    #expect(throws: StorageError.self) { try arrive(segment(0), [1], in: Tree(disk.root)) }
    #expect(disk.files().isEmpty)
  }
}
