import HLS
import Platform
import Storage
import TestKit
import Testing

@Suite struct `Run writer` {
  let directory: TemporaryDirectory
  let tree: Tree
  let scene = Scene()

  init() throws {
    directory = try TemporaryDirectory()
    tree = try Tree(root: directory.path, create: false)
  }

  @Test func `a run is never reopened`() throws {
    let lock = try tree.lock(Scene.recording)
    do { _ = try RunWriter(tree: tree, key: scene.key, lock: lock) }
    #expect(throws: StorageError.taken(path: "\(directory.path)/\(scene.key)")) {
      _ = try RunWriter(tree: tree, key: scene.key, lock: lock)
    }
  }

  @Test func `a segment needs an init section, a duration and an open run`() throws {
    var writer = try RunWriter(tree: tree, key: scene.key, lock: tree.lock(Scene.recording))
    #expect(throws: StorageError.self) { try writer.openSegment(start: Scene.began) }
    #expect(throws: StorageError.self) { try writer.append([1].span.bytes) }
    try writer.writeInitSection(scene.initSection.span.bytes)
    #expect(throws: StorageError.self) { try writer.writeInitSection(scene.initSection.span.bytes) }
    try writer.openSegment(start: Scene.began)
    #expect(throws: StorageError.self) { try writer.openSegment(start: Scene.began) }
    #expect(throws: StorageError.self) { try writer.commitSegment(ticks: 0) }
    let isOpen = writer.hasOpenSegment
    #expect(isOpen)
    #expect(try writer.close(.end) == MarkerName(count: 0, kind: .end))
    #expect(throws: StorageError.self) { try writer.openSegment(start: Scene.began) }
    #expect(directory.files() == ["\(Scene.recording)/.lock", "\(scene.key)/0.end", "\(scene.key)/init.mp4"])
  }

  @Test func `a lock of another recording is refused`() throws {
    let other = try #require(RecordingName("other"))
    #expect(throws: StorageError.self) {
      _ = try RunWriter(tree: tree, key: scene.key, lock: tree.lock(other))
    }
  }

  @Test func `what is whole can be committed after a write has failed`() throws {
    let full = try SimulatedDisk()
    _ = scene.record(on: full)
    let second = try #require(full.log.firstIndex { $0.hasPrefix("write") && $0.contains(".00000000_") }) + 2
    let disk = try SimulatedDisk(.failing(step: second, code: 28))
    var writer = try RunWriter(tree: Tree(disk.root), key: scene.key, lock: Tree(disk.root).lock(Scene.recording))
    try writer.writeInitSection(scene.initSection.span.bytes)
    try writer.openSegment(start: Scene.began)
    try writer.append(scene.chunk(0, 0).span.bytes)
    let whole = writer.openLength
    #expect { try writer.append(scene.chunk(0, 1).span.bytes) } throws: { ($0 as? StorageError)?.isFull == true }
    let name = try writer.commitSegment(ticks: 90_000, length: whole)
    #expect(disk.files()["\(scene.key)/\(name)"] == scene.chunk(0, 0))
    #expect(try writer.close(.next) == MarkerName(count: 1, kind: .next))
  }

  /// A disk that once has no room, for the first operation of that kind on the first segment.
  private func disk(refusing operation: String) throws -> SimulatedDisk {
    let full = try SimulatedDisk()
    _ = scene.record(on: full)
    let step = try #require(full.log.firstIndex { $0.hasPrefix(operation) && $0.contains("00000000_") })
    return try SimulatedDisk(.failing(step: step + 1, code: 28))
  }

  private func writer(on disk: SimulatedDisk) throws -> RunWriter {
    var writer = try RunWriter(tree: Tree(disk.root), key: scene.key, lock: Tree(disk.root).lock(Scene.recording))
    try writer.writeInitSection(scene.initSection.span.bytes)
    try writer.openSegment(start: Scene.began)
    return writer
  }

  @Test func `the same bytes can be written again once there is room`() throws {
    let disk = try disk(refusing: "write")
    var writer = try writer(on: disk)
    let chunk = scene.chunk(0, 0)
    #expect { try writer.append(chunk.span.bytes) } throws: { ($0 as? StorageError)?.isFull == true }
    try writer.append(chunk.span.bytes)
    let name = try writer.commitSegment(ticks: 90_000)
    #expect(disk.files()["\(scene.key)/\(name)"] == chunk)
  }

  @Test func `what waited for room in memory is written once there is some`() throws {
    let disk = try disk(refusing: "write")
    var writer = try RunWriter(
      tree: Tree(disk.root), key: scene.key, lock: Tree(disk.root).lock(Scene.recording), isBulk: true)
    try writer.writeInitSection(scene.initSection.span.bytes)
    try writer.openSegment(start: Scene.began)
    for index in 0..<Scene.chunksPerSegment { try writer.append(scene.chunk(0, index).span.bytes) }
    #expect { try writer.commitSegment(ticks: 270_000) } throws: { ($0 as? StorageError)?.isFull == true }
    let name = try writer.commitSegment(ticks: 270_000)
    #expect(disk.files()["\(scene.key)/\(name)"] == scene.segment(0))
  }

  @Test func `of a bulk writer that is killed, all that was flushed is saved, and nothing more`() throws {
    var writer = try RunWriter(tree: tree, key: scene.key, lock: tree.lock(Scene.recording), isBulk: true)
    try writer.writeInitSection(scene.initSection.span.bytes)
    try writer.openSegment(start: Scene.began)
    for index in 0..<2 {
      try writer.append(scene.chunk(0, index).span.bytes)
      try writer.flush()
    }
    try writer.append(scene.chunk(0, 2).span.bytes)
    writer.leaveSegment()
    let report = try tree.recover(tree.lock(Scene.recording), closingWith: .end, now: Scene.began)
    #expect(
      report.salvaged.map(\.entry.description) == [
        SegmentName(sequence: 0, start: Scene.began, ticks: 180_000).description
      ])
    let saved = try tree.openForReading(#require(report.salvaged.first))
    #expect(try saved.readAll(limit: 100_000) == scene.chunk(0, 0) + scene.chunk(0, 1))
  }

  @Test func `a segment that is refused its name can be committed again`() throws {
    let disk = try disk(refusing: "rename")
    var writer = try writer(on: disk)
    for index in 0..<Scene.chunksPerSegment { try writer.append(scene.chunk(0, index).span.bytes) }
    #expect { try writer.commitSegment(ticks: 90_000) } throws: { ($0 as? StorageError)?.isFull == true }
    let name = try writer.commitSegment(ticks: 90_000)
    #expect(disk.files()["\(scene.key)/\(name)"] == scene.segment(0))
    #expect(try writer.close(.end) == MarkerName(count: 1, kind: .end))
  }

  @Test func `the next run is later than the one before it, whatever the clock says`() throws {
    let now = Scene.began
    #expect(RunName(after: nil, now: now, suffix: 5) == RunName(start: now, suffix: 5))
    let before = RunName(start: now, suffix: 0xFFFF)
    for clock in [now, WallClockTime(milliseconds: 0), WallClockTime(milliseconds: now.milliseconds + 5_000)] {
      #expect(before < RunName(after: before, now: clock, suffix: 0))
    }
    do { _ = try RunWriter(tree: tree, key: scene.key, lock: tree.lock(Scene.recording)) }
    #expect(try tree.newRunName(of: Scene.recording, now: WallClockTime(milliseconds: 0)) > scene.key.run)
  }
}
