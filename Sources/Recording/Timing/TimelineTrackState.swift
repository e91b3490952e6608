import LibAV

/// Times of one packet, complete and unwrapped, in the source's clock.
struct HeldTimes: Equatable, Sendable {
  var pts: Int64
  var dts: Int64
  var duration: Int64
  var skipped: Int64
  var isKey: Bool
  var isHidden: Bool
  var arrival: Duration?
}

/// What the timeline remembers of one track.
struct TimelineTrackState: Sendable {
  let info: TimelineTrack
  /// Packets without an answer: before the run has an origin, or doubtful ones.
  var held: [HeldTimes] = []
  /// The held packets agree on another clock.
  var hasJumped = false
  var hasEnded = false
  /// Decode time, in the source's clock, at which the packet placed last ends; nil at the start of a run.
  private(set) var expected: Int64?
  /// Decode time of that packet.
  private var placed: Int64 = 0

  private var unwrapper: Unwrapper
  /// Times beyond 3000 years are noise, and sums of them would overflow.
  private let limit: Int64
  private var lastSeen: Int64?
  /// Presentation less decode time, where that has been one and the same so far.
  private var delay: Int64?
  private var delayVaries = false
  private var lastArrival: Duration?
  /// Source's time of the run's origin.
  private var offset: Int64 = 0
  /// By how much it was changed because this track alone leapt.
  private var moved: Int64 = 0
  private var lastDTS: Int64?
  private var lastPTS: Int64?
  private var firstPTS: Int64?
  /// Decode times lie below presentation times by this at the start of the run.
  private var firstDelay: Int64 = 0
  /// Presentation times not yet given away as decode times, lowest first, and how many are kept back.
  private var recent: [Int64] = []
  private var depth: Int64

  init(_ info: TimelineTrack) {
    self.info = info
    depth = info.reorderDepth
    unwrapper = Unwrapper(timeBase: info.timeBase)
    limit = RationalTime(1_000_000_000, 1).convert(100, to: info.timeBase)
  }

  mutating func deepen(to depth: Int64) { self.depth = max(self.depth, depth) }

  /// Nothing has been placed of a track that can begin at a key frame only.
  var mustBegin: Bool { info.startsAtKey && expected == nil }

  /// The first packet of which something is seen or heard.
  var firstShown: HeldTimes? { held.first { !$0.isHidden } }

  /// By how much the track's first sound lies before `origin`, in microseconds.
  func isAhead(of origin: (time: Int64, timeBase: RationalTime)) -> Int64 {
    guard !info.startsAtKey, let first = firstShown else { return 0 }
    return origin.timeBase.convert(origin.time, to: .microseconds) - microseconds(first.pts + first.skipped)
  }

  /// How far behind its end the track goes on, in microseconds.
  var leap: Int64? { held.first.flatMap { next in expected.map { microseconds(next.dts - $0) } } }

  func microseconds(_ time: Int64) -> Int64 { info.timeBase.convert(time, to: .microseconds) }
  private func duration(_ ticks: Int64) -> Duration { .microseconds(microseconds(ticks)) }

  /// Media time of the held packets.
  var heldSpan: Duration {
    guard let first = held.first, let last = held.last else { return .zero }
    return duration(last.dts - first.dts)
  }

  mutating func normalize(_ times: SourceTimes) -> HeldTimes {
    let duration = times.duration > 0 && isPossible(times.duration) ? times.duration : info.usualDuration
    let presented = times.pts.flatMap { isPossible($0) ? $0 : nil }
    let decoded = times.dts.flatMap { isPossible($0) ? $0 : nil }
    var dts: Int64
    var pts: Int64
    if let decoded {
      dts = unwrapper.unwrap(decoded)
      if let presented {
        pts = unwrapper.align(pts: presented, raw: decoded, unwrapped: dts)
        // Presentation goes on where decoding stands still, goes back or comes too late: only the decode time is wrong.
        if let lastSeen, dts <= lastSeen - duration || dts > pts,
          pts >= lastSeen - duration, pts <= lastSeen + ticks(milliseconds: 1000)
        {
          dts = min(pts, lastSeen)
        }
        if let delay, delay != pts - dts { delayVaries = true }
        delay = pts - dts
      } else {
        pts = dts + (delayVaries ? 0 : delay ?? 0)
      }
    } else if let presented {
      pts = unwrapper.unwrap(presented)
      dts = decodeTime(pts, duration)
    } else {
      dts = lastSeen ?? 0
      pts = dts
    }
    if pts < dts { pts = dts }
    lastSeen = dts + duration
    return HeldTimes(
      pts: pts, dts: dts, duration: duration, skipped: times.skipped, isKey: times.isKey,
      isHidden: times.isHidden, arrival: times.arrival)
  }

  /// The decode time of a picture of which only the presentation time is known (Matroska): pictures are decoded in the
  /// rhythm in which they are shown, ahead by as many as are reordered.
  private mutating func decodeTime(_ pts: Int64, _ duration: Int64) -> Int64 {
    if let last = recent.last, abs(pts - last) > ticks(milliseconds: 60_000) { recent = [] }
    recent.insert(pts, at: recent.firstIndex { $0 > pts } ?? recent.count)
    let missing = depth + 1 - Int64(recent.count)
    if missing > 0 { return recent[0] - missing * min(duration, ticks(milliseconds: 100)) }
    // The header said too little: this one is shown before what has been decoded.
    if let lastSeen, recent[0] < lastSeen - duration { depth = min(depth + 1, 16) }
    return recent.removeFirst()
  }

