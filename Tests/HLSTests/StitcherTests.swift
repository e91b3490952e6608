import Testing

@testable import HLS

/// A clock and a rendition to play arrivals against.
struct Scene {
  var stitcher: Stitcher
  var now = ContinuousClock.now
  static let start = WallClockTime(milliseconds: 1_796_000_000_000)

  init(_ policy: StitchingPolicy = StitchingPolicy(), target: Int = 5) {
    stitcher = Stitcher(policy: policy, targetDuration: target)
  }

  static func run(_ number: Int = 0, after seconds: Int64 = 0) -> RunName {
    RunName(start: WallClockTime(milliseconds: start.milliseconds + seconds * 1_000), suffix: UInt16(number))
  }

  static func name(_ sequence: Int, of run: RunName, ticks: Int64 = 450_000) -> SegmentName {
    SegmentName(sequence: sequence, start: run.start.advanced(byTicks: Int64(sequence) * 450_000), ticks: ticks)
  }

  @discardableResult mutating func segments(_ numbers: some Sequence<Int>, of run: RunName) -> Stitcher.Changes {
    stitcher.initSectionArrived(run)
    for number in numbers { stitcher.segmentArrived(Self.name(number, of: run), in: run, at: now) }
    return stitcher.advance(at: now)
  }

  @discardableResult mutating func marker(_ count: Int, _ kind: MarkerName.Kind, of run: RunName) -> Stitcher.Changes {
    stitcher.markerArrived(MarkerName(count: count, kind: kind), in: run, at: now)
    return stitcher.advance(at: now)
  }

  @discardableResult mutating func pass(_ seconds: Double) -> Stitcher.Changes {
    now += .seconds(seconds)
    return stitcher.advance(at: now)
  }

  var entries: [MediaPlaylist.Entry] { stitcher.playlist.entries }
  var numbers: [Int] { entries.map(\.sequence) }
}

@Suite struct `Live list` {
  let run = Scene.run()

  @Test func `a segment is published when it and its init section are there`() {
    var scene = Scene()
    scene.stitcher.segmentArrived(Scene.name(0, of: run), in: run, at: scene.now)
    #expect(scene.stitcher.advance(at: scene.now).isEmpty)
    scene.stitcher.initSectionArrived(run)
    #expect(scene.stitcher.advance(at: scene.now).added == 1)
    #expect(scene.entries.first?.name == Scene.name(0, of: run))
  }

  @Test func `arrival out of order is published in order`() {
    var scene = Scene()
    scene.segments([3, 1, 0, 2, 1, 0], of: run)
    #expect(scene.numbers == [0, 1, 2, 3])
  }

  @Test func `a missing number is waited for three target durations, then becomes a gap of its length`() throws {
    var scene = Scene()
    scene.segments([0, 1], of: run)
    scene.segments([3], of: run)
    #expect(scene.numbers == [0, 1])
    #expect(scene.stitcher.deadline == scene.now + .seconds(15))
    #expect(scene.pass(14.9).isEmpty)
    let changes = scene.pass(0.1)
    #expect(changes.notices == [.gap(run: run, first: 2, last: 2)])
    #expect(scene.numbers == [0, 1, 2, 3])
    #expect(scene.entries[2].isGap)
    #expect(scene.entries[2].ticks == 450_000)
    #expect(!scene.entries[3].isDiscontinuity)
    #expect(scene.stitcher.playlist.version == 8)
  }

  @Test func `waiting counts from the first arrival that is later than the hole`() {
    var scene = Scene()
    scene.segments([0, 2], of: run)
    scene.pass(10)
    scene.segments([5], of: run)
    scene.pass(5)
    #expect(scene.numbers == [0, 1, 2])
    scene.pass(9.9)
    #expect(scene.numbers == [0, 1, 2])
    scene.pass(0.2)
    #expect(scene.numbers == [0, 1, 2, 3, 4, 5])
  }

  @Test func `what comes after its gap changes nothing`() {
    var scene = Scene()
    scene.segments([0, 2], of: run)
    scene.pass(15)
    let before = scene.stitcher.playlist
    #expect(scene.stitcher.segmentArrived(Scene.name(1, of: run), in: run, at: scene.now) == .late)
    #expect(scene.stitcher.advance(at: scene.now).isEmpty)
    #expect(scene.stitcher.playlist == before)
  }

  @Test func `a second segment of one number leaves the first in place`() {
    var scene = Scene()
    scene.stitcher.segmentArrived(Scene.name(0, of: run), in: run, at: scene.now)
    let other = SegmentName(sequence: 0, start: Scene.start, ticks: 90_000)
    #expect(scene.stitcher.segmentArrived(other, in: run, at: scene.now) == .known)
    scene.segments([], of: run)
    #expect(scene.entries.map(\.ticks) == [450_000])
  }

