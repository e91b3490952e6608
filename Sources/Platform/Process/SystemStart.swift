import Glibc

/// When the machine was started.
package enum SystemStart {
  /// Milliseconds since the epoch, by today's reading of the wall clock; nil where the kernel does not tell.
  package static func time() -> Int64? {
    var running = timespec()
    guard unsafe clock_gettime(CLOCK_BOOTTIME, &running) == 0 else { return nil }
    return WallClock.now() - Int64(running.tv_sec) * 1000 - Int64(running.tv_nsec) / 1_000_000
  }
}
