import CMicroHTTPD
import Synchronization

/// An answer that somebody will give later, once: the connection is suspended and no thread waits.
package final class PendingResponse: Sendable {
  private struct State {
    var response: Response?
    var suspended: SuspendedConnection?
  }
  private let state = Mutex(State())
  /// How long the client waits at most.
  package let limit: Duration
  /// The answer once `limit` has passed, or when the server stops before.
  let otherwise: Response

  package init(limit: Duration, otherwise: Response) {
    self.limit = limit
    self.otherwise = otherwise
  }

  /// Answers. The first answer counts, later ones are dropped. May be called from any thread.
  package func fulfil(_ response: Response) {
    state.withLock { state in
      guard state.response == nil else { return }
      state.response = response
      // Resumed under the lock, or it could overtake the suspension in `attach`.
      state.suspended?.resume()
      state.suspended = nil
    }
  }

  func expire() { fulfil(otherwise) }

  /// Suspends the connection until the answer is there; false when it already is.
  func attach(_ connection: SuspendedConnection) -> Bool {
    state.withLock { state in
      guard state.response == nil else { return false }
      connection.suspend()
      state.suspended = connection
      return true
    }
  }

  /// True once somebody has answered or the limit has passed.
  package var isAnswered: Bool { state.withLock { $0.response != nil } }

  /// The answer, when there is one.
  var response: Response? { state.withLock(\.response) }
}

/// A connection out of the event loop.
@safe struct SuspendedConnection {
  private let raw: OpaquePointer

  init(_ raw: OpaquePointer) { unsafe self.raw = raw }

  func suspend() { unsafe MHD_suspend_connection(raw) }
  func resume() { unsafe MHD_resume_connection(raw) }
}
// Sendable: MHD_resume_connection may be called from any thread, and the library keeps a suspended connection alive.
extension SuspendedConnection: @unchecked Sendable {}
