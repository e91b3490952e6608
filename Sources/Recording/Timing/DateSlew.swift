/// Keeps the dates of a run's segments with the wall clock, which media time does not follow: a camera's clock is a little
/// wrong, the wall clock was set by less than begins a new run, or the first packets had waited to be read. A date is
/// moved by so little from one segment to the next that players and checkers see no break in it. Pure.
package struct DateSlew: Equatable, Sendable {
  /// Milliseconds for each segment at most, and the part of its length: eight in a thousand.
  private static let most: Int64 = 40
  private static let part: Int64 = 125
  /// Milliseconds that are let be.
  private static let tolerance: Int64 = 50

  /// Milliseconds by which dates are ahead of what media time says.
  private(set) var correction: Int64 = 0
  /// The least delay seen since the date before: packets come late, never early.
  private var least: Int64?

  package init() {}

  /// A packet came.
  ///
  /// - Parameter ahead: milliseconds by which the wall clock was ahead of the run's start and media time.
  package mutating func note(ahead: Int64) { least = min(least ?? ahead, ahead) }

  /// The correction of the next segment, in milliseconds.
  ///
  /// - Parameter length: of a segment, in milliseconds.
  package mutating func next(length: Int64) -> Int64 {
    defer { least = nil }
    guard let least, abs(least - correction) > Self.tolerance else { return correction }
    let step = min(Self.most, length / Self.part)
    correction += least > correction ? step : -step
    return correction
  }
}
