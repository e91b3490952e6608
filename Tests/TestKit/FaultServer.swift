import Foundation
import Synchronization

/// An HTTP/1.1 server whose misbehaviour a test scripts, request by request. Plain sockets on 127.0.0.1 or ::1, a thread
/// for each connection; what it stores stays in memory.
public final class FaultServer: Sendable {
  /// A request as far as its header goes.
  public struct Request: Sendable {
    public let method: String
    /// As it stands on the request line.
    public let target: String
    /// Names in lower case.
    public let headers: [String: String]
    /// Requests before this one, on all connections, and on this one.
    public let number: Int
    public let numberOnConnection: Int
    /// Requests for the same target before this one.
    public let attemptsBefore: Int
    public var length: Int { headers["content-length"].flatMap { Int($0) } ?? 0 }
    public var name: String {
      String((target.split(separator: "?").first ?? "").split(separator: "/").last ?? "")
    }
  }

  public enum Behaviour: Sendable {
    /// Reads the body, keeps it, answers 201.
    case store
    /// As `store`, at this many bytes a second.
    case storeSlowly(bytesPerSecond: Int)
    /// As `store`, then closes the connection without having said so.
    case storeThenClose
    /// Reads the body and answers, keeping nothing.
    case answer(Int, headers: [String] = [], body: String = "")
    /// As `answer`, at this many bytes a second.
    case answerSlowly(Int, bytesPerSecond: Int)
    /// Answers without reading any of the body, and goes on reading nothing until the client closes.
    case answerEarly(Int, body: String = "")
    /// Answers at the first byte of the body and ends its side of the connection, but reads on.
    case answerEarlyAndClose(Int)
    /// Reads the whole body, then sends these bytes as they are and closes.
    case raw(String)
    /// Keeps the body as a server does that has it, but sends these bytes and closes.
    case storeThenRaw(String)
    /// Reads so many bytes of the body, then resets the connection.
    case resetInBody(after: Int)
    case resetAfterBody
    /// As `resetAfterBody`, but the body is kept.
    case storeThenReset
    case closeAfterBody
    /// Reads the whole body and says nothing.
    case neverAnswer
    /// Reads so many bytes of the body, then nothing any more, and the connection stays.
    case stopReading(after: Int)
    /// Waits, then stores.
    case storeAfter(seconds: Double)
  }

  /// One request that has been looked at.
  public struct Exchange: Sendable {
    public let request: Request
    public let startedAt: ContinuousClock.Instant
    public let isStored: Bool
  }

  public typealias Script = @Sendable (Request) -> Behaviour

  private struct State {
    var script: Script
    var files: [String: Data] = [:]
    var exchanges: [Exchange] = []
    var storedOrder: [String] = []
    var attempts: [String: Int] = [:]
    var overwrites = 0
    var requests = 0
    var connections = 0
    var inFlight = 0
    var mostInFlight = 0
    var open: Set<Int32> = []
    var listener: Int32 = -1
    /// Tells one listener from the next, which may have its number.
    var lives = 0
  }
  private let state: Mutex<State>
  private let changed = NSCondition()
  public let port: UInt16
  private let isIPv6: Bool

  public init(ipv6: Bool = false, script: @escaping Script = { _ in .store }) throws {
    state = Mutex(State(script: script))
    isIPv6 = ipv6
    signal(SIGPIPE, SIG_IGN)
    let (listener, port) = try FaultServer.listen(port: 0, ipv6: ipv6)
    self.port = port
    accept(on: listener)
  }

  /// One behaviour for each request in turn, then `last` for ever.
  public convenience init(_ behaviours: [Behaviour], then last: Behaviour = .store) throws {
    try self.init { request in request.number < behaviours.count ? behaviours[request.number] : last }
  }

  deinit { end() }

  public var url: String { "http://\(isIPv6 ? "[::1]" : "127.0.0.1"):\(port)" }

  // MARK: What it saw