  @Test func `a new run is a discontinuity with its date, and waits until the run before is complete`() {
    var scene = Scene()
    let second = Scene.run(1, after: 60)
    scene.segments([0, 1], of: run)
    scene.segments([0], of: second)
    #expect(scene.entries.count == 2)
    scene.segments([2], of: run)
    scene.marker(3, .next, of: run)
    #expect(scene.entries.map(\.run) == [run, run, run, second])
    #expect(scene.entries.map(\.isDiscontinuity) == [false, false, false, true])
    #expect(scene.entries[3].date == second.start)
  }

  @Test func `a run that was never closed is left after the same patience`() {
    var scene = Scene()
    let second = Scene.run(1, after: 60)
    scene.segments([0], of: run)
    scene.segments([0], of: second)
    let changes = scene.pass(15)
    #expect(changes.notices == [.leftIncomplete(run: run, segments: false)])
    #expect(scene.entries.map(\.run) == [run, second])
    #expect(scene.segments([1], of: run).isEmpty)
  }

  @Test func `a run without an init section does not hold up the next for ever`() {
    var scene = Scene()
    let second = Scene.run(1, after: 60)
    scene.stitcher.segmentArrived(Scene.name(0, of: run), in: run, at: scene.now)
    scene.segments([0], of: second)
    #expect(scene.entries.isEmpty)
    #expect(scene.pass(15).notices == [.leftIncomplete(run: run, segments: true)])
    #expect(scene.entries.map(\.run) == [second])
    #expect(scene.entries.first?.isDiscontinuity == false)
  }

  @Test func `the list ends when the count of an end marker is complete`() {
    var scene = Scene()
    scene.segments([0], of: run)
    scene.marker(2, .end, of: run)
    #expect(!scene.stitcher.playlist.isEnded)
    #expect(scene.segments([1], of: run).notices == [.ended])
    #expect(scene.stitcher.playlist.isEnded)
  }

  @Test func `a recording that goes on after its end is reopened`() {
    var scene = Scene()
    scene.segments([0], of: run)
    scene.marker(1, .end, of: run)
    let second = Scene.run(1, after: 60)
    #expect(scene.segments([0], of: second).notices == [.reopened])
    #expect(scene.entries.map(\.isDiscontinuity) == [false, true])
    scene.marker(1, .end, of: second)
    #expect(scene.stitcher.playlist.isEnded)
  }

  @Test func `silence ends the list after the idle time, and the next segment reopens it`() {
    var policy = StitchingPolicy()
    policy.idleEnd = .seconds(60)
    var scene = Scene(policy)
    scene.segments([0], of: run)
    #expect(scene.stitcher.deadline == scene.now + .seconds(60))
    #expect(scene.pass(59.9).isEmpty)
    #expect(scene.pass(0.2).notices == [.ended])
    #expect(scene.segments([1], of: run).notices == [.reopened])
  }

  @Test func `the window slides by whole segments and counts what leaves`() {
    var policy = StitchingPolicy()
    policy.window = .last(ticks: 20 * 90_000)
    var scene = Scene(policy)
    let second = Scene.run(1, after: 25)
    scene.segments(0..<5, of: run)
    #expect(scene.stitcher.playlist.mediaSequence == 1)
    scene.marker(5, .next, of: run)
    scene.segments(0..<4, of: second)
    #expect(scene.stitcher.playlist.mediaSequence == 5)
    #expect(scene.stitcher.playlist.discontinuitySequence == 0)
    scene.segments([4], of: second)
    #expect(scene.stitcher.playlist.mediaSequence == 6)
    #expect(scene.stitcher.playlist.discontinuitySequence == 1)
  }

  @Test func `the window never falls below three target durations`() {
    var policy = StitchingPolicy()
    policy.window = .last(ticks: 90_000)
    var scene = Scene(policy)
    scene.segments(0..<10, of: run)
    #expect(scene.stitcher.playlist.ticks == 3 * 450_000)
  }

  @Test func `a segment too long for the target duration is a gap as long as it`() {
    var scene = Scene()
    scene.segments([0], of: run)
    scene.stitcher.segmentArrived(Scene.name(1, of: run, ticks: 1_170_000), in: run, at: scene.now)
    let changes = scene.stitcher.advance(at: scene.now)
    #expect(changes.notices == [.overlong(run: run, name: Scene.name(1, of: run, ticks: 1_170_000))])
    #expect(scene.entries.dropFirst().allSatisfy { $0.isGap && $0.ticks <= 450_000 })
    #expect(scene.entries.dropFirst().reduce(0) { $0 + $1.ticks } == 1_170_000)
  }

  @Test func `names that claim impossible lengths or numbers do not grow the list`() {
    var scene = Scene()
    scene.segments([0], of: run)
    let long = SegmentName(sequence: 1, start: Scene.start, ticks: 999_999_999_999_999)
    let far = SegmentName(
      sequence: 99_999_998, start: WallClockTime(milliseconds: Scene.start.milliseconds + 100_000), ticks: 450_000)
    let last = SegmentName(sequence: 99_999_999, start: Scene.start, ticks: 450_000)
    for name in [long, far, last] { scene.stitcher.segmentArrived(name, in: run, at: scene.now) }
    scene.pass(15)
    #expect(scene.entries.count < 30)
    #expect(scene.entries.last?.name == last)
  }

