/// When the last frame is shown again because no new one came, so that players have something to play and each segment
/// begins with a frame of its own. Pure; all times are 90 kHz ticks since the run's origin.
package struct RefillPolicy: Equatable, Sendable {
  /// Longest time without a frame; nil leaves holes, but for the beginnings of segments.
  package let interval: Int64?
  /// Frames closer than this are as good as simultaneous: one frame of the nominal rate.
  package let frame: Int64

  package init(interval: Int64?, frame: Int64) {
    // Whole frames, so that repeats stay on the grid of a capped rate.
    self.frame = max(1, frame)
    self.interval = interval.map { max($0 / max(1, frame), 1) * max(1, frame) }
  }

  /// The next time between `last` and `next` at which to show the last frame again; nil when the next frame is due.
  ///
  /// - Parameters:
  ///   - last: when a frame was shown, new or repeated.
  ///   - next: when the next frame comes, or now where none has come yet.
  ///   - segmentStart: where the next segment ought to begin.
  package func repeatTime(after last: Int64, before next: Int64, segmentStart: Int64) -> Int64? {
    if segmentStart > last && segmentStart + frame <= next {
      guard let interval else { return segmentStart }
      return min(segmentStart, last + interval)
    }
    guard let interval, last + interval + frame / 2 < next else { return nil }
    return last + interval
  }
}
