import LibAV
import Testing

@testable import Recording

@Suite struct `Segment cutter` {
  /// Cuts at which a source with key frames every `gop` frames of `frame` ticks would be cut, in frames.
  private func cuts(gop: Int64, frame: Int64, frames: Int64, tolerance: Int64 = 0) -> (segments: [Int64], chunks: Int) {
    var cutter = SegmentCutter(segment: 450_000, chunk: 90_000, tolerance: tolerance)
    var segments: [Int64] = []
    var chunks = 0
    for n in 0..<frames {
      switch cutter.cut(at: n * frame, canStart: n % gop == 0) {
      case .segment: segments.append(n)
      case .chunk: chunks += 1
      case .none: break
      }
    }
    return (segments, chunks)
  }

  @Test func `encoded segments are exact and have a chunk a second`() {
    let (segments, chunks) = cuts(gop: 125, frame: 3600, frames: 500)
    #expect(segments == [125, 250, 375])
    #expect(chunks == 16)
  }

  @Test func `copied segments begin at the first key frame at or after the line and average to the interval`() {
    // Key frames every 2 s.
    #expect(cuts(gop: 50, frame: 3600, frames: 800).segments == [150, 250, 400, 500, 650, 750])
    // Every 7 s.
    #expect(cuts(gop: 175, frame: 3600, frames: 800).segments == [175, 350, 525, 700])
  }

  @Test func `a clock in milliseconds shifts no cut by a frame`() {
    var cutter = SegmentCutter(segment: 450_000, chunk: 90_000, tolerance: 1500)
    var cuts: [Int64] = []
    for n in 0..<Int64(600) where cutter.cut(at: n * 1000 / 30 * 90, canStart: true) == .segment { cuts.append(n) }
    #expect(cuts == [150, 300, 450])
  }

  @Test func `sound alone is cut at the first packet after the line`() {
    var cutter = SegmentCutter(segment: 450_000, chunk: 90_000)
    var cuts: [Int64] = []
    for n in 0..<Int64(1000) where cutter.cut(at: n * 1920, canStart: true) == .segment { cuts.append(n * 1920) }
    #expect(cuts.map { $0 / 450_000 } == [1, 2, 3, 4])
    #expect(cuts.allSatisfy { $0 % 450_000 < 1920 })
  }
}

@Suite struct `Frame rate cap` {
  private func slots(_ times: [Int64], rate: RationalTime = RationalTime(25, 1)) -> [Int64?] {
    var cap = FrameRateCap(rate: rate)
    return times.map { cap.admit($0) }
  }

  @Test func `frames at the rate pass, on the grid`() {
    #expect(slots((0..<50).map { $0 * 3600 }) == (0..<50).map { $0 * 3600 })
  }

  @Test func `jitter of 15 ms neither drops nor doubles a frame`() {
    var random = SplitMix(seed: 1)
    var times: [Int64] = []
    var grid: [Int64] = []
    for n in 0..<Int64(500) {
      let jitter: Int64 = n == 0 ? 0 : Int64(random.next() % 2700) - 1350
      times.append(n * 3600 + jitter)
      grid.append(n * 3600)
    }
    let shown: [Int64] = slots(times).compactMap { $0 }
    #expect(shown == grid)
  }

