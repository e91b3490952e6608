import HLS
import HTTP
import Synchronization

/// Clients that wait for an entry that a live playlist does not have yet (blocking playlist reload, RFC 8216bis-20
/// §6.2.5.2).
final class PlaylistWaiters: Sendable {
  struct Waiter: Sendable {
    /// The media sequence number waited for.
    let sequence: Int
    let skips: Bool
    /// The fields of the request that waits.
    let fields: HeaderFields
    let pending: PendingResponse
  }

  private struct State {
    var waiters: [PlaylistPath: [Waiter]] = [:]
    var count = 0
  }
  private let state = Mutex(State())
  /// Waiting clients in all; each holds a connection, and further ones are answered at once.
  private let capacity: Int

  init(capacity: Int) {
    self.capacity = capacity
  }

  /// False when too many wait already.
  func add(_ waiter: Waiter, for path: PlaylistPath) -> Bool {
    state.withLock { state in
      if state.count >= capacity {
        // Those whose time has passed were answered and are still counted.
        var left = 0
        for key in Array(state.waiters.keys) {
          state.waiters[key]?.removeAll { $0.pending.isAnswered }
          left += state.waiters[key]?.count ?? 0
        }
        state.count = left
        guard left < capacity else { return false }
      }
      state.waiters[path, default: []].append(waiter)
      state.count += 1
      return true
    }
  }

  /// Takes out those who wait for anything before `nextSequence`, or everybody when the list has ended.
  func take(_ path: PlaylistPath, nextSequence: Int, isEnded: Bool) -> [Waiter] {
    state.withLock { state in
      guard let all = state.waiters[path] else { return [] }
      let ready = all.filter { isEnded || $0.sequence < nextSequence }
      let rest = all.filter { !(isEnded || $0.sequence < nextSequence) && !$0.pending.isAnswered }
      state.count -= all.count - rest.count
      state.waiters[path] = rest.isEmpty ? nil : rest
      return ready
    }
  }
}
