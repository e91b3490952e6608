import Foundation
import HLS
import Platform
import Storage
import TestKit
import Testing

@testable import Origin

@Suite struct `Cleaning a spool` {
  @Test func `sent segments go when their end is older than the age, and nothing else does`() throws {
    let scene = try TreeScene()
    let key = try TreeScene.key()
    let old = try scene.segment(0, key, .sent, ended: 25)
    try scene.segment(1, key, .sent, ended: 23)
    try scene.segment(2, key, ended: 50)
    try scene.segment(3, key, .refused, ended: 50)
    try scene.close(key, 4, .next)
    let before = scene.files
    let report = try scene.clean(.spool)
    #expect(before.filter { !scene.files.contains($0) } == ["\(key)/sent/\(old.entry)"])
    #expect(report.aged == .init(files: 1, bytes: 10))
    #expect(report.remaining == .init(files: 5, bytes: 33))
    #expect(report.freed == report.aged)
  }

  @Test func `the oldest sent segments go while there is more than the size, and what is unsent counts`() throws {
    let scene = try TreeScene()
    let first = try TreeScene.key("b", hours: 5)
    let second = try TreeScene.key("a", hours: 4)
    for number in 0..<4 {
      try scene.segment(number, first, .sent, ended: 5 - Double(number), bytes: 100)
      try scene.segment(number, second, .sent, ended: 4.5 - Double(number), bytes: 100)
    }
    try scene.segment(4, first, ended: 9, bytes: 500)
    try scene.segment(4, second, ended: 0.1, bytes: 10)
    let report = try scene.clean(.spool) { $0.maximumSize = 1_000 }
    // 1310 bytes in all: 400 have to go, the four oldest of both.
    #expect(report.oversize == .init(files: 4, bytes: 400))
    #expect(report.remaining.bytes == 910)
    #expect(try scene.tree.segments(of: first, area: .sent).map(\.sequence) == [2, 3])
    #expect(try scene.tree.segments(of: second, area: .sent).map(\.sequence) == [2, 3])
    #expect(try scene.tree.segments(of: first).count == 1)
  }

  @Test func `a spool of more candidates than one pass holds is cut to size exactly`() throws {
    let scene = try TreeScene()
    let key = try TreeScene.key(hours: 20)
    for number in 0..<60 { try scene.segment(number, key, .sent, ended: 20 - Double(number) / 10, bytes: 7) }
    try scene.close(key, 60, .end)
    let limit: Int64 = 3 + 13 * 7
    var configuration = CleanConfiguration(.spool)
    configuration.maximumSize = limit
    var telling = CleanTelling(CleanReport(), .none)
    try SpoolCleaning(configuration, scene.tree, TreeScene.now, selectionLimit: 5).run(&telling)
    #expect(telling.report.oversize.files == 47)
    #expect(try scene.tree.segments(of: key, area: .sent).map(\.sequence) == Array(47..<60))
  }

