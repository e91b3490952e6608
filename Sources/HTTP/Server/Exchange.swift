import CMicroHTTPD
import Glibc

/// One request on its way through the library, from the request line to the end of the answer. Used by the one library
/// thread that its connection belongs to.
final class Exchange {
  private enum Phase {
    /// The head has not been read to its end.
    case head
    case receiving(any BodyReceiver)
    /// The body is of no interest, but short: read, so that the connection stays usable.
    case swallowing(Answer)
    case waiting(PendingResponse)
    case answered
  }

  private let rawTarget: [UInt8]
  private let started: ContinuousClock.Instant
  private var phase = Phase.head
  private var method = ""
  private var path = ""
  private var peer = PeerAddress(bytes: [])
  private var status: Int?
  private var bytesReceived: Int64 = 0
  private var bytesAnswered: Int64 = 0
  /// Keeps a refused upload's socket open a little longer; see `Caretaker.linger`.
  private var lingering: Int32?

  /// A body up to this size is read even when its answer is already known.
  private static let swallowedAtMost: Int64 = 65_536

  init(rawTarget: [UInt8], now: ContinuousClock.Instant) {
    self.rawTarget = rawTarget
    started = now
  }

  /// The library's access handler: called when the head is there, for each piece of the body, when the body is over, and
  /// after a suspension. False breaks the connection.
  func step(_ core: ServerCore, _ connection: borrowing Connection, method: String, upload: RawSpan) -> StepResult {
    switch phase {
    case .head: return begin(core, connection, method: method)
    case .receiving(let receiver):
      bytesReceived += Int64(upload.byteCount)
      if upload.byteCount > 0 {
        receiver.receive(upload)
        return .goOn
      }
      phase = .answered  // The receiver has had its end and hears of nothing more.
      core.connections.withLock { $0.working(connection.socket) }
      return proceed(core, connection, receiver.finish())
    case .swallowing(let answer):
      bytesReceived += Int64(upload.byteCount)
      if upload.byteCount > 0 { return .goOn }
      core.connections.withLock { $0.working(connection.socket) }
      return proceed(core, connection, answer)
    case .waiting(let pending): return proceed(core, connection, .later(pending))
    case .answered: return .goOn
    }
  }

  private func begin(_ core: ServerCore, _ connection: borrowing Connection, method: String) -> StepResult {
    self.method = method
    peer = connection.peer
    let headers = connection.headers()
    let framing: BodyFraming
    let answer: Answer
    do {
      framing = try BodyFraming(headers)
    } catch {
      // Where this request ends is anybody's guess, so nothing after it on this connection can be trusted.
      core.connections.withLock { $0.began(connection.socket, bodyLength: 0, now: .now) }
      return queue(core, connection, .text(400, error.rawValue), early: true)
    }
    do {
      let target = try RequestTarget(parsing: rawTarget)
      path = target.path
      let length: Int64? =
        switch framing {
        case .none: headers["Content-Length"] == nil ? nil : 0
        case .length(let length): length
        case .chunked: nil
        }
      core.connections.withLock { $0.began(connection.socket, bodyLength: framing == .none ? 0 : length, now: .now) }
      answer = core.handler.answer(
        IncomingRequest(
          method: IncomingRequest.Method(method), target: target, headers: headers, contentLength: length, peer: peer,
          isSecure: core.isSecure))
    } catch {
      core.connections.withLock { $0.began(connection.socket, bodyLength: 0, now: .now) }
      answer = .now(.text(400, error.rawValue))
    }
    switch answer {
    case .receive(let receiver):
      phase = .receiving(receiver)
      return .goOn
    case .later:
      phase = .swallowing(answer)
      return .goOn
    case .now(let response):
      let isShort =
        switch framing {
        case .none: true
        case .length(let length): length <= Exchange.swallowedAtMost && headers["Expect"] == nil
        case .chunked: false
        }
      if isShort {
        phase = .swallowing(answer)
        return .goOn
      }
      return queue(core, connection, response, early: true)
    }
  }

  private func proceed(_ core: ServerCore, _ connection: borrowing Connection, _ answer: Answer) -> StepResult {
    switch answer {
    case .now(let response): return queue(core, connection, response, early: false)
    case .receive: return queue(core, connection, .text(500, "internal error"), early: false)
    case .later(let pending):
      if core.isStopping { pending.expire() }
      phase = .waiting(pending)
      core.caretaker.watch(pending)
      if pending.attach(connection.suspended) { return .goOn }
      core.caretaker.forget(pending)
      return queue(core, connection, pending.response ?? pending.otherwise, early: false)
    }
  }

  private func queue(_ core: ServerCore, _ connection: borrowing Connection, _ response: Response, early: Bool)
    -> StepResult
  {
    phase = .answered
    var response = response
    if early || core.isStopping { response.headers.append("Connection", "close") }
    if early { lingering = connection.duplicateSocket() }
    status = response.status
    bytesAnswered = response.body.length
    core.connections.withLock { $0.answering(connection.socket, length: bytesAnswered, now: .now) }
    return connection.queue(response) ? .goOn : .breakOff
  }

  /// The library is through with this request.
  func completed(_ core: ServerCore, _ connection: borrowing Connection, isWhole: Bool) {
    if case .receiving(let receiver) = phase { receiver.abandon() }
    if case .waiting(let pending) = phase { core.caretaker.forget(pending) }
    if let lingering { core.caretaker.linger(lingering) }
    if case .head = phase { return }
    let now = ContinuousClock.now
    core.connections.withLock { $0.completed(connection.socket, now: now) }
    core.handler.completed(
      ExchangeRecord(
        method: method, path: path, peer: peer, status: status, bytesReceived: bytesReceived,
        bytesAnswered: bytesAnswered, duration: now - started, wasCompleted: isWhole))
  }
}

enum StepResult {
  case goOn, breakOff
}
