/// How long frames last, collected over any number of them, for FRAME-RATE (RFC 8216bis-20 §4.4.6.2). Memory is bounded
/// by the number of different durations, rounded to 1/128.
package struct FrameDurations: Equatable, Sendable {
  package private(set) var count: UInt64 = 0
  private var seconds = 0.0
  private var shortest = Double.infinity
  private var longest = 0.0
  /// Length of the longest unit of time durations were given in, in seconds: their rounding error.
  private var unit = 0.0
  /// Frames by the exponent and the seven leading bits of their duration in seconds.
  private var buckets: [UInt32: UInt64] = [:]

  package init() {}

  /// Adds `count` frames of `duration` units of `timescale`; such without duration say nothing and are left out.
  package mutating func add(_ duration: UInt32, timescale: UInt32, count added: UInt64 = 1) {
    guard duration > 0, timescale > 0, added > 0 else { return }
    let value = Double(duration) / Double(timescale)
    count &+= added
    seconds += value * Double(added)
    shortest = min(shortest, value)
    longest = max(longest, value)
    unit = max(unit, 1 / Double(timescale))
    buckets[UInt32(value.bitPattern >> 45), default: 0] &+= added
  }

  package mutating func add(_ other: FrameDurations) {
    count &+= other.count
    seconds += other.seconds
    shortest = min(shortest, other.shortest)
    longest = max(longest, other.longest)
    unit = max(unit, other.unit)
    buckets.merge(other.buckets, uniquingKeysWith: &+)
  }

  /// Frames per second. Of a constant rate, rounding of timestamps set aside, the mean; of a variable one the rate that
  /// 95 % of the frames do not exceed, since single frames in quick succession are no rate. Nil without frames.
  package var rate: Double? {
    guard count > 0 else { return nil }
    if longest - shortest <= 2.5 * unit { return meant(Double(count) / seconds) }
    var passed: UInt64 = 0
    for (bucket, frames) in buckets.sorted(by: { $0.key < $1.key }) {
      passed &+= frames
      if passed >= max(min(count, 2), (count + 19) / 20) {
        let middle = Double(bitPattern: UInt64(bucket) << 45 | 1 << 44)
        return 1 / min(max(middle, shortest), longest)
      }
    }
    return Double(count) / seconds
  }

  /// A whole rate, or one of NTSC's, from which the mean over a second or so differs by no more than rounding explains.
  private func meant(_ mean: Double) -> Double {
    guard mean < 1_000 else { return mean }
    let whole = Double(Int(mean + 0.5))
    let slower = whole * 1_000 / 1_001
    let nearest = abs(whole - mean) < abs(slower - mean) ? whole : slower
    return abs(nearest - mean) <= mean * unit ? nearest : mean
  }
}
