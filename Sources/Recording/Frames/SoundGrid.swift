/// Keeps an encoder's sound continuous: each sample has its place, counted from the run's origin, and none is missing or
/// there twice. Pure; it counts samples, the caller makes them.
package struct SoundGrid: Equatable, Sendable {
  package enum Placement: Equatable, Sendable {
    /// Silence of that many samples (0 or more) goes before the sound.
    case fill(Int64)
    /// The sound comes too late: its place is taken.
    case drop
  }

  /// Place of the next sample.
  package private(set) var next: Int64 = 0
  /// Samples of silence filled in, and of sound dropped.
  package private(set) var filled: Int64 = 0
  package private(set) var dropped: Int64 = 0

  /// Resamplers round; this much is no hole.
  private let tolerance: Int64

  package init(tolerance: Int64 = 64) { self.tolerance = tolerance }

  /// - Parameters:
  ///   - start: where the sound says it belongs.
  ///   - count: samples, at least 1.
  package mutating func place(start: Int64, count: Int64) -> Placement {
    if start < next - tolerance {
      dropped += count
      return .drop
    }
    let hole = start > next + tolerance ? start - next : 0
    filled += hole
    next += hole + count
    return .fill(hole)
  }

  /// Samples of silence it takes to get to `end`.
  package mutating func fill(to end: Int64) -> Int64 {
    let missing = max(0, end - next)
    filled += missing
    next += missing
    return missing
  }
}
