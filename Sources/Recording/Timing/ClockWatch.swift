/// Notices when the wall clock has been set. Media time is monotonic and does not care, but the times that segments
/// carry are wall-clock times: after a step a new run begins, whose start is told by the new clock. Pure.
package struct ClockWatch: Equatable, Sendable {
  /// A clock that is disciplined is slewed by far less than this between two looks; in milliseconds.
  package static let tolerance: Int64 = 2000

  /// Wall clock less monotonic time at the look before, in milliseconds.
  private var offset: Int64?

  package init() {}

  /// True when the wall clock was set by more than `tolerance` since the look before.
  ///
  /// - Parameters:
  ///   - wall: milliseconds since the epoch.
  ///   - monotonic: time since any fixed moment.
  package mutating func hasStepped(wall: Int64, monotonic: Duration) -> Bool {
    let now = wall - monotonic.microseconds / 1000
    defer { offset = now }
    guard let offset else { return false }
    return abs(now - offset) > Self.tolerance
  }
}