  @Test func `a jump of the clock inside a run is a discontinuity, a clock set back is not shown`() {
    var scene = Scene()
    scene.segments([0], of: run)
    let ahead = SegmentName(sequence: 1, start: Scene.start.advanced(byTicks: 90_000 * 65), ticks: 450_000)
    let behind = SegmentName(sequence: 2, start: Scene.start, ticks: 450_000)
    for name in [ahead, behind] { scene.stitcher.segmentArrived(name, in: run, at: scene.now) }
    scene.pass(0)
    #expect(scene.entries.map(\.isDiscontinuity) == [false, true, false])
    #expect(scene.entries[1].date == ahead.start)
    #expect(scene.entries[2].date == ahead.start.advanced(byTicks: 450_000))
  }

  @Test(arguments: [Int64(-40), -3, 2, 40]) func `dates follow names that are slewed`(slew: Int64) throws {
    var scene = Scene()
    scene.stitcher.initSectionArrived(run)
    for number in 0..<20 {
      let start = run.start.milliseconds + Int64(number) * (5_000 + slew)
      scene.stitcher.segmentArrived(
        SegmentName(sequence: number, start: WallClockTime(milliseconds: start), ticks: 450_000), in: run, at: scene.now
      )
    }
    _ = scene.stitcher.advance(at: scene.now)
    #expect(scene.entries.map(\.date) == scene.entries.map(\.nameStart))
    #expect(scene.entries.allSatisfy { !$0.isDiscontinuity })
    let text = scene.stitcher.playlist.rendered()
    #expect(try MediaPlaylist(parsing: text) == scene.stitcher.playlist)
    func dates(_ list: MediaPlaylist) -> [Substring] {
      String(decoding: list.rendered(), as: UTF8.self).split(separator: "\n").filter { $0.contains("DATE-TIME") }
    }
    #expect(dates(scene.stitcher.playlist).count == 1, "what players count on has no break")
    // A sliding list is right where it begins.
    var later = scene.stitcher.playlist
    later.entries.removeFirst(3)
    #expect(dates(later) == ["#EXT-X-PROGRAM-DATE-TIME:\(scene.entries[3].nameStart.rfc3339)"])
  }

  @Test func `a run that overlaps the one before is dated after it`() {
    var scene = Scene()
    let second = Scene.run(1, after: 3)
    scene.segments([0], of: run)
    scene.marker(1, .next, of: run)
    scene.segments([0], of: second)
    #expect(scene.entries[1].date == Scene.start.advanced(byTicks: 450_000))
  }

  @Test func `a restart goes on where the published list ended`() throws {
    var policy = StitchingPolicy()
    policy.window = .last(ticks: 20 * 90_000)
    var scene = Scene(policy)
    scene.segments(0..<8, of: run)
    let published = try MediaPlaylist(parsing: scene.stitcher.playlist.rendered())
    #expect(published == scene.stitcher.playlist)
    scene.stitcher = Stitcher(policy: policy, resuming: published)
    scene.segments(0..<10, of: run)
    #expect(scene.numbers == [6, 7, 8, 9])
    #expect(scene.stitcher.playlist.mediaSequence == 6)
    #expect(scene.entries.allSatisfy { !$0.isDiscontinuity })
  }

  @Test func `an event list keeps only its tail in memory, and its text grows by what is added`() throws {
    var policy = StitchingPolicy()
    policy.window = .all
    var scene = Scene(policy)
    let first = scene.segments([0, 1, 2], of: run)
    var text = scene.stitcher.playlist.rendered()
    _ = scene.stitcher.takeAppended(first)
    for number in 3..<50 {
      let changes = scene.segments([number], of: run)
      text += MediaPlaylist.rendered(adding: scene.stitcher.takeAppended(changes))
      #expect(scene.entries.count == 1)
    }
    let whole = try MediaPlaylist(parsing: text)
    #expect(whole.kind == .event)
    #expect(whole.entries.map(\.sequence) == Array(0..<50))
    #expect(whole.mediaSequence == 0)
    #expect(text == whole.rendered())
  }

  @Test(arguments: [(450_000, 5), (450_450, 5), (180_000, 5), (540_000, 6), (525_000, 7), (470_000, 6)])
  func `the target duration leaves room where segments are not whole seconds`(ticks: Int64, expected: Int) {
    #expect(TargetDuration.choose(longest: ticks, reserved: nil) == expected)
  }

  @Test func `a reserved target duration holds unless a segment is longer`() {
    #expect(TargetDuration.choose(longest: 450_000, reserved: 8) == 8)
    #expect(TargetDuration.choose(longest: 900_000, reserved: 8) == 10)
    #expect(TargetDuration.choose(longest: 180_000, reserved: 2) == 2)
  }
}
