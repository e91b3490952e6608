import Glibc

/// Turns signals that ask a process to stop into calls of a closure, on a thread of its own.
///
/// It must be made before any other thread, because threads inherit which signals are blocked, and a signal goes to a
/// thread that does not block it. SIGPIPE is ignored from then on: writing to a closed pipe or socket fails with `EPIPE`.
package final class SignalWatcher: Sendable {
  package enum Signal: CaseIterable, Sendable {
    /// Ctrl-C.
    case interrupt
    /// What `kill` and service managers send.
    case terminate
    /// The terminal is gone, or a service should read its configuration again.
    case hangUp

    var number: Int32 {
      switch self {
      case .interrupt: SIGINT
      case .terminate: SIGTERM
      case .hangUp: SIGHUP
      }
    }
  }

  private let thread: Thread
  private let stop: StopFlag

  package init(_ body: @escaping @Sendable (Signal) -> Void) throws(SystemError) {
    signal(SIGPIPE, SIG_IGN)
    let stop = StopFlag()
    var watched = SignalWatcher.watchedSet
    unsafe pthread_sigmask(SIG_BLOCK, &watched, nil)
    thread = try Thread("signals", stackSize: 128 * 1024) {
      var watched = SignalWatcher.watchedSet
      unsafe pthread_sigmask(SIG_BLOCK, &watched, nil)
      while true {
        var number: Int32 = 0
        guard unsafe sigwait(&watched, &number) == 0 else { continue }
        if stop.isRequested { return }
        if let signal = Signal.allCases.first(where: { $0.number == number }) { body(signal) }
      }
    }
    self.stop = stop
  }

  deinit {
    stop.request()
    thread.send(signal: SIGTERM)
    thread.join()
  }

  /// As if the process had been sent the signal.
  package func send(_ signal: Signal) { thread.send(signal: signal.number) }

  private static var watchedSet: sigset_t {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for signal in Signal.allCases { unsafe sigaddset(&set, signal.number) }
    return set
  }
}
