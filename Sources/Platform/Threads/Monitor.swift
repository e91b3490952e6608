import Glibc

/// State behind a lock, with waiting until it satisfies a condition (`pthread_mutex_t` and `pthread_cond_t`).
///
/// For threads that wait; where nobody waits, `Mutex` of the standard library does.
@safe package final class Monitor<State: ~Copyable> {
  private let lock: UnsafeMutablePointer<pthread_mutex_t>
  private let changed: UnsafeMutablePointer<pthread_cond_t>
  private var state: State

  package init(_ state: consuming sending State) {
    unsafe lock = .allocate(capacity: 1)
    unsafe changed = .allocate(capacity: 1)
    unsafe lock.initialize(to: pthread_mutex_t())
    unsafe changed.initialize(to: pthread_cond_t())
    unsafe pthread_mutex_init(lock, nil)
    var attributes = pthread_condattr_t()
    unsafe pthread_condattr_init(&attributes)
    // The wall clock may be set while somebody waits.
    unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    unsafe pthread_cond_init(changed, &attributes)
    unsafe pthread_condattr_destroy(&attributes)
    self.state = state
  }

  deinit {
    unsafe pthread_cond_destroy(changed)
    unsafe pthread_mutex_destroy(lock)
    unsafe changed.deallocate()
    unsafe lock.deallocate()
  }

  /// Looks at the state or changes it, and wakes those who wait for a change. `body` must not wait or call out.
  package func withLock<R: ~Copyable, E: Error>(_ body: (inout State) throws(E) -> sending R) throws(E) -> sending R {
    unsafe pthread_mutex_lock(lock)
    defer {
      unsafe pthread_cond_broadcast(changed)
      unsafe pthread_mutex_unlock(lock)
    }
    return try body(&state)
  }

  /// Waits until `body` answers something, and returns that; nil after `timeout` (nil: waits without end). `body` runs
  /// under the lock, first at once and then after every change, and may change the state when it answers. Others hear of
  /// that change only where `isNews` says that it is worth waking them.
  package func wait<R: ~Copyable>(
    timeout: Duration? = nil, until body: (inout State) -> sending R?, isNews: (borrowing State) -> Bool = { _ in true }
  ) -> sending R? {
    let deadline = timeout.map(Monitor.deadline)
    unsafe pthread_mutex_lock(lock)
    defer { unsafe pthread_mutex_unlock(lock) }
    while true {
      if let result = body(&state) {
        if isNews(state) { unsafe pthread_cond_broadcast(changed) }
        return result
      }
      if var deadline {
        if unsafe pthread_cond_timedwait(changed, lock, &deadline) == ETIMEDOUT {
          let result = body(&state)
          unsafe pthread_cond_broadcast(changed)
          return result
        }
      } else {
        unsafe pthread_cond_wait(changed, lock)
      }
    }
  }

  private static func deadline(after timeout: Duration) -> timespec {
    var now = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &now)
    let (seconds, attoseconds) = max(timeout, .zero).components
    let nanoseconds = now.tv_nsec + Int(attoseconds / 1_000_000_000)
    return timespec(
      tv_sec: now.tv_sec + Int(min(seconds, 1 << 31)) + nanoseconds / 1_000_000_000,
      tv_nsec: nanoseconds % 1_000_000_000)
  }
}

// Sendable: the state is only touched under the lock, and crosses into and out of it as `sending`.
extension Monitor: @unchecked Sendable where State: ~Copyable {}
