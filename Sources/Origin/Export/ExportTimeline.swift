import HLS

/// Where the runs of a recording lie on the one timeline of an export, in 90 kHz ticks. Pure.
///
/// Runs of the leading rendition follow each other without the time between them. Other renditions are captured beside
/// it, so theirs are placed by the wall clock: what was heard while a leading run went on is heard there, and what falls
/// between two of those is left out.
struct ExportTimeline: Sendable {
  private struct Span {
    let wallStart: WallClockTime
    /// Where the run begins on the timeline.
    let start: Int64
    /// nil while it is being written.
    var end: Int64?
  }
  private var spans: [Span] = []

  var isEmpty: Bool { spans.isEmpty }
  /// The end of what has been placed.
  private(set) var end: Int64 = 0

  /// Begins the next leading run, whose first sample was captured at `wallStart`.
  /// - Returns: where it begins.
  mutating func begin(wallStart: WallClockTime) -> Int64 {
    spans.append(Span(wallStart: wallStart, start: end))
    return end
  }

  /// The present leading run reaches to `time` on the timeline.
  mutating func extend(to time: Int64) { end = max(end, time) }

  /// The present leading run is over.
  mutating func finishRun() {
    guard !spans.isEmpty else { return }
    spans[spans.count - 1].end = end
  }

  /// Where something captured at `ticks` after `wall` belongs; nil when that is between two runs.
  func place(_ ticks: Int64, after wall: WallClockTime) -> Int64? {
    let index = spans.lastIndex { offset(of: ticks, wall, in: $0) >= 0 } ?? spans.startIndex
    guard index < spans.endIndex else { return nil }
    let time = spans[index].start + offset(of: ticks, wall, in: spans[index])
    // Before all runs: microphones are opened a moment before the first picture comes.
    guard time >= 0 else { return nil }
    if let end = spans[index].end, time >= end { return nil }
    return time
  }

  private func offset(of ticks: Int64, _ wall: WallClockTime, in span: Span) -> Int64 {
    wall.milliseconds(since: span.wallStart) * 90 + ticks
  }
}
