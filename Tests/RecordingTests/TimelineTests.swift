import LibAV
import Testing

@testable import Recording

/// Feeds a timeline and keeps, per track and run, what was placed.
private struct Feed {
  var timeline: Timeline
  var placed: [[PlacedTimes]]
  var dropped: [Int]

  init(_ tracks: [TimelineTrack], _ policy: Timeline.Policy) {
    timeline = Timeline(tracks: tracks, policy: policy)
    placed = Array(repeating: [], count: tracks.count)
    dropped = Array(repeating: 0, count: tracks.count)
  }

  mutating func take(_ answers: [Timeline.Answer]) {
    for answer in answers {
      switch answer.placement {
      case .placed(let times): placed[answer.track].append(times)
      case .dropped: dropped[answer.track] += 1
      }
    }
  }
  mutating func place(_ dts: Int64, pts: Int64? = nil, key: Bool = true, duration: Int64 = 0, track: Int = 0) {
    take(
      timeline.place(SourceTimes(pts: pts ?? dts, dts: dts, duration: duration, isKey: key), track: track))
  }
  mutating func finish() { take(timeline.finish()) }
}

private let video = TimelineTrack(timeBase: .ticks, usualDuration: 3600, startsAtKey: true)
private let copiedVideo = TimelineTrack(
  timeBase: .ticks, usualDuration: 3600, startsAtKey: true, isCopied: true, setsOrigin: true)
private let sound = TimelineTrack(timeBase: RationalTime(1, 48_000), usualDuration: 1024)
private let soundTicks = TimelineTrack(timeBase: .ticks, usualDuration: 1920)

@Suite struct `Media timeline` {
  @Test(arguments: [Int64(24_000), 43_200, 47_520, 48_480])
  func `the first time becomes 0 for all tracks together, in whole frames of the picture`(start: Int64) {
    // The picture begins at 1 s; a frame lasts 40 ms, and what is left of one is cut from the sound.
    var feed = Feed([video, sound], .stored)
    for n in 0..<10 { feed.place(90_000 + Int64(n) * 3600, track: 0) }
    #expect(feed.placed[0].isEmpty, "nothing is placed before the sound is known")
    for n in 0..<10 { feed.place(start + Int64(n) * 1024, track: 1) }
    feed.finish()
    let lead = min(48_000, max(0, (48_000 - start) / 1920 * 1920))
    #expect(feed.placed[0].first?.pts == lead * 90 / 48)
    #expect(feed.placed[1].first?.pts == start - 48_000 + lead)
    #expect(feed.placed[0].count == 10)
  }

  @Test func `priming is not what a run begins with`() {
    var feed = Feed([video, sound], .stored)
    feed.place(0)
    feed.take(
      feed.timeline.place(SourceTimes(pts: -2112, dts: -2112, duration: 1024, skipped: 2112), track: 1))
    feed.finish()
    #expect(feed.placed[0].first?.pts == 0)
    #expect(feed.placed[1].first?.pts == -2112, "a decoder wants what comes before")
  }

  @Test func `a run begins with what is shown first, and what an edit hides is decoded before it`() {
    var feed = Feed([video, sound], .stored)
    for n in 0..<10 {
      feed.take(
        feed.timeline.place(
          SourceTimes(pts: Int64(n - 4) * 3600, dts: Int64(n - 4) * 3600, isKey: n == 0, isHidden: n < 4), track: 0))
      if n == 2 { feed.take(feed.timeline.place(SourceTimes(pts: 0, dts: 0), track: 1)) }
      #expect(feed.placed[0].isEmpty == (n < 4), "what is hidden tells no origin")
    }
    feed.finish()
    #expect(feed.placed[0].first?.pts == -4 * 3600)
    #expect(feed.placed[0].count == 10)
    #expect(feed.placed[1].first?.pts == 0)
  }

