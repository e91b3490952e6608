import LibAV

/// Makes a track's counter endless: MPEG-TS counts 33 bits, RTP and FLV 32 (ISO 13818-1 §2.4.3.6, RFC 3550 §5.1), and
/// libav writes 31 of FLV's.
struct Unwrapper: Sendable {
  /// Counters that wrap, in ticks.
  static let periods: [Int64] = [1 << 33, 1 << 32, 1 << 31]

  /// How far from the time before a wrapped value may lie, in ticks: a minute.
  private let window: Int64
  private var offset: Int64 = 0
  private var reference: Int64?

  init(timeBase: RationalTime) {
    window = max(1, RationalTime(60, 1).convert(1, to: timeBase))
  }

  /// The decode time without wraps. A time that is no wrap but a jump comes back as it is.
  mutating func unwrap(_ time: Int64) -> Int64 {
    var unwrapped = time &+ offset
    if let reference {
      for period in Self.periods where window < period / 4 {
        let delta = unwrapped &- reference
        if abs(delta &+ period) <= window {
          offset &+= period
          unwrapped &+= period
        } else if abs(delta &- period) <= window {
          // A straggler from before the wrap.
          offset &-= period
          unwrapped &-= period
        }
      }
    }
    reference = unwrapped
    return unwrapped
  }

  /// A presentation time beside the decode time of the same packet: one of the two may have wrapped before the other.
  func align(pts: Int64, raw: Int64, unwrapped: Int64) -> Int64 {
    let shifted = pts &+ (unwrapped &- raw)
    for period in Self.periods where window < period / 4 {
      if abs(shifted &+ period &- unwrapped) <= window { return shifted &+ period }
      if abs(shifted &- period &- unwrapped) <= window { return shifted &- period }
    }
    return shifted
  }
}