  private func ticks(milliseconds: Int64) -> Int64 { RationalTime(1, 1000).convert(milliseconds, to: info.timeBase) }

  private func isPossible(_ time: Int64) -> Bool { time >= -limit && time <= limit }

  mutating func begin(at offset: Int64) {
    self.offset = offset
    moved = 0
    expected = nil
    lastDTS = nil
    lastPTS = nil
    firstPTS = nil
    lastArrival = nil
  }

  /// True when the packet follows the one placed last, with at most a hole between.
  func fits(_ packet: HeldTimes, _ policy: Timeline.Policy) -> Bool {
    guard let expected else { return true }
    let delta = duration(packet.dts - expected)
    // Before the end of the packet placed last, but not before its start: that one claims too much.
    let isAfter = delta >= .zero - policy.maximumStepBack || packet.dts >= placed
    if isAfter && delta <= policy.maximumHole { return true }
    guard delta > .zero, let arrival = packet.arrival, let lastArrival else { return false }
    // A live source that was silent for as long as its clock says.
    let waited = arrival - lastArrival
    return delta < waited + waited / 8 + .seconds(1)
  }

  /// How many of the held packets, counted from the last, follow one another.
  func agreeingSuffix(_ policy: Timeline.Policy) -> Int {
    var count = held.isEmpty ? 0 : 1
    while count < held.count {
      let later = held[held.count - count]
      let earlier = held[held.count - count - 1]
      let delta = duration(later.dts - earlier.dts - earlier.duration)
      let isAfter = delta >= .zero - policy.maximumStepBack || later.dts >= earlier.dts
      guard isAfter && delta <= min(policy.maximumHole, .seconds(1)) else { break }
      count += 1
    }
    return count
  }

  /// True when this track has gone on for `span` after the moment at which `other` jumped.
  func hasPassed(_ other: TimelineTrackState, by span: Duration) -> Bool {
    guard held.isEmpty, let expected, let otherExpected = other.expected else { return false }
    let here = microseconds(expected - offset)
    let there = other.microseconds(otherExpected - other.offset)
    return .microseconds(here - there) > span
  }

  func isHole(_ packet: HeldTimes?, upTo limit: Duration) -> Bool {
    guard let packet, let expected else { return true }
    let delta = duration(packet.dts - expected)
    return delta >= .zero && delta <= limit
  }

  /// Makes `packet` follow the one placed last, and all after it.
  mutating func shift(to packet: HeldTimes?) {
    guard let packet, let expected else { return }
    moved += packet.dts - expected
    offset += packet.dts - expected
  }

  /// True when the clock of the packet is the one before that of the held packets.
  func isBack(with packet: HeldTimes) -> Bool {
    guard let expected, let first = held.first, let last = held.last else { return false }
    let next = last.dts + last.duration
    let back = abs(packet.dts - expected - (next - first.dts))
    return back < abs(packet.dts - next) && back <= ticks(milliseconds: 100)
  }

  /// A track that leapt alone, and was moved on, is on its clock again from this packet on: what follows lies where it
  /// would have without the leap.
  mutating func comeBack(with packet: HeldTimes) {
    guard moved != 0, let expected else { return }
    let away = packet.dts - expected
    guard abs(away + moved) < abs(away), abs(away + moved) <= ticks(milliseconds: 100) else { return }
    offset -= moved
    placed -= moved
    self.expected = expected - moved
    moved = 0
  }

  mutating func place(_ packet: HeldTimes, run: Int) -> (placement: Placement, wasRepaired: Bool) {
    placed = packet.dts
    expected = packet.dts + packet.duration
    if let arrival = packet.arrival { lastArrival = arrival }
    var dts = packet.dts - offset
    var pts = packet.pts - offset
    var duration = packet.duration
    // A packet of which something is heard from the origin on is kept.
    if info.isCopied && pts + (info.startsAtKey ? 1 : packet.duration) <= 0 { return (.dropped, false) }
    if info.startsAtKey {
      if let firstPTS {
        if pts < firstPTS { return (.dropped, false) }
        // Pictures that are shown for seconds would be decoded as many too early: where decoding begins a cut may lie.
        if packet.isKey && pts - dts > firstDelay + ticks(milliseconds: 500) { dts = pts - firstDelay }
        if let lastDTS, dts <= lastDTS && lastDTS < pts { dts = lastDTS + 1 }
      } else {
        firstPTS = pts
        firstDelay = pts - dts
        if info.setsOrigin {
          // Shown from the start, while what is heard begins before it.
          duration += pts
          pts = 0
          dts = -firstDelay
        }
      }
    }
    var wasRepaired = false
    if let lastDTS, dts <= lastDTS {
      dts = lastDTS + 1
      wasRepaired = true
    }
    if pts < dts { pts = dts }
    // Two pictures cannot be shown at one time.
    if pts == lastPTS {
      pts += 1
      wasRepaired = true
    }
    lastDTS = dts
    lastPTS = pts
    return (.placed(PlacedTimes(run: run, pts: pts, dts: dts, duration: duration)), wasRepaired)
  }
}

extension Duration {
  /// Whole microseconds, towards zero.
  var microseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
  }

  /// In 90 kHz ticks, to the nearest.
  var ticks: Int64 { RationalTime.microseconds.convert(microseconds, to: .ticks) }
}
