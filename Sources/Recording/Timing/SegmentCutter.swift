/// Lines at multiples of one interval, counted from a run's origin. Tells the first sample at or after each line, or at
/// most `tolerance` before it.
package struct TimeGrid: Equatable, Sendable {
  package let interval: Int64
  package let tolerance: Int64
  /// The line that has not been reached yet.
  package private(set) var next: Int64

  /// - Parameters: 90 kHz ticks. `interval` is at least 1; `tolerance` is half a frame, so that a clock that counts
  ///   milliseconds does not shift cuts by a frame.
  package init(interval: Int64, tolerance: Int64 = 0) {
    self.interval = max(1, interval)
    self.tolerance = tolerance
    next = self.interval
  }

  /// Half a frame, but no more than 20 ms, for a frame of so many ticks.
  package static func tolerance(frame: Int64) -> Int64 { min(frame, 3600) / 2 }

  package func isReached(at time: Int64) -> Bool { time + tolerance >= next }

  /// The line to wait for after `time`.
  package mutating func pass(_ time: Int64) {
    next = ((time + tolerance) / interval + 1) * interval
  }
}

/// Decides where segments and chunks begin. Fed with the samples of the track that leads: the picture, or the sound where
/// there is no picture.
///
/// Segments begin at the first sample at or after a grid line at which decoding can start. When encoding, key frames are
/// forced on the grid, so segments are exact; when copying they are what the source's key frames allow. Each cut passes
/// all grid lines before it, so durations average to the interval.
package struct SegmentCutter: Equatable, Sendable {
  package enum Cut: Equatable, Sendable {
    case none
    /// A new chunk (moof and mdat) of the same segment begins with this sample.
    case chunk
    case segment
  }

  private var segments: TimeGrid
  private let chunk: Int64
  private var chunkStart: Int64 = 0
  private var isFirst = true

  /// - Parameters: 90 kHz ticks.
  package init(segment: Int64, chunk: Int64, tolerance: Int64 = 0) {
    segments = TimeGrid(interval: segment, tolerance: tolerance)
    self.chunk = max(1, chunk - tolerance)
  }

  /// - Parameters:
  ///   - time: presentation time of the sample in ticks since the run's origin; of a sample at which decoding cannot
  ///     start, its decode time will do.
  ///   - canStart: decoding can start here.
  package mutating func cut(at time: Int64, canStart: Bool) -> Cut {
    if isFirst {
      isFirst = false
      chunkStart = time
      return .none
    }
    if canStart && segments.isReached(at: time) {
      segments.pass(time)
      chunkStart = time
      return .segment
    }
    guard time - chunkStart >= chunk else { return .none }
    chunkStart = time
    return .chunk
  }
}
