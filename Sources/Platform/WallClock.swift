import Glibc

/// The wall clock, which may be wrong and may be set while the process runs. Intervals are measured with
/// `ContinuousClock`.
package enum WallClock {
  /// Milliseconds since 1970-01-01T00:00:00Z.
  package static func now() -> Int64 {
    var now = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &now)
    return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
  }
}