  /// Stored bodies by request target.
  public var files: [String: Data] { state.withLock { $0.files } }
  public var exchanges: [Exchange] { state.withLock { $0.exchanges } }
  /// Targets in the order in which they were completely stored.
  public var storedOrder: [String] { state.withLock { $0.storedOrder } }
  /// Targets that were stored again with other bytes.
  public var overwrites: Int { state.withLock { $0.overwrites } }
  public var connections: Int { state.withLock { $0.connections } }
  public var mostInFlight: Int { state.withLock { $0.mostInFlight } }

  /// Waits until `condition` holds; false after `seconds`.
  @discardableResult
  public func wait(seconds: Double = 60, until condition: (FaultServer) -> Bool) -> Bool {
    let deadline = Date(timeIntervalSinceNow: seconds)
    changed.lock()
    defer { changed.unlock() }
    while !condition(self) {
      if !changed.wait(until: min(deadline, Date(timeIntervalSinceNow: 0.05))), Date() >= deadline {
        return condition(self)
      }
    }
    return true
  }

  // MARK: What a test does to it

  public func behave(_ script: @escaping Script) { state.withLock { $0.script = script } }

  /// From now on connections are refused, and those that stand are reset.
  public func goDown() {
    // Under the lock, like every closing of these: outside it a number may have become another server's.
    state.withLock { state in
      if state.listener >= 0 {
        // Wakes the thread that waits for connections.
        shutdown(state.listener, Int32(SHUT_RDWR))
        close(state.listener)
        state.listener = -1
      }
      state.lives += 1
      for descriptor in state.open { FaultServer.reset(descriptor, closing: false) }
    }
  }

  /// Listens again on the same port.
  public func comeBack() throws {
    let (listener, _) = try FaultServer.listen(port: port, ipv6: isIPv6)
    accept(on: listener)
  }

  public func end() { goDown() }

  // MARK: Serving

  fileprivate static func listen(port: UInt16, ipv6: Bool) throws -> (Int32, UInt16) {
    let kind = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
    let listener = socket(ipv6 ? AF_INET6 : AF_INET, Int32(kind), 0)
    guard listener >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    var yes: Int32 = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, 4)
    var bound: Int32
    var chosen: UInt16 = 0
    if ipv6 {
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_addr = in6addr_loopback
      address.sin6_port = port.bigEndian
      var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
      bound = withUnsafeMutablePointer(to: &address) { address in
        address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
          let result = bind(listener, address, size)
          getsockname(listener, address, &size)
          return result
        }
      }
      chosen = UInt16(bigEndian: address.sin6_port)
    } else {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
      address.sin_port = port.bigEndian
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      bound = withUnsafeMutablePointer(to: &address) { address in
        address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
          let result = bind(listener, address, size)
          getsockname(listener, address, &size)
          return result
        }
      }
      chosen = UInt16(bigEndian: address.sin_port)
    }
    guard bound == 0, Foundation.listen(listener, 64) == 0 else {
      let code = errno
      close(listener)
      throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO)
    }
    return (listener, chosen)
  }

  private func accept(on listener: Int32) {
    let life = state.withLock { state in
      state.listener = listener
      return state.lives
    }
    Thread.detachNewThread { [weak self] in
      while true {
        var entry = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
        poll(&entry, 1, -1)
        guard let self, let descriptor = self.takeConnection(life) else { return }
        guard descriptor >= 0 else { continue }
        Thread.detachNewThread { [weak self] in
          FaultConnection(descriptor).serve { request in
            self?.begin(request)
          } finish: { exchange, body in
            self?.finish(exchange, body)
          }
          guard let self else {
            close(descriptor)
            return
          }
          self.state.withLock { state in
            state.open.remove(descriptor)
            close(descriptor)
          }
        }
      }
    }
  }

  /// The next connection; -1 when none waits any more, nil when the listener of this `life` is gone.
  private func takeConnection(_ life: Int) -> Int32? {
    state.withLock { state in
      guard state.lives == life else { return nil }
      let descriptor = Foundation.accept(state.listener, nil, nil)
      if descriptor >= 0 {
        state.connections += 1
        state.open.insert(descriptor)
      }
      return descriptor
    }
  }

  private func begin(_ header: FaultConnection.Header) -> (Request, Behaviour) {
    let (request, script) = state.withLock { state in
      let request = Request(
        method: header.method, target: header.target, headers: header.fields, number: state.requests,
        numberOnConnection: header.numberOnConnection, attemptsBefore: state.attempts[header.target] ?? 0)
      state.requests += 1
      state.attempts[header.target, default: 0] += 1
      state.inFlight += 1
      state.mostInFlight = max(state.mostInFlight, state.inFlight)
      return (request, state.script)
    }
    return (request, script(request))
  }

  private func finish(_ exchange: Exchange, _ body: Data?) {
    state.withLock { state in
      state.inFlight -= 1
      state.exchanges.append(exchange)
      guard exchange.isStored, exchange.request.method == "PUT" else { return }
      let target = exchange.request.target
      if let before = state.files[target] {
        if before != body { state.overwrites += 1 }
      } else {
        state.storedOrder.append(target)
      }
      state.files[target] = body ?? Data()
    }
    changed.lock()
    changed.broadcast()
    changed.unlock()
  }

  fileprivate static func reset(_ descriptor: Int32, closing: Bool = true) {
    var now = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
    if closing {
      // The thread that owns the descriptor closes it, which resets.
      return
    }
    shutdown(descriptor, Int32(SHUT_RDWR))
  }
}