  @Test func `what no server has expires only when asked, and each one is said`() throws {
    let scene = try TreeScene()
    let key = try TreeScene.key()
    try scene.segment(0, key, .refused, ended: 99)
    let unsent = try scene.segment(1, key, ended: 99)
    try scene.segment(2, key, ended: 10)
    try scene.close(key, 3, .next, closed: 10)
    #expect(
      try scene.clean(.spool) {
        $0.maximumAge = .zero; $0.maximumSize = 0
      }.freed.files == 0)
    #expect(scene.said("expire-unsent").isEmpty)
    let report = try scene.clean(.spool) { $0.unsentAge = .seconds(50 * 3600) }
    #expect(report.unsent == .init(files: 2, bytes: 20))
    let said = scene.said("expire-unsent")
    #expect(said.count == 2)
    #expect(said.allSatisfy { $0.level == .warning })
    #expect(said.contains { $0.fields.contains { $0.key == "file" && $0.value == .text(unsent.description) } })
    #expect(try scene.tree.segments(of: key).map(\.sequence) == [2])
  }

  @Test func `a segment that a wrong clock put in the future stays, and one from an unset clock has its file's age`()
    throws
  {
    let scene = try TreeScene()
    let key = try TreeScene.key()
    try scene.segment(0, key, .sent, ended: -99, arrived: 50)
    let unset = SegmentName(sequence: 1, start: WallClockTime(milliseconds: 5_000), ticks: 450_000)
    try scene.put(.segment(unset), key, .sent, arrived: 1)
    try scene.close(key, 2, .next)
    #expect(try scene.clean(.spool).freed.files == 0)
    try scene.put(.segment(unset), key, .sent, arrived: 25)
    #expect(try scene.clean(.spool).aged.files == 1)
    #expect(try scene.tree.segments(of: key, area: .sent).map(\.sequence) == [0])
  }

  @Test(arguments: Tree.Area.allCases.filter { $0 != .pieces })
  func `the last segment of a run that nobody closed stays, so that its recovery counts on`(area: Tree.Area) throws {
    let scene = try TreeScene()
    let key = try TreeScene.key()
    try scene.put(.initSection, key, arrived: 99)
    for number in 0..<3 { try scene.segment(number, key, .sent, ended: 60 - Double(number)) }
    try scene.segment(3, key, area, ended: 50)
    let report = try scene.clean(.spool) {
      $0.unsentAge = .seconds(3600); $0.maximumSize = 0
    }
    #expect(report.freed.files == 3)
    #expect(try scene.tree.segments(of: key, area: area).map(\.sequence) == [3])
    let recovered = try scene.tree.recover(
      scene.tree.lock(key.recording), closingWith: .end, now: TreeScene.now)
    #expect(recovered.closed.map(\.entry) == [.marker(MarkerName(count: 4, kind: .end))])
  }

  @Test func `a recording that is over, sent and expired goes completely`() throws {
    let scene = try TreeScene()
    for rendition in [RenditionName.main, .mic] {
      let first = try TreeScene.key("lecture", rendition, hours: 60)
      let last = try TreeScene.key("lecture", rendition, hours: 50)
      try scene.segment(0, first, .sent, ended: 55)
      try scene.segment(0, last, .sent, ended: 45)
      try scene.close(first, 1, .next, acknowledged: true)
      try scene.close(last, 1, .end, acknowledged: true)
    }
    let report = try scene.clean(.spool)
    #expect(report.recordings.map(\.text) == ["lecture"])
    #expect(report.aged == .init(files: 4, bytes: 40))
    #expect(report.finished == .init(files: 12, bytes: 12))
    #expect(report.remaining == .init())
    #expect(try FileManager.default.contentsOfDirectory(atPath: scene.tree.root) == [])
  }

  enum Obstacle: CaseIterable {
    case unsentSegment, refusedSegment, freshSegment, unacknowledgedMarker, noMarker, followedByAnother, foreignFile
    case beingWritten, piece, locked
  }

  @Test(arguments: Obstacle.allCases)
  func `what holds a run together stays while there is reason to`(obstacle: Obstacle) throws {
    let scene = try TreeScene()
    let key = try TreeScene.key()
    try scene.segment(0, key, .sent, ended: 45)
    try scene.put(.initSection, key, arrived: 45)
    var lock: FileLock.Attempt?
    switch obstacle {
    case .unsentSegment: try scene.segment(1, key, ended: 45)
    case .refusedSegment: try scene.segment(1, key, .refused, ended: 45)
    case .freshSegment: try scene.segment(1, key, .sent, ended: 1)
    case .foreignFile: try scene.put(file: scene.tree.path(of: key) + "/notes.txt", bytes: 5, modified: TreeScene.now)
    case .beingWritten: try scene.put(file: scene.tree.path(of: key) + "/.x.part", bytes: 5, modified: TreeScene.now)
    case .piece: try scene.put(.piece(sequence: 7), key, .pieces)
    case .locked:
      lock = try FileLock.attempt(in: Directory(path: scene.tree.path(of: key.recording)), name: ".lock")
    case .unacknowledgedMarker, .noMarker, .followedByAnother: break
    }
    if obstacle != .noMarker {
      try scene.close(
        key, 2, obstacle == .followedByAnother ? .next : .end, acknowledged: obstacle != .unacknowledgedMarker)
    }
    var foretold = try scene.clean(.spool) { $0.isDryRun = true }
    foretold.isDryRun = false
    let report = try scene.clean(.spool)
    #expect(foretold == report)
    #expect(report.finished.files == 0)
    #expect(report.recordings.isEmpty)
    #expect(scene.files.contains("\(key)/init.mp4"))
    #expect(scene.files.contains { $0.hasSuffix(".end") || $0.hasSuffix(".next") } == (obstacle != .noMarker))
    #expect(report.inUse.map(\.text) == (obstacle == .locked ? ["lecture"] : []))
    if case .held? = lock { Issue.record("the lock was not free") }
  }

  @Test func `an acknowledged run goes while the recording goes on in a newer one`() throws {
    let scene = try TreeScene()
    let old = try TreeScene.key(hours: 60)
    let new = try TreeScene.key(hours: 40)
    try scene.segment(0, old, .sent, ended: 59)
    try scene.close(old, 1, .next, acknowledged: true)
    try scene.put(.initSection, new, arrived: 40)
    try scene.segment(0, new, ended: 39)
    let lock = try scene.tree.lock(old.recording)
    let report = try scene.clean(.spool)
    #expect(report.finished.files == 3)
    #expect(try scene.tree.runs(of: old.recording) == [new])
    _ = consume lock
  }

  @Test func `a run's removal that was interrupted is finished`() throws {
    let scene = try TreeScene()
    let key = try TreeScene.key()
    try scene.close(key, 1, .end, acknowledged: true)
    let path = scene.tree.path(of: key)
    let hidden = path.replacingOccurrences(of: key.run.description, with: ".removed-\(key.run)")
    try FileManager.default.moveItem(atPath: path, toPath: hidden)
    try FileManager.default.removeItem(atPath: hidden + "/init.mp4")
    let later = WallClockTime(milliseconds: WallClock.now() + 120_000)
    #expect(try scene.clean(.spool, now: later).recordings.map(\.text) == ["lecture"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: scene.tree.root) == [])
  }

  @Test func `what was recorded without a server goes completely once it was asked to expire`() throws {
    let scene = try TreeScene()
    let key = try TreeScene.key()
    for number in 0..<3 { try scene.segment(number, key, ended: 80) }
    try scene.close(key, 3, .end)
    let report = try scene.clean(.spool) { $0.unsentAge = .seconds(70 * 3600) }
    #expect(report.recordings.map(\.text) == ["lecture"])
    #expect(scene.files == [])
    #expect(scene.said("expire-unsent").count == 4)
  }

  @Test func `an empty recording is pruned, but not one that was made a moment ago`() throws {
    let scene = try TreeScene()
    _ = try scene.tree.lock(try #require(RecordingName("empty")))
    let now = WallClock.now()
    #expect(try scene.clean(.spool, now: WallClockTime(milliseconds: now)).recordings.isEmpty)
    let later = WallClockTime(milliseconds: now + 120_000)
    #expect(try scene.clean(.spool, now: later).recordings.map(\.text) == ["empty"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: scene.tree.root) == [])
  }

  @Test func `a file that cannot be removed is told, and the others go`() throws {
    let scene = try TreeScene()
    let key = try TreeScene.key()
    for number in 0..<3 { try scene.segment(number, key, .sent, ended: 45) }
    try scene.close(key, 3, .next)
    let tree = try Tree(RefusingDirectory(scene.tree.root) { $0.contains("00000001_") })
    let report = try Cleaner(CleanConfiguration(.spool), tree, scene.log).run(now: TreeScene.now)
    #expect(report.aged.files == 2)
    #expect(report.problemCount == 1)
    #expect(report.problems.first?.systemError?.isDenied == true)
    #expect(scene.said("clean").contains { $0.level == .error && $0.message.contains("00000001_") })
    #expect(try scene.tree.segments(of: key, area: .sent).map(\.sequence) == [1])
    #expect(report.remaining == .init(files: 3, bytes: 13))
  }
}
