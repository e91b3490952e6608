import CLibAV

/// A rational number of seconds (a time base), or per second (a rate), or a ratio: libav's `AVRational`.
package struct RationalTime: Hashable, Sendable, CustomStringConvertible {
  package let numerator: Int32
  package let denominator: Int32

  package init(_ numerator: Int32, _ denominator: Int32) {
    self.numerator = numerator
    self.denominator = denominator
  }

  init(_ q: AVRational) { self.init(q.num, q.den) }
  var raw: AVRational { AVRational(num: numerator, den: denominator) }

  /// 90 kHz: the ticks of segment names and of video tracks.
  package static let ticks = RationalTime(1, 90_000)
  package static let microseconds = RationalTime(1, 1_000_000)

  /// False where libav says "unknown": a zero on either side.
  package var isKnown: Bool { numerator != 0 && denominator != 0 }
  package var inverse: RationalTime { RationalTime(denominator, numerator) }
  package var value: Double { denominator == 0 ? 0 : Double(numerator) / Double(denominator) }
  package var description: String { "\(numerator)/\(denominator)" }

  package enum Rounding: Sendable { case nearest, down, up }

  /// `time`, counted in `self`, in units of `target`. Exact in 128 bits (`av_rescale_q_rnd`); halves away from zero. Both
  /// must be known.
  package func convert(_ time: Int64, to target: RationalTime, rounding: Rounding = .nearest) -> Int64 {
    let mode =
      switch rounding {
      case .nearest: AV_ROUND_NEAR_INF
      case .down: AV_ROUND_DOWN
      case .up: AV_ROUND_UP
      }
    return av_rescale_q_rnd(time, raw, target.raw, mode)
  }
}

/// `AV_NOPTS_VALUE` is nil on this side.
func optionalTime(_ value: Int64) -> Int64? { value == segrec_AV_NOPTS_VALUE ? nil : value }
func rawTime(_ value: Int64?) -> Int64 { value ?? segrec_AV_NOPTS_VALUE }