/// One connection of a fault server.
struct FaultConnection {
  struct Header {
    let method: String
    let target: String
    let fields: [String: String]
    let numberOnConnection: Int
  }

  private let descriptor: Int32

  init(_ descriptor: Int32) {
    self.descriptor = descriptor
  }

  /// Serves until the connection ends. The caller closes it.
  func serve(
    begin: (Header) -> (FaultServer.Request, FaultServer.Behaviour)?,
    finish: (FaultServer.Exchange, Data?) -> Void
  ) {
    var buffer = Data()
    var number = 0
    while let (method, target, fields) = readHeader(&buffer) {
      let header = Header(method: method, target: target, fields: fields, numberOnConnection: number)
      number += 1
      let startedAt = ContinuousClock.now
      guard let (request, behaviour) = begin(header) else { return }
      var stored: Data?
      let goesOn = perform(behaviour, request, &buffer, &stored) { stored in
        finish(
          FaultServer.Exchange(request: request, startedAt: startedAt, isStored: stored != nil), stored)
      }
      guard goesOn else { return }
    }
  }

  /// True when the connection goes on. `done` is called once, before the answer goes out: when a client has its answer,
  /// the test sees what was stored.
  private func perform(
    _ behaviour: FaultServer.Behaviour, _ request: FaultServer.Request, _ buffer: inout Data, _ stored: inout Data?,
    _ done: (Data?) -> Void
  ) -> Bool {
    switch behaviour {
    case .store, .storeThenClose, .storeSlowly, .storeAfter:
      var rate: Int?
      if case .storeSlowly(let limit) = behaviour { rate = limit }
      guard let body = readBody(request.length, &buffer, bytesPerSecond: rate) else {
        done(nil)
        return false
      }
      if case .storeAfter(let seconds) = behaviour { Thread.sleep(forTimeInterval: seconds) }
      done(body)
      answer(201)
      if case .storeThenClose = behaviour { return false }
      return true
    case .answer(let status, let headers, let text):
      let body = readBody(request.length, &buffer)
      done(nil)
      answer(status, headers, text)
      return body != nil
    case .answerSlowly(let status, let rate):
      let body = readBody(request.length, &buffer, bytesPerSecond: rate)
      done(nil)
      answer(status)
      return body != nil
    case .answerEarly(let status, let text):
      done(nil)
      answer(status, [], text)
      waitForHangUp()
      return false
    case .answerEarlyAndClose(let status):
      done(nil)
      answer(status, ["Connection: close"])
      shutdown(descriptor, Int32(SHUT_WR))
      waitForClose()
      return false
    case .raw(let text):
      _ = readBody(request.length, &buffer)
      done(nil)
      write(text)
      return false
    case .storeThenRaw(let text):
      done(readBody(request.length, &buffer))
      write(text)
      return false
    case .resetInBody(let count):
      _ = readBody(min(count, request.length), &buffer)
      done(nil)
      FaultServer.reset(descriptor)
      return false
    case .resetAfterBody, .storeThenReset:
      let body = readBody(request.length, &buffer)
      if case .storeThenReset = behaviour { done(body) } else { done(nil) }
      FaultServer.reset(descriptor)
      return false
    case .closeAfterBody:
      _ = readBody(request.length, &buffer)
      done(nil)
      return false
    case .neverAnswer:
      _ = readBody(request.length, &buffer)
      done(nil)
      waitForClose()
      return false
    case .stopReading(let count):
      _ = readBody(min(count, request.length), &buffer)
      done(nil)
      waitForHangUp()
      return false
    }
  }

