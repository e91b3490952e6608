/// Measures the bit rates of a rendition as BANDWIDTH and AVERAGE-BANDWIDTH define them (RFC 8216bis-20 §4.4.6.2): the
/// peak over every contiguous set of segments that lasts between 0.5 and 1.5 target durations, and the mean.
package struct BandwidthMeter: Equatable, Sendable {
  private let targetTicks: Int64
  private var recent: [(bytes: Int64, ticks: Int64)] = []
  private var bytes: Int64 = 0
  private var ticks: Int64 = 0
  private var measuredPeak = 0.0

  /// Sets of more segments than this are not looked at: a bound on the work for segments of a few milliseconds.
  private static let longestSet = 64

  package init(targetDuration: Int) {
    targetTicks = Int64(max(1, targetDuration)) * 90_000
  }

  /// Adds the segment that follows. Gaps have no bytes: call `addGap` for them.
  package mutating func add(bytes added: Int64, ticks length: Int64) {
    bytes &+= added
    ticks &+= length
    recent.append((added, length))
    var set = (bytes: Int64(0), ticks: Int64(0))
    var kept = 0
    for segment in recent.reversed() {
      set.bytes &+= segment.bytes
      set.ticks &+= segment.ticks
      if 2 * set.ticks > 3 * targetTicks || kept == BandwidthMeter.longestSet { break }
      kept += 1
      if 2 * set.ticks >= targetTicks {
        measuredPeak = max(measuredPeak, Double(set.bytes) * 8 * 90_000 / Double(set.ticks))
      }
    }
    if recent.count > 2 * BandwidthMeter.longestSet { recent.removeFirst(recent.count - max(kept, 1)) }
  }

  /// A gap lies before what follows; no set reaches across it.
  package mutating func addGap() {
    recent.removeAll()
  }

  /// Bits per second, rounded up; 0 while nothing was measured.
  package var average: Int64 {
    ticks > 0 ? BandwidthMeter.roundedUp(Double(bytes) * 8 * 90_000 / Double(ticks)) : 0
  }

  /// Bits per second, rounded up; the mean where no set was long enough.
  package var peak: Int64 { max(BandwidthMeter.roundedUp(measuredPeak), average) }

  /// Written out, because `rounded` is a call into the C mathematics library, which this module does without.
  private static func roundedUp(_ rate: Double) -> Int64 {
    guard rate > 0, rate < 1e18 else { return 0 }
    let whole = Int64(rate)
    return Double(whole) < rate ? whole + 1 : whole
  }

  package static func == (a: BandwidthMeter, b: BandwidthMeter) -> Bool {
    (a.bytes, a.ticks, a.measuredPeak, a.targetTicks) == (b.bytes, b.ticks, b.measuredPeak, b.targetTicks)
  }
}
