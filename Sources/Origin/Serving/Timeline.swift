import HLS

/// One run's time as its segments' names tell it: spans of what is there, of what came late, and of what is missing.
/// Grows segment by segment, in the order of their numbers. Pure.
struct Timeline: Equatable, Sendable {
  enum Kind: Int64, Sendable {
    case present = 0
    /// Came so long after its own end that live viewers have not seen it.
    case late = 1
    case missing = 2
  }

  struct Span: Equatable, Sendable {
    let kind: Kind
    let start: WallClockTime
    var milliseconds: Int64
    var segments: Int
  }

  struct Segment: Equatable, Sendable {
    let name: SegmentName
    /// Milliseconds since the epoch.
    let arrival: Int64
  }

  private(set) var spans: [Span] = []
  /// How long after their ends the last twelve segments came, in milliseconds, by number. Negative where the recorder's
  /// clock is ahead of this one's.
  private(set) var delays: [Int64] = []

  /// How long after its end a segment counts as late, in milliseconds.
  static let lateAfter: Int64 = 30_000

  /// The number that would follow.
  private(set) var next = 0
  private var end: WallClockTime?

  /// Adds a segment; nothing where one of its number or a later one has been added.
  mutating func add(_ segment: Segment) {
    let name = segment.name
    guard name.sequence >= next else { return }
    if name.sequence > next {
      let hole = name.sequence - next
      // Before the first one that came, a hole has no known start: it is drawn as long as its neighbour says.
      let milliseconds = end.map { max(0, name.start.milliseconds(since: $0)) } ?? Int64(hole) * name.ticks / 90
      add(
        Span(
          kind: .missing, start: end ?? WallClockTime(milliseconds: name.start.milliseconds - milliseconds),
          milliseconds: milliseconds, segments: hole))
    }
    let finish = name.start.advanced(byTicks: name.ticks)
    let delay = segment.arrival - finish.milliseconds
    if delays.count == 12 { delays.removeFirst() }
    delays.append(delay)
    add(
      Span(
        kind: delay > Timeline.lateAfter ? .late : .present, start: name.start,
        milliseconds: finish.milliseconds(since: name.start), segments: 1))
    end = finish
    next = name.sequence + 1
  }

  /// The spans of a run that is known to have `expected` segments.
  func spans(expected: Int?) -> [Span] {
    guard let expected, expected > next, let end, let last = spans.last, last.segments > 0 else { return spans }
    let missing = expected - next
    return spans + [
      Span(
        kind: .missing, start: end, milliseconds: last.milliseconds / Int64(last.segments) * Int64(missing),
        segments: missing)
    ]
  }

  private mutating func add(_ span: Span) {
    guard var last = spans.last, last.kind == span.kind else {
      spans.append(span)
      return
    }
    last.milliseconds = span.start.milliseconds(since: last.start) + span.milliseconds
    last.segments += span.segments
    spans[spans.count - 1] = last
  }
}
