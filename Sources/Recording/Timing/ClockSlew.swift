/// Brings one clock to another by steps so small that nobody sees or hears a break. The dates of a run's segments follow
/// the wall clock, which media time does not: a camera's clock is a little wrong, the wall clock was set by less than
/// begins a new run. Sound of another input follows the clock of the picture. Pure.
package struct ClockSlew: Equatable, Sendable {
  /// Milliseconds for each step at most, and the part of the time between two: eight in a thousand. Segments whose dates
  /// move by that have no gap between them, and sound is stretched by no more.
  private static let most: Int64 = 40
  private static let part: Int64 = 125

  /// Milliseconds that are let be.
  private let tolerance: Int64
  /// Milliseconds that the clock was moved by.
  private(set) var correction: Int64 = 0
  /// The least delay seen since the step before: packets come late, never early.
  private var least: Int64?
  /// That of the time between the last two steps.
  private(set) var latest: Int64 = 0
  /// Media time of the last step of `follow`, in milliseconds.
  private var lastStep: Int64 = 0

  package init(tolerance: Int64) { self.tolerance = tolerance }

  /// A packet came.
  ///
  /// - Parameter ahead: milliseconds by which the other clock is ahead of this one as it is without the correction.
  package mutating func note(ahead: Int64) { least = min(least ?? ahead, ahead) }

  /// The correction from now on, in milliseconds.
  ///
  /// - Parameters:
  ///   - elapsed: milliseconds since the step before.
  ///   - limit: beyond so many milliseconds one step is made of all; nil: never.
  package mutating func step(after elapsed: Int64, orAtOnceBeyond limit: Int64? = nil) -> Int64 {
    guard let least else { return correction }
    self.least = nil
    latest = least
    let away = least - correction
    guard abs(away) > tolerance else { return correction }
    let isFar = limit.map { abs(away) > $0 } ?? false
    let step = isFar ? abs(away) : min(Self.most, elapsed / Self.part, abs(away))
    correction += away > 0 ? step : -step
    return correction
  }

  /// The correction of sound whose packets are noted as they come: a step every five seconds, and beyond 200 ms, which is
  /// more than anybody stretches, all of it at once.
  ///
  /// - Parameters:
  ///   - ahead: as for `note`.
  ///   - media: of the packet, in milliseconds.
  package mutating func follow(ahead: Int64, at media: Int64) -> Int64 {
    note(ahead: ahead)
    guard media - lastStep >= 5_000 else { return correction }
    lastStep = media
    return step(after: 5_000, orAtOnceBeyond: 200)
  }
}
