import Platform

/// The wish to end, from Ctrl-C, `kill` or a terminal that went away. The first one asks; the second leaves at once, with
/// everything on disk as it is.
///
/// Made before any other thread starts, because threads inherit which signals are blocked.
final class Stopping: Sendable {
  private struct State {
    var requests = 0
    var asked: ContinuousClock.Instant?
    var reaction: (@Sendable () -> Void)?
    var farewell: (@Sendable () -> Void)?
  }

  private typealias Request = (count: Int, reaction: (@Sendable () -> Void)?, farewell: (@Sendable () -> Void)?)
  /// `timeout` and shells that pass signals on send one to the process, and the same to its group.
  private static let echo: Duration = .milliseconds(300)

  private let state: Monitor<State>
  private let watcher: SignalWatcher

  init() throws(Failure) {
    let state = Monitor(State())
    self.state = state
    do throws(SystemError) {
      watcher = try SignalWatcher { _ in
        let now = ContinuousClock.now
        let (count, reaction, farewell) = state.withLock { state in
          if let asked = state.asked, now - asked < Stopping.echo { return (0, nil, nil) as Request }
          state.asked = now
          state.requests += 1
          return (state.requests, state.reaction, state.farewell)
        }
        if count > 1 {
          farewell?()
          Exit.atOnce(ExitCode.temporaryFailure.rawValue)
        }
        reaction?()
      }
    } catch {
      throw Failure(.unavailable, "\(error)")
    }
  }

  var isRequested: Bool { state.withLock { $0.requests > 0 } }

  /// Calls `reaction` on the first request, at once when it has come already. It must not wait.
  func onRequest(_ reaction: @escaping @Sendable () -> Void) {
    let isLate = state.withLock { state in
      state.reaction = reaction
      return state.requests > 0
    }
    if isLate { reaction() }
  }

  /// Calls `farewell` on the second request, just before leaving: for the last line. It must not wait.
  func onSecondRequest(_ farewell: @escaping @Sendable () -> Void) {
    state.withLock { $0.farewell = farewell }
  }

  /// Waits for the first request.
  func wait() {
    _ = state.wait { $0.requests > 0 ? true : nil }
  }

  /// Waits for the first request for at most `timeout`. True when it has come.
  func wait(_ timeout: Duration) -> Bool {
    state.wait(timeout: timeout) { $0.requests > 0 ? true : nil } ?? false
  }
}
