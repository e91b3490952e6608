import Platform
import Synchronization

/// Names one request given to an engine.
package struct TransferID: Hashable, Sendable {
  let number: UInt64
}

/// Sends requests: one thread, one `curl_multi` handle, connections kept open between requests. Any thread may submit;
/// completions run on the engine's thread and must not block.
package final class TransferEngine: Sendable {
  package typealias Completion = @Sendable (TransferOutcome) -> Void

  private let inbox: TransferInbox
  private let thread: Mutex<Platform.Thread?>

  package init(_ configuration: ClientConfiguration) throws(ClientError) {
    try configuration.validate()
    let inbox = TransferInbox(try MultiHandle(keptConnections: configuration.keptConnections))
    self.inbox = inbox
    do throws(SystemError) {
      let thread = try Platform.Thread("http-client") { TransferLoop(configuration, inbox).run() }
      self.thread = Mutex(thread)
    } catch {
      throw ClientError(operation: "start", subject: "the HTTP client", cause: "\(error)")
    }
  }

  deinit { stop() }

  /// Starts `request`. `completion` is called once, whatever happens.
  @discardableResult
  package func submit(_ request: Request, completion: @escaping Completion) -> TransferID {
    inbox.submit(request, completion)
  }

  /// Sends `request` and waits for the outcome; for small requests, and not from a completion.
  package func perform(_ request: Request) -> TransferOutcome {
    let answer = Monitor<TransferOutcome?>(nil)
    submit(request) { outcome in answer.withLock { $0 = outcome } }
    return answer.wait { $0 } ?? TransferOutcome()
  }

  /// Ends a transfer as `.cancelled`; nothing happens where it has ended already.
  package func cancel(_ id: TransferID) { inbox.put(.cancel(id)) }

  /// Limits all transfers together, in bytes a second; nil for no limit.
  package func limitRate(_ bytesPerSecond: Int64?) { inbox.put(.limitRate(bytesPerSecond)) }

  /// Ends what has not moved for `quiet` as `.interrupted`: after the network has changed, it never will.
  package func dropStuck(quiet: Duration) { inbox.put(.dropStuck(quiet)) }

  /// Body bytes that peers have taken since the engine started; grows while transfers run.
  package var bytesTaken: Int64 { inbox.bytesTaken.load(ordering: .relaxed) }

  /// Ends all transfers as `.cancelled` and returns when their completions have run.
  package func stop() {
    inbox.stop()
    let thread = self.thread.withLock { running in
      defer { running = nil }
      return running
    }
    thread?.join()
  }
}

/// What other threads ask of the engine's.
final class TransferInbox: Sendable {
  enum Command: Sendable {
    case start(TransferID, Request, TransferEngine.Completion)
    case cancel(TransferID)
    case limitRate(Int64?)
    case dropStuck(Duration)
  }

  private struct State {
    var commands: [Command] = []
    var lastNumber: UInt64 = 0
    var isStopping = false
  }

  let multi: MultiHandle
  let bytesTaken = Atomic<Int64>(0)
  private let state = Mutex(State())

  init(_ multi: MultiHandle) {
    self.multi = multi
  }

  func submit(_ request: Request, _ completion: @escaping TransferEngine.Completion) -> TransferID {
    let (id, isAccepted) = state.withLock { state in
      state.lastNumber += 1
      let id = TransferID(number: state.lastNumber)
      if !state.isStopping { state.commands.append(.start(id, request, completion)) }
      return (id, !state.isStopping)
    }
    if isAccepted {
      multi.wakeUp()
    } else {
      var outcome = TransferOutcome()
      outcome.failure = .cancelled
      outcome.detail = "the client has stopped"
      completion(outcome)
    }
    return id
  }

  func put(_ command: Command) {
    state.withLock { $0.commands.append(command) }
    multi.wakeUp()
  }

  func stop() {
    state.withLock { $0.isStopping = true }
    multi.wakeUp()
  }

  func take() -> (commands: [Command], isStopping: Bool) {
    state.withLock { state in
      defer { state.commands = [] }
      return (state.commands, state.isStopping)
    }
  }
}
