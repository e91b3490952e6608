import HLS

/// One rendition's time as its segments' names tell it: spans of what is there, of what came late, and of what is
/// missing. Pure.
struct Timeline: Equatable, Sendable {
  enum Kind: Int64, Sendable {
    case present = 0
    /// Came so long after its own end that live viewers have not seen it.
    case late = 1
    case missing = 2
  }

  struct Span: Equatable, Sendable {
    let kind: Kind
    /// Counts from 0 over the runs, oldest first.
    let run: Int
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
  /// How long after their ends the last twelve segments of the newest run came, in milliseconds, by number. Negative
  /// where the recorder's clock is ahead of this one's.
  private(set) var delays: [Int64] = []

  /// How long after its end a segment counts as late, in milliseconds.
  static let lateAfter: Int64 = 30_000

  /// Adds the next run. Segments come in any order; the first of a number counts.
  mutating func append(run: Int, segments: [Segment], expected: Int?) {
    var next = 0
    var end: WallClockTime?
    let ordered = segments.sorted { $0.name < $1.name }
    delays = ordered.suffix(12).map { $0.arrival - $0.name.start.advanced(byTicks: $0.name.ticks).milliseconds }
    for segment in ordered {
      let name = segment.name
      guard name.sequence >= next else { continue }
      if name.sequence > next {
        let hole = name.sequence - next
        // Before the first one that came, a hole has no known start: it is drawn as long as its neighbour says.
        let milliseconds = end.map { max(0, name.start.milliseconds(since: $0)) } ?? Int64(hole) * name.ticks / 90
        add(
          Span(
            kind: .missing, run: run, start: end ?? WallClockTime(milliseconds: name.start.milliseconds - milliseconds),
            milliseconds: milliseconds, segments: hole))
      }
      let finish = name.start.advanced(byTicks: name.ticks)
      let isLate = segment.arrival - finish.milliseconds > Timeline.lateAfter
      add(
        Span(
          kind: isLate ? .late : .present, run: run, start: name.start,
          milliseconds: finish.milliseconds(since: name.start),
          segments: 1))
      end = finish
      next = name.sequence + 1
    }
    if let expected, expected > next, let end, let last = spans.last, last.segments > 0 {
      let each = last.milliseconds / Int64(last.segments)
      add(
        Span(
          kind: .missing, run: run, start: end, milliseconds: each * Int64(expected - next), segments: expected - next))
    }
  }

  private mutating func add(_ span: Span) {
    guard var last = spans.last, last.kind == span.kind, last.run == span.run else {
      spans.append(span)
      return
    }
    last.milliseconds = span.start.milliseconds(since: last.start) + span.milliseconds
    last.segments += span.segments
    spans[spans.count - 1] = last
  }
}