  @Test func `a copied run begins with its first key frame and drops what comes before in either track`() {
    var feed = Feed(
      [
        copiedVideo,
        {
          var s = soundTicks; s.isCopied = true; return s
        }(),
      ], .streamed)
    for n in 0..<50 {
      feed.place(Int64(n) * 1920, track: 1)
      if n < 25 { feed.place(Int64(n) * 3600, key: n == 10, track: 0) }
    }
    feed.finish()
    #expect(feed.placed[0].first == PlacedTimes(run: 0, pts: 0, dts: 0, duration: 3600))
    #expect(feed.dropped[0] == 10)
    #expect(feed.placed[1].first?.pts == -1440, "something of it is heard from the first picture on")
    #expect(feed.timeline.leftOut == 400_000)
  }

  @Test func `a copied picture that begins long after the sound is shown from the start`() {
    var feed = Feed(
      [
        copiedVideo,
        {
          var s = soundTicks; s.isCopied = true; return s
        }(),
      ], .stored)
    for n in 0..<Int64(200) { feed.place(n * 1920, track: 1) }
    for n in 0..<Int64(5) { feed.place(450_000 - 7200 + n * 3600, pts: 450_000 + n * 3600, key: n == 0, track: 0) }
    feed.finish()
    #expect(feed.placed[1].first?.pts == 0 && feed.dropped == [0, 0] && feed.timeline.leftOut == 0)
    #expect(feed.placed[0].map(\.pts) == [0, 453_600, 457_200, 460_800, 464_400])
    #expect(feed.placed[0].map(\.dts) == [-7200, 446_400, 450_000, 453_600, 457_200])
  }

  @Test func `a picture that comes when its run has begun without it begins the next one`() {
    var feed = Feed([video, soundTicks], .streamed)
    for n in 0..<Int64(1000) { feed.place(n * 1920, track: 1) }
    for n in 0..<Int64(60) {
      feed.place((1000 + n) * 1920, key: n % 20 == 3, track: 0)
      feed.place((1000 + n) * 1920, track: 1)
    }
    feed.finish()
    #expect(feed.dropped == [3, 0])
    #expect(feed.placed[0].map(\.run) == Array(repeating: 1, count: 57) && feed.placed[0].first?.pts == 0)
    #expect(feed.placed[1].filter { $0.run == 1 }.map(\.pts) == (0..<57).map { Int64($0) * 1920 })
  }

  @Test(arguments: [0, 1, 2])
  func `decode times that no container tells are presentation times in order, however deep the reordering`(known: Int) {
    var track = copiedVideo
    track.reorderDepth = Int64(known)
    var feed = Feed([track], .stored)
    // Slides of 20 s: I P B B, I P B B, with two pictures of reordering.
    let shown: [Int64] = [0, 3, 2, 1, 4, 7, 6, 5]
    feed.timeline.deepen(0, to: 2)
    for (index, place) in shown.enumerated() {
      feed.take(
        feed.timeline.place(
          SourceTimes(pts: place * 1_800_000, dts: nil, duration: 1_800_000, isKey: index % 4 == 0), track: 0))
    }
    feed.finish()
    #expect(feed.placed[0].map(\.pts) == shown.map { $0 * 1_800_000 })
    #expect(feed.placed[0].allSatisfy { $0.run == 0 } && feed.timeline.repairs == 0)
    #expect(feed.placed[0][4].pts - feed.placed[0][4].dts < 100_000, "a cut lies where its picture is shown")
  }

