import HLS
import Storage
import TestKit
import Testing

@testable import Origin

@Suite struct `Time lines that are kept` {
  private let served: ServedTree
  private let key: RunKey

  init() throws {
    served = try ServedTree()
    let run = RunName(start: WallClockTime(milliseconds: 1_796_000_000_000), suffix: 0xA3F1)
    key = RunKey(recording: try #require(RecordingName("camera")), rendition: .main, run: run)
  }

  private func entry(_ number: Int) -> RunEntry {
    .segment(
      SegmentName(
        sequence: number, start: key.run.start.advanced(byTicks: Int64(number) * 450_000), ticks: 450_000))
  }

  /// A segment on the disk, which the shelf hears of or not.
  private func put(_ number: Int, telling shelf: TimelineShelf? = nil) throws {
    try served.write("\(key)/\(entry(number))", [1])
    shelf?.arrived(EntryPath(key: key, entry: entry(number)), at: 1)
  }

  private func counts(_ shelf: TimelineShelf) throws -> [Int] {
    try shelf.run(key).timeline.spans.map(\.segments)
  }

  @Test func `take what arrives without another look at the disk`() throws {
    let shelf = TimelineShelf(served.tree, lifetime: .seconds(3_600))
    try put(0)
    try put(1)
    #expect(try counts(shelf) == [2])
    try put(2, telling: shelf)
    // Heard of and not there: who reads names would not see it.
    shelf.arrived(EntryPath(key: key, entry: entry(3)), at: 1)
    shelf.arrived(EntryPath(key: key, entry: .marker(MarkerName(count: 4, kind: .end))), at: 2)
    let run = try shelf.run(key)
    #expect(run.timeline.next == 4)
    #expect(run.marker?.kind == .end)
    // Two came as files of now, long after their end or before it; the others as the shelf was told.
    #expect(run.timeline.delays.count == 4)
  }

  @Test func `look again where a number is skipped, filled or another's work, and only then`() throws {
    let shelf = TimelineShelf(served.tree, lifetime: .seconds(3_600))
    for number in [0, 1] { try put(number) }
    #expect(try counts(shelf) == [2])
    // Not told, and the listing is young.
    try put(2)
    #expect(try counts(shelf) == [2])
    try put(3, telling: shelf)
    #expect(try counts(shelf) == [4])
    try put(6, telling: shelf)
    #expect(try counts(shelf) == [4, 2, 1])
    try put(5, telling: shelf)
    #expect(try counts(shelf) == [4, 1, 2])
    try put(4, telling: shelf)
    #expect(try counts(shelf) == [7])
    let eager = TimelineShelf(served.tree, lifetime: .zero)
    #expect(try counts(eager) == [7])
    try put(7)
    #expect(try counts(eager) == [8])
    try served.tree.remove(EntryPath(key: key, entry: entry(0)))
    #expect(try counts(eager) == [1, 7])
  }
}