  @Test func `sixty frames a second become twenty-five, each near its time`() {
    let times = (0..<Int64(600)).map { $0 * 1500 }
    let out = slots(times)
    #expect(abs(out.compactMap { $0 }.count - 250) <= 1)
    for (time, slot) in zip(times, out) { if let slot { #expect(abs(slot - time) <= 2200 && slot % 3600 == 0) } }
  }

  @Test func `a slot is given once, after holes and changes of rate too`() {
    var cap = FrameRateCap(rate: RationalTime(30, 1))
    var shown: [Int64] = []
    for n in 0..<Int64(400) where !(100..<150).contains(n) {
      if n == 200 { cap.change(to: RationalTime(15, 1)) }
      if let slot = cap.admit(n * 2990) { shown.append(slot) }
    }
    #expect(zip(shown, shown.dropFirst()).allSatisfy { $0 < $1 })
    let slow = shown.filter { $0 > 700_000 }
    #expect(zip(slow, slow.dropFirst()).allSatisfy { $1 - $0 == 6000 })
  }
}

@Suite struct `Refill` {
  private func repeats(_ policy: RefillPolicy, from: Int64, to: Int64, segmentStart: Int64) -> [Int64] {
    var times: [Int64] = []
    var last = from
    var line = segmentStart
    while let time = policy.repeatTime(after: last, before: to, segmentStart: line) {
      times.append(time)
      last = time
      if time >= line { line += 450_000 }
    }
    return times
  }

  @Test func `a static screen is shown again every half second and where segments begin`() {
    let policy = RefillPolicy(interval: 45_000, frame: 3000)
    #expect(repeats(policy, from: 0, to: 100_000, segmentStart: 450_000) == [45_000, 90_000])
    #expect(repeats(policy, from: 400_000, to: 540_000, segmentStart: 450_000) == [445_000, 450_000, 495_000])
  }

  @Test func `frames that come in time are left alone`() {
    let policy = RefillPolicy(interval: 45_000, frame: 3600)
    #expect(repeats(policy, from: 0, to: 3600, segmentStart: 450_000).isEmpty)
    #expect(repeats(policy, from: 446_400, to: 450_000, segmentStart: 450_000).isEmpty)
    #expect(repeats(policy, from: 447_000, to: 451_000, segmentStart: 450_000).isEmpty)
  }

  @Test func `without refill only the beginning of a segment is filled`() {
    let policy = RefillPolicy(interval: nil, frame: 3600)
    #expect(repeats(policy, from: 0, to: 1_000_000, segmentStart: 450_000) == [450_000, 900_000])
  }
}

@Suite struct `Overload` {
  @Test func `an encoder that is behind goes 30, 24, 15 and comes back`() {
    var policy = OverloadPolicy(full: RationalTime(30, 1))
    var rates: [Double] = []
    func seconds(_ count: Int, dropped: Int, busy: Double) {
      for _ in 0..<count {
        if case .change(let rate) = policy.observe(dropped: dropped, offered: 30, busy: busy, elapsed: .seconds(1)) {
          rates.append(rate.value)
        }
      }
    }
    seconds(2, dropped: 10, busy: 1)
    #expect(rates == [24, 15])
    seconds(30, dropped: 0, busy: 0.3)
    #expect(rates == [24, 15, 24, 30])
  }

  @Test func `an encoder at its limit does not swing`() {
    var policy = OverloadPolicy(full: RationalTime(30, 1))
    var changes = 0
    for _ in 0..<600 {
      // 24 a second is just too much.
      let tooMuch = policy.rate.value > 20
      if policy.observe(dropped: tooMuch ? 5 : 0, offered: 30, busy: tooMuch ? 1 : 0.5, elapsed: .seconds(1)) != .stay {
        changes += 1
      }
    }
    #expect(changes <= 12)
  }

  @Test func `single lost frames change nothing`() {
    var policy = OverloadPolicy(full: RationalTime(25, 1))
    #expect(policy.observe(dropped: 1, offered: 25, busy: 0.9, elapsed: .seconds(1)) == .stay)
  }
}

@Suite struct `Key frames` {
  @Test(arguments: [
    (groups: [Int](), since: 600, isOverdue: false, haveEnded: false),
    ([], 601, true, false),
    ([0], 100, false, false),
    ([0], 101, true, false),
    ([0, 49, 30], 148, true, false),
    ([0, 49, 30], 147, false, false),
    ([0, 20], 100, false, false),
    ([0, 49], 600, true, false),
    ([0, 49], 601, true, true),
    ([0, 250], 601, true, false),
    ([0, 250], 2500, true, false),
    ([0, 250], 2501, true, true),
  ])
  func `are missed by how far apart they were`(groups: [Int], since: Int, isOverdue: Bool, haveEnded: Bool) {
    var state = PictureGroups()
    for group in groups {
      for _ in 0..<group { state.note(isKey: false) }
      state.note(isKey: true)
    }
    for _ in 0..<since { state.note(isKey: false) }
    #expect(state.isOverdue == isOverdue && state.haveEnded == haveEnded && state.missing == since)
  }
}

@Suite struct `What cannot be decoded` {
  @Test func `is noticed after its time and some packets, and forgotten once some are decoded in a row`() {
    let start = ContinuousClock.now
    var watch = DecodeWatch(patience: .seconds(10))
    func feed(_ count: Int, from second: Int) -> [Duration] {
      (0..<count).compactMap { watch.take(at: start + .seconds(second) + .milliseconds($0 * 40)) }
    }
    func decode(_ count: Int, from second: Int) {
      for _ in 0..<count {
        #expect(feed(1, from: second).isEmpty)
        watch.produce()
      }
    }
    #expect(feed(240, from: 0).isEmpty)
    decode(4, from: 9)
    #expect(feed(2, from: 100).isEmpty, "a silent source is no undecodable one")
    #expect(feed(2, from: 200).isEmpty, "few packets say nothing")
    #expect(feed(30, from: 300).count == 9)
    watch.forget()
    #expect(feed(251, from: 400) == [.seconds(10)])
    watch.forget()
    // Another codec's packets.
    for second in 500..<509 {
      decode(1, from: second)
      #expect(feed(24, from: second).isEmpty)
    }
    #expect(feed(1, from: 511).count == 1)
    var patient = DecodeWatch(patience: nil)
    for second in 0..<1000 { #expect(patient.take(at: start + .seconds(second)) == nil) }
  }
}

@Suite struct `Interleaver order` {
  @Test func `samples leave in the order of their times once every track has shown what comes next`() {
    var interleaver = Interleaver<String>(tracks: 2, patience: 450_000)
    interleaver.add("v0", time: 0, track: 0)
    #expect(interleaver.next()?.element == nil)
    interleaver.add("a0", time: 0, track: 1)
    interleaver.add("a1", time: 1920, track: 1)
    interleaver.add("v1", time: 3600, track: 0)
    #expect(
      [interleaver.next()?.element, interleaver.next()?.element, interleaver.next()?.element] == ["v0", "a0", "a1"])
    #expect(interleaver.next() == nil)
    interleaver.end(track: 1)
    #expect(interleaver.next()?.element == "v1")
    #expect(interleaver.isEmpty)
  }

  @Test func `what comes back within patience is in its place among what waited for it`() {
    var interleaver = Interleaver<String>(tracks: 2, patience: 90_000)
    interleaver.add("picture", time: 0, track: 0)
    for second in 0..<Int64(3) { interleaver.add("sound \(second)", time: second * 90_000, track: 1) }
    var left: [String] = []
    while let sample = interleaver.next() { left.append(sample.element) }
    #expect(left == ["picture", "sound 0"])
    interleaver.add("picture late", time: 100_000, track: 0)
    while let sample = interleaver.next() { left.append(sample.element) }
    #expect(left == ["picture", "sound 0", "sound 1", "picture late"])
  }

  @Test func `no more than its capacity waits for a track that stays away`() {
    var interleaver = Interleaver<Int64>(tracks: 2, patience: .max, capacity: 1000)
    for n in 0..<Int64(50) {
      interleaver.add(n, time: n * 3600, bytes: 100, track: 0)
      if n < 10 { #expect(interleaver.next() == nil) }
      while let sample = interleaver.next() { #expect(sample.element == n - 10) }
    }
  }

  @Test func `for a track that falls silent each sample waits for as long as patience`() {
    var interleaver = Interleaver<Int64>(tracks: 2, patience: 90_000)
    interleaver.add(0, time: 0, track: 1)
    var left = 0
    for n in 0..<Int64(50) {
      interleaver.add(n, time: n * 3600, track: 0)
      while interleaver.next() != nil { left += 1 }
    }
    #expect(left == 25)
  }
}

extension Interleaver.Sample: Equatable where Element: Equatable {
  public static func == (a: Self, b: Self) -> Bool { (a.track, a.time, a.element) == (b.track, b.time, b.element) }
}

@Suite struct `Picture order` {
  /// Pictures in the order of decoding, a slot of 10 apart; what comes out, in that order.
  private func times(_ pictures: [(count: Int?, isStart: Bool, pts: Int64?)]) -> [Int64] {
    var order = PictureOrder()
    var times: [Int64] = []
    for (index, picture) in pictures.enumerated() {
      order.add(count: picture.count, startsSequence: picture.isStart, pts: picture.pts, slot: Int64(index) * 10)
      while let time = order.next() { times.append(time) }
    }
    order.finish()
    while let time = order.next() { times.append(time) }
    return times
  }

  @Test func `pictures are shown in the order of their count, which begins anew with each IDR`() {
    let group: [(count: Int?, isStart: Bool, pts: Int64?)] = [
      (0, true, nil), (8, false, nil), (4, false, nil), (2, false, nil), (6, false, nil),
    ]
    #expect(times(group + group) == [0, 40, 20, 10, 30, 50, 90, 70, 60, 80])
  }

  @Test func `more than a decoder can hold is not waited for, and a count that cannot be read comes last`() {
    var order = PictureOrder()
    for index in 0...16 { order.add(count: index, startsSequence: index == 0, pts: nil, slot: Int64(index)) }
    #expect(order.next() == 0 && order.next() == nil)
    #expect(times([(0, true, nil), (4, false, nil), (2, false, nil), (nil, false, nil)]) == [0, 20, 10, 30])
  }

  @Test func `a count that goes back below what was shown begins anew`() {
    let first = (0..<20).map { (count: Int?($0 * 2), isStart: $0 == 0, pts: Int64?.none) }
    let second: [(count: Int?, isStart: Bool, pts: Int64?)] = [(0, false, nil), (4, false, nil), (2, false, nil)]
    #expect(times(first + second).suffix(3) == [200, 220, 210])
  }

  @Test func `times that are known are kept, and those between follow them`() {
    #expect(
      times([(0, true, 100), (6, false, nil), (2, false, 110), (4, false, nil)]) == [100, 130, 110, 120])
  }
}

@Suite struct `Push gate` {
  @Test func `a full queue loses all up to a start that finds half of it free, and tells how much`() {
    var gate = PushGate(capacity: 8, byteCapacity: 1000)
    func admit(_ time: Int64, _ canStart: Bool, _ queued: Int, _ bytes: Int = 0) -> PushGate.Decision {
      gate.admit(at: time, canStart: canStart, queued: queued, bytes: bytes)
    }
    // Nothing before the first picture that decodes alone.
    #expect(admit(0, false, 0) == .drop)
    #expect(admit(10, true, 0) == .pass)
    #expect(admit(20, false, 7) == .pass)
    #expect(admit(30, false, 8) == .drop)
    #expect(admit(40, false, 0) == .drop)
    #expect(admit(50, true, 5) == .drop)
    #expect(admit(60, true, 4) == .passAfter(gap: 30))
    #expect(admit(70, false, 4, 999) == .pass)
    #expect(admit(80, true, 4, 1000) == .drop)
    #expect(admit(90, true, 4, 501) == .drop)
    #expect(admit(100, true, 4, 500) == .passAfter(gap: 20))
    #expect(admit(110, true, 0) == .pass)
  }
}

@Suite struct `Sound grid` {
  @Test func `holes are filled, overlaps dropped, rounding left alone`() {
    var grid = SoundGrid()
    #expect(grid.place(start: 480, count: 1024) == .fill(480))
    #expect(grid.place(start: 1505, count: 1024) == .fill(0))
    #expect(grid.place(start: 1505, count: 1024) == .drop)
    #expect(grid.place(start: 48_000, count: 1000) == .fill(48_000 - 2528))
    #expect(grid.next == 49_000)
    #expect(grid.fill(to: 50_000) == 1000)
    #expect(grid.fill(to: 50_000) == 0)
    #expect(grid.filled == 480 + 45_472 + 1000)
  }
}

@Suite struct `Lag of the writer` {
  @Test func `cuts one run when the queue is full, and takes the next when half is written`() {
    let start = ContinuousClock.now
    var lag = WriterLag()
    var verdicts: [WriterLag.Verdict] = []
    for (second, (run, waiting)) in [
      (0, 99), (0, 100), (0, 80), (0, 50), (1, 40), (1, 100), (2, 100), (3, 10), (3, 60),
    ]
    .enumerated() {
      verdicts.append(lag.judge(run: run, waiting: waiting, capacity: 100, now: start + .seconds(second)))
    }
    #expect(
      verdicts == [
        .take, .leaveFrom, .leave, .leaveUntilRun(1), .takeAgain(lost: .seconds(3)), .leaveFrom, .leave,
        .takeAgain(lost: .seconds(2)), .take,
      ])
    #expect(lag.end(now: start + .seconds(20)) == nil)
  }

  @Test func `is counted once when the recording ends in it, and what is held back of the run stays out`() {
    let start = ContinuousClock.now
    var lag = WriterLag()
    #expect(lag.judge(run: 0, waiting: 100, capacity: 100, now: start) == .leaveFrom)
    #expect(lag.end(now: start + .seconds(7)) == .seconds(7))
    #expect(lag.judge(run: 0, waiting: 90, capacity: 100, now: start + .seconds(8)) == .leave)
    #expect(lag.end(now: start + .seconds(9)) == nil)
  }
}
