import Glibc

/// Waiting for one descriptor.
enum Poll {
  /// True when `number` became readable (or failed, which reading will tell) within `timeout`; nil waits without end.
  static func wait(readable number: Int32, timeout: Duration?) throws(SystemError) -> Bool {
    try wait(number, for: Int16(POLLIN), timeout: timeout)
  }

  static func wait(_ number: Int32, for events: Int16, timeout: Duration?) throws(SystemError) -> Bool {
    let deadline = timeout.map { ContinuousClock.now.advanced(by: $0) }
    while true {
      var entry = pollfd(fd: number, events: events, revents: 0)
      let left: Int32 = deadline.map { ContinuousClock.now.duration(to: $0).wholeMilliseconds } ?? -1
      let result = unsafe poll(&entry, 1, left)
      if result > 0 { return true }
      if result == 0 { return false }
      let code = errno
      if code != EINTR { throw SystemError(operation: "wait for", subject: "descriptor \(number)", code: code) }
    }
  }
}

extension Duration {
  /// Rounded up, so that a wait never ends early; 0 when negative, at most `Int32.max`.
  var wholeMilliseconds: Int32 {
    let (seconds, attoseconds) = components
    if seconds < 0 || attoseconds < 0 { return 0 }
    if seconds >= 2_000_000 { return 2_000_000_000 }
    return Int32(seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
  }
}