  /// Pictures with a reordering of two, beside sound; some of the pictures' times are wrong.
  @Test(
    arguments: [(0, -90_000), (0, 90_000), (-90_000, -90_000), (-450_000, -450_000), (-45_100, -45_100)],
    [1, 30, 600])
  func `pictures that leap alone for a while are where they were afterwards`(by: (pts: Int64, dts: Int64), count: Int) {
    var feed = Feed([video, soundTicks], .streamed)
    for n in 0..<Int64(1200) {
      let isWrong = (300..<300 + count).contains(Int(n))
      feed.place(
        n * 3600 + (isWrong ? by.dts : 0), pts: n * 3600 + 7200 + (isWrong ? by.pts : 0), key: n % 25 == 0, track: 0)
      for m in 0..<2 { feed.place(n * 3600 + 7200 + Int64(m) * 1800, track: 1) }
    }
    feed.finish()
    #expect(feed.timeline.run == 0 && feed.placed[0].count == 1200)
    #expect(feed.placed[0].last?.pts == 1199 * 3600 && feed.placed[1].last?.pts == 1199 * 3600 + 1800)
    if by.pts == 0 { #expect(feed.placed[0].map(\.pts) == (0..<1200).map { Int64($0) * 3600 }) }
    for index in 1..<1200 { #expect(feed.placed[0][index].dts > feed.placed[0][index - 1].dts) }
  }

  @Test func `decode times that stand still go on as pictures are shown`() {
    var feed = Feed([video], .streamed)
    for n in 0..<Int64(300) {
      feed.place((100..<200).contains(n) ? 360_000 : n * 3600, pts: n * 3600 + 7200, key: n % 25 == 0)
    }
    feed.finish()
    #expect(feed.placed[0].map(\.pts) == (0..<300).map { Int64($0) * 3600 })
    #expect(zip(feed.placed[0], feed.placed[0].dropFirst()).allSatisfy { $1.dts - $0.dts == 3600 })
  }

  @Test func `leading pictures of an open group go, reordered ones stay`() {
    var feed = Feed([copiedVideo], .stored)
    feed.place(0, pts: 7200)
    feed.place(3600, pts: 3600, key: false)
    feed.place(7200, pts: 14_400, key: false)
    feed.place(10_800, pts: 10_800, key: false)
    feed.finish()
    #expect(feed.placed[0].map(\.pts) == [0, 7200, 3600])
    #expect(feed.placed[0].map(\.dts) == [-7200, 0, 3600])
    #expect(feed.dropped[0] == 1)
  }

  @Test(arguments: [Int64(1) << 33, 1 << 32, 1 << 31], [1, 2])
  func `counters that wrap go on`(period: Int64, reorder: Int64) {
    var feed = Feed([video, soundTicks], .streamed)
    let start = period - 5 * 90_000
    for n in 0..<Int64(300) {
      // Presentation times wrap before decode times do.
      let dts = (start + n * 3600) % period
      let pts = (start + (n + reorder) * 3600) % period
      feed.place(dts, pts: pts, track: 0)
      for half in 0..<Int64(2) where n * 3600 + half * 1800 >= 0 {
        feed.place((start + n * 3600 + half * 1800) % period, duration: 1800, track: 1)
      }
    }
    feed.finish()
    let frames: [Int64] = (0..<300).map { $0 * 3600 }
    let halves: [Int64] = (0..<600).map { $0 * 1800 }
    #expect(feed.placed[0].map(\.dts) == frames)
    #expect(feed.placed[0].allSatisfy { $0.run == 0 && $0.pts == $0.dts + reorder * 3600 })
    #expect(feed.placed[1].map(\.pts) == halves)
    #expect(feed.timeline.repairs == 0)
  }

  @Test(arguments: [Int64(-9_800), 37_600, 7_200, -2], [1, 3])
  func `single packets hours away are put back in their place`(seconds: Int64, count: Int64) {
    var feed = Feed([video, soundTicks], .streamed)
    for n in 0..<Int64(100) {
      let wrong = (40..<40 + count).contains(n)
      feed.place(n * 3600 + (wrong ? seconds * 90_000 : 0), track: 0)
      feed.place(n * 3600, duration: 3600, track: 1)
    }
    feed.finish()
    let frames: [Int64] = (0..<100).map { $0 * 3600 }
    #expect(feed.placed[0].map(\.pts) == frames)
    #expect(feed.placed[0].allSatisfy { $0.run == 0 })
  }

  @Test(arguments: [180_000, -180_000, 648_000_000, -3_000_000] as [Int64])
  func `a jump of all clocks begins a run in which each packet has its place`(jump: Int64) {
    var feed = Feed([video, soundTicks], .streamed)
    let base: Int64 = 10_000_000
    // Sound is stored 0.4 s behind the picture, as in transport streams.
    for n in 0..<Int64(310) {
      if n < 300 { feed.place(base + n * 3600 + (n >= 150 ? jump : 0), key: n % 25 == 0, track: 0) }
      let m = n - 10
      if m >= 0 { feed.place(base + m * 3600 + (m >= 150 ? jump : 0), duration: 3600, track: 1) }
    }
    feed.finish()
    for track in 0...1 {
      let expected = (0..<Int64(300)).map { n in
        PlacedTimes(run: n / 150 == 0 ? 0 : 1, pts: n % 150 * 3600, dts: n % 150 * 3600, duration: 3600)
      }
      #expect(feed.placed[track] == expected, "track \(track)")
    }
  }

  @Test func `a jump between key frames drops what cannot be decoded`() {
    var feed = Feed([copiedVideo], .streamed)
    for n in 0..<Int64(100) { feed.place(n * 3600 + (n >= 60 ? 9_000_000 : 0), key: n % 25 == 0) }
    feed.finish()
    let frames: [Int64] = (0..<25).map { $0 * 3600 }
    #expect(feed.placed[0].filter { $0.run == 1 }.map(\.pts) == frames)
    #expect(feed.dropped[0] == 15)
  }

  @Test func `a hole in one track alone is a hole`() {
    var feed = Feed([video, soundTicks], .streamed)
    for n in 0..<Int64(300) {
      feed.place(n * 3600, track: 0)
      if !(100..<180).contains(n) { feed.place(n * 3600, duration: 3600, track: 1) }
    }
    feed.finish()
    let there: [Int64] = (0..<300).filter { !(100..<180).contains($0) }
    #expect(feed.placed[1].map(\.pts) == there.map { $0 * 3600 })
    #expect(feed.placed[1].allSatisfy { $0.run == 0 })
  }

  @Test func `one track whose clock leaps back alone goes on where it was`() {
    var feed = Feed([video, soundTicks], .streamed)
    for n in 0..<Int64(300) {
      feed.place(n * 3600, track: 0)
      feed.place(n * 3600 - (n >= 100 ? 450_000 : 0), duration: 3600, track: 1)
    }
    feed.finish()
    let frames: [Int64] = (0..<300).map { $0 * 3600 }
    #expect(feed.placed[1].map(\.pts) == frames)
  }

  @Test func `stored media may pause where a stream may not`() {
    for (policy, runs) in [(Timeline.Policy.stored, 0), (.streamed, 1)] {
      var feed = Feed([video], policy)
      for n in 0..<Int64(20) { feed.place(n * 3600 + (n >= 10 ? 20 * 90_000 : 0)) }
      feed.finish()
      #expect(feed.placed[0].last?.run == runs)
    }
  }

  @Test func `a live source that was silent as long as its clock says has paused, else it has jumped`() {
    for (waited, runs) in [(20, 0), (1, 1)] {
      var feed = Feed([video], .streamed)
      for n in 0..<Int64(20) {
        let pause = n >= 10 ? Int64(20) : 0
        let arrival = Duration.milliseconds(n * 40) + .seconds(n >= 10 ? waited : 0)
        feed.take(
          feed.timeline.place(
            SourceTimes(pts: n * 3600 + pause * 90_000, dts: n * 3600 + pause * 90_000, arrival: arrival), track: 0))
      }
      feed.finish()
      #expect(feed.placed[0].last?.run == runs)
    }
  }

  @Test func `decode times that are missing at the start are those before the first that is there`() {
    var track = copiedVideo
    track.reorderDepth = 2
    var feed = Feed([track], .stored)
    let pts: [Int64] = [1800, 12_600, 5400, 9000, 23_400, 16_200, 19_800]
    for (index, time) in pts.enumerated() {
      let dts = index < 2 ? nil : 1800 + Int64(index - 2) * 3600
      feed.take(
        feed.timeline.place(SourceTimes(pts: time, dts: dts, duration: 3600, isKey: index == 0), track: 0))
    }
    feed.finish()
    #expect(feed.placed[0].map(\.dts) == [-7200, -3600, 0, 3600, 7200, 10_800, 14_400])
    #expect(feed.placed[0].map(\.pts) == pts.map { $0 - 1800 })
    #expect(feed.timeline.repairs == 0)
  }

  @Test func `a presentation time that is missing is as far from its decode time as the others are`() {
    var feed = Feed([video], .stored)
    for (index, pts) in ([3600, 7200, nil, 14_400] as [Int64?]).enumerated() {
      let times = SourceTimes(pts: pts, dts: Int64(index) * 3600, duration: 3600)
      feed.take(feed.timeline.place(times, track: 0))
    }
    feed.finish()
    #expect(feed.placed[0].map(\.pts) == [0, 3600, 7200, 10_800])
    #expect(feed.timeline.repairs == 0)
  }

  @Test func `equal and backward decode times are moved on by a tick`() {
    var feed = Feed([video], .stored)
    for time in [0, 3600, 3600, 3600, 7200, 5000, 10_800] as [Int64] { feed.place(time) }
    feed.finish()
    #expect(feed.placed[0].map(\.dts) == [0, 3600, 3601, 3602, 7200, 7201, 10_800])
    #expect(Set(feed.placed[0].map(\.pts)).count == 7)
    #expect(feed.timeline.repairs == 3)
  }

  @Test func `several inputs are moved on instead of beginning runs`() {
    var policy = Timeline.Policy.streamed
    policy.jumpsBeginRuns = false
    var feed = Feed([video], policy)
    for n in 0..<Int64(20) { feed.place(n * 3600 + (n >= 10 ? 900_000_000 : 0)) }
    feed.finish()
    let frames: [Int64] = (0..<20).map { $0 * 3600 }
    #expect(feed.placed[0].map(\.pts) == frames)
  }

  @Test func `a track that never comes does not hold the others for ever`() {
    var feed = Feed([video, sound], .streamed)
    for n in 0..<Int64(100) { feed.place(n * 3600, track: 0) }
    #expect(feed.placed[0].count == 100)
    var late = Feed([sound, video], .streamed)
    for n in 0..<Int64(1000) { late.place(n * 1024, track: 0) }
    #expect(late.placed[0].count == 1000)
  }

  @Test func `sound from long before the picture is cut where the picture cannot be made to last`() {
    var feed = Feed([video, sound], .stored)
    feed.place(0, duration: 1024, track: 1)
    feed.place(300 * 90_000, track: 0)
    feed.finish()
    #expect(feed.placed[0].first?.pts == 10_800_000, "two minutes of lead-in")
    #expect(feed.timeline.leftOut == 180_000_000)
  }

  /// Whatever comes in: every packet is answered once, in order; decode times increase in each run; runs do not go back.
  @Test func `any input comes out in order`() {
    var random = SplitMix(seed: 7)
    for _ in 0..<200 {
      var feed = Feed(
        [random.next() % 2 == 0 ? video : copiedVideo, soundTicks], random.next() % 2 == 0 ? .stored : .streamed)
      var clocks: [Int64] = [Int64(random.next() % 1_000_000), Int64(random.next() % 1_000_000)]
      var given = [0, 0]
      for _ in 0..<300 {
        let track = Int(random.next() % 2)
        switch random.next() % 40 {
        case 0: clocks[track] += Int64(bitPattern: random.next() >> 20) - (1 << 43)
        case 1: clocks[track] -= Int64(random.next() % 200_000)
        case 2: clocks[track] = Int64(bitPattern: random.next()) >> 2
        default: clocks[track] += Int64(random.next() % 7200)
        }
        let times = SourceTimes(
          pts: random.next() % 9 == 0 ? nil : clocks[track] + Int64(random.next() % 3) * 3600,
          dts: random.next() % 9 == 0 ? nil : clocks[track], duration: Int64(random.next() % 4000),
          isKey: random.next() % 5 == 0)
        given[track] += 1
        feed.take(feed.timeline.place(times, track: track))
      }
      feed.finish()
      for track in 0...1 {
        #expect(feed.placed[track].count + feed.dropped[track] == given[track])
        for (a, b) in zip(feed.placed[track], feed.placed[track].dropFirst()) {
          #expect(a.run < b.run || a.run == b.run && a.dts < b.dts)
          #expect(b.pts >= b.dts)
        }
      }
    }
  }
}

struct SplitMix: RandomNumberGenerator {
  var state: UInt64
  init(seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
