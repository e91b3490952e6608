package import LibAV

/// Steps the frame rate down when the encoder cannot keep up with a live source, and back up when it can: 30 → 24 → 15
/// and so for other rates. Pure; fed once in a while with what happened since.
package struct OverloadPolicy: Equatable, Sendable {
  package enum Step: Equatable, Sendable {
    case stay
    case change(to: RationalTime)
  }

  /// Parts of the full rate.
  package static let steps: [(numerator: Int32, denominator: Int32)] = [(1, 1), (4, 5), (1, 2)]

  private let full: RationalTime
  private var level = 0
  private var calm: Duration = .zero
  /// Time since the rate last went up; nil when it went down since.
  private var sinceRise: Duration?
  /// Doubles with each relapse: an encoder that is at its limit must not swing.
  private var patience: Duration = .seconds(10)

  package init(full: RationalTime) { self.full = full }

  package static func == (a: OverloadPolicy, b: OverloadPolicy) -> Bool {
    (a.full, a.level, a.calm, a.sinceRise, a.patience) == (b.full, b.level, b.calm, b.sinceRise, b.patience)
  }

  /// The rate now in force.
  package var rate: RationalTime {
    let step = Self.steps[level]
    return RationalTime(full.numerator * step.numerator, full.denominator * step.denominator)
  }

  /// - Parameters:
  ///   - dropped: frames that the queue let go because the encoder was behind.
  ///   - offered: frames that came in the same time.
  ///   - busy: part of the time that the encoder worked, 0...1.
  ///   - elapsed: the time it is about.
  package mutating func observe(dropped: Int, offered: Int, busy: Double, elapsed: Duration) -> Step {
    if let since = sinceRise { sinceRise = since + elapsed }
    if offered > 0 && dropped * 20 > offered {
      calm = .zero
      guard level + 1 < Self.steps.count else { return .stay }
      // Back down soon after going up: wait longer next time.
      if let since = sinceRise, since < .seconds(30) { patience = min(patience * 2, .seconds(300)) }
      sinceRise = nil
      level += 1
      return .change(to: rate)
    }
    guard level > 0 else { return .stay }
    let above = Self.steps[level - 1]
    let here = Self.steps[level]
    let load =
      busy * Double(above.numerator * here.denominator) / Double(above.denominator * here.numerator)
    guard dropped == 0, load < 0.85 else {
      calm = .zero
      return .stay
    }
    calm += elapsed
    guard calm >= patience else { return .stay }
    calm = .zero
    sinceRise = .zero
    level -= 1
    return .change(to: rate)
  }
}