  private func readHeader(_ buffer: inout Data) -> (String, String, [String: String])? {
    let end = Data("\r\n\r\n".utf8)
    while buffer.range(of: end) == nil {
      guard buffer.count < 1 << 16, let more = receive(1 << 14) else { return nil }
      buffer.append(more)
    }
    guard let range = buffer.range(of: end) else { return nil }
    let text = String(decoding: buffer[buffer.startIndex..<range.lowerBound], as: UTF8.self)
    buffer = Data(buffer[range.upperBound...])
    let lines = text.components(separatedBy: "\r\n")
    let words = lines[0].split(separator: " ")
    guard words.count == 3 else { return nil }
    var fields: [String: String] = [:]
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { continue }
      fields[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
    }
    return (String(words[0]), String(words[1]), fields)
  }

  /// Nil when the client ends before the body does.
  private func readBody(_ length: Int, _ buffer: inout Data, bytesPerSecond: Int? = nil) -> Data? {
    var body = Data(buffer.prefix(length))
    buffer = Data(buffer.dropFirst(length))
    let start = Date()
    while body.count < length {
      let step = bytesPerSecond.map { max(1, $0 / 20) } ?? 1 << 16
      guard let more = receive(min(step, length - body.count)) else { return nil }
      body.append(more)
      if let bytesPerSecond {
        let due = start.addingTimeInterval(Double(body.count) / Double(bytesPerSecond))
        if due > Date() { Thread.sleep(until: due) }
      }
    }
    return body
  }

  private func answer(_ status: Int, _ headers: [String] = [], _ body: String = "") {
    let lines = ["HTTP/1.1 \(status) Scripted", "Content-Length: \(body.utf8.count)"] + headers + ["", body]
    write(lines.joined(separator: "\r\n"))
  }

  private func receive(_ most: Int) -> Data? {
    var bytes = [UInt8](repeating: 0, count: most)
    while true {
      let count = recv(descriptor, &bytes, most, 0)
      if count < 0, errno == EINTR { continue }
      return count > 0 ? Data(bytes[..<count]) : nil
    }
  }

  private func write(_ text: String) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      if count <= 0 { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Reads and drops until the client closes.
  private func waitForClose() { while receive(1 << 16) != nil {} }

  /// Waits for the client to close without reading anything.
  private func waitForHangUp() {
    while true {
      // POLLRDHUP, which Swift's Glibc module does not show.
      var entry = pollfd(fd: descriptor, events: 0x2000, revents: 0)
      if poll(&entry, 1, -1) > 0 { return }
    }
  }
}

/// An address on this machine that answers no SYN: a listener whose queue is full, so that the kernel drops what comes.
public final class BlackHole: Sendable {
  private let descriptors: [Int32]
  public let port: UInt16

  public init() throws {
    let (listener, port) = try FaultServer.listen(port: 0, ipv6: false)
    self.port = port
    Foundation.listen(listener, 0)
    var all = [listener]
    for _ in 0..<4 {
      let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
      address.sin_port = port.bigEndian
      withUnsafePointer(to: &address) { address in
        address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
          _ = connect(client, address, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      all.append(client)
    }
    descriptors = all
  }

  deinit { descriptors.forEach { close($0) } }

  public var url: String { "http://127.0.0.1:\(port)" }
}
