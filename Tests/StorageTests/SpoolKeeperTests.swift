import Foundation
import HLS
import Platform
import Storage
import Synchronization
import TestKit
import Testing

@Suite struct `Room in a spool` {
  private let directory: TemporaryDirectory
  private let tree: Tree
  private let key = RunKey(
    recording: Scene.recording, rendition: .main, run: RunName(start: Scene.began, suffix: 1))

  init() throws {
    directory = try TemporaryDirectory()
    tree = try Tree(root: directory.path, create: true)
  }

  private func put(_ area: String, _ numbers: Range<Int>, bytes: Int = 1000, run: RunKey? = nil) throws {
    for number in numbers {
      let name = SegmentName(
        sequence: number, start: Scene.began.advanced(byTicks: Int64(number) * 450_000), ticks: 450_000)
      let folder = tree.path(of: run ?? key) + area
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try Data(count: bytes).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
    }
  }

  private func limits(_ size: Int64, _ whenFull: SpoolLimits.WhenFull) -> SpoolLimits {
    var limits = SpoolLimits()
    limits.minimumFree = 0
    limits.maximumSize = size
    limits.whenFull = whenFull
    return limits
  }

  private func numbers(_ area: String = "") -> [Int] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: tree.path(of: key) + area)) ?? []
    return names.compactMap { SegmentName($0)?.sequence }.sorted()
  }

  @Test func `the oldest sent copies go, as many as must and no more`() throws {
    try put("/sent", 0..<6)
    try put("", 6..<8)
    let keeper = SpoolKeeper(tree, limits(7000, .dropSent), .none)
    try keeper.makeRoom(for: 1500)
    #expect(numbers("/sent") == [3, 4, 5])
    #expect(numbers() == [6, 7])
    try keeper.makeRoom(for: 1500)
    #expect(numbers("/sent") == [3, 4, 5])
  }

  @Test func `what is unsent stays, and there is no room then`() throws {
    try put("/sent", 0..<1)
    try put("/refused", 1..<2)
    try put("", 2..<6)
    let keeper = SpoolKeeper(tree, limits(5500, .dropSent), .none)
    let error = #expect(throws: StorageError.self) { try keeper.makeRoom(for: 1000) }
    #expect(error?.isFull == true)
    let reason = "its files have 5.0 kB, --max-spool is 5.5 kB, and none of them may go"
    #expect(error?.description.hasSuffix(": \(reason)") == true)
    #expect(numbers("/sent") == [])
    #expect(numbers("/refused") == [1])
    #expect(numbers() == [2, 3, 4, 5])
  }

  @Test func `nothing goes when recording is to stop`() throws {
    try put("/sent", 0..<6)
    let keeper = SpoolKeeper(tree, limits(5000, .stop), .none)
    #expect(throws: StorageError.self) { try keeper.makeRoom(for: 0) }
    #expect(numbers("/sent").count == 6)
  }

  @Test func `only when told so the unsent go, after the sent, each one said`() throws {
    let said = Mutex<[String]>([])
    let log = Log { event in said.withLock { $0.append(event.name) } }
    try put("", 0..<4)
    try put("/sent", 4..<6)
    let keeper = SpoolKeeper(tree, limits(3000, .dropOldest), log)
    try keeper.makeRoom(for: 1000)
    #expect(numbers("/sent") == [5])
    #expect(numbers() == [3])
    #expect(said.withLock { $0 } == [String](repeating: "spool-dropped-unsent", count: 3) + ["spool-dropped-sent"])
  }

  @Test func `an open run keeps its last segment, by which recovery counts`() throws {
    try put("/sent", 0..<3)
    let keeper = SpoolKeeper(tree, limits(500, .dropOldest), .none)
    #expect(throws: StorageError.self) { try keeper.makeRoom(for: 0) }
    #expect(numbers("/sent") == [2])
    try Data().write(to: URL(fileURLWithPath: tree.path(of: key) + "/3.next"))
    try SpoolKeeper(tree, limits(500, .dropOldest), .none).makeRoom(for: 0)
    #expect(numbers("/sent") == [])
  }

  @Test func `what is added counts without another listing`() throws {
    try put("/sent", 0..<2)
    let keeper = SpoolKeeper(tree, limits(5000, .dropSent), .none)
    try keeper.makeRoom(for: 1000)
    try put("", 2..<5)
    keeper.added(3000)
    try keeper.makeRoom(for: 1000)
    #expect(numbers("/sent") == [1])
  }
}
