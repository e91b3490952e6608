import CMicroHTTPD
import Glibc
import Platform
import Synchronization

/// What the library's callbacks reach through their context pointer.
final class ServerCore: Sendable {
  let handler: any RequestHandler
  let isSecure: Bool
  let connections: Monitor<ConnectionTable>
  let caretaker: Caretaker
  private let stopping = Atomic(false)

  init(handler: any RequestHandler, isSecure: Bool, limits: HTTPServerLimits) throws(SystemError) {
    self.handler = handler
    self.isSecure = isSecure
    connections = Monitor(ConnectionTable(limits: limits))
    caretaker = try Caretaker()
  }

  var isStopping: Bool { stopping.load(ordering: .acquiring) }

  func beginStopping() { stopping.store(true, ordering: .releasing) }

  /// Returns when no request is under way, or after `timeout`.
  func waitUntilQuiet(timeout: Duration) {
    _ = connections.wait(timeout: timeout) { $0.activeRequests == 0 ? () : nil }
  }

  /// Ends the connections that have taken too long.
  func endExpiredConnections(now: ContinuousClock.Instant) {
    connections.withLock { table in
      // Under the lock a socket's number is still that connection's: the library reports the end before it closes.
      for socket in table.takeExpired(now: now) { shutdown(socket, Int32(SHUT_RDWR)) }
    }
  }

  private static func from(_ context: UnsafeMutableRawPointer?) -> ServerCore? {
    unsafe context.map { unsafe Unmanaged<ServerCore>.fromOpaque($0).takeUnretainedValue() }
  }

  // The callbacks below are C functions: they capture nothing and reach everything through `context`.

  static let accept: MHD_AcceptPolicyCallback = { context, address, _ in
    guard let core = unsafe ServerCore.from(context) else { return .NO }
    // MHD_quiesce_daemon would stop listening, but races with its own threads when there are several (0.9.75 aborts
    // with "Failed to remove listen FD from epoll set"); a connection that is closed at once does as well.
    if core.isStopping { return .NO }
    let peer = unsafe PeerAddress(address)
    return core.connections.withLock { $0.admits(peer) } ? .YES : .NO
  }

  static let connectionChanged: MHD_NotifyConnectionCallback = { context, connection, _, change in
    guard let core = unsafe ServerCore.from(context), let connection = unsafe connection.map({ unsafe Connection($0) })
    else { return }
    if change == .CONNECTION_NOTIFY_STARTED {
      let peer = connection.peer
      core.connections.withLock { $0.opened(connection.socket, peer: peer, now: .now) }
    } else {
      core.connections.withLock { $0.closed(connection.socket) }
    }
  }

  /// The request line has been read. What this returns comes back as the request's own context.
  static let begin:
    @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?, OpaquePointer?) -> UnsafeMutableRawPointer? = {
      _, target, _ in
      let bytes = unsafe target.map { unsafe Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) } ?? []
      return unsafe Unmanaged.passRetained(Exchange(rawTarget: bytes, now: .now)).toOpaque()
    }

  static let handle: MHD_AccessHandlerCallback = {
    context, connection, _, method, _, upload, uploadSize, requestContext in
    guard let core = unsafe ServerCore.from(context), let connection = unsafe connection,
      let uploadSize = unsafe uploadSize, let opaque = unsafe requestContext?.pointee
    else { return .NO }
    let exchange = unsafe Unmanaged<Exchange>.fromOpaque(opaque).takeUnretainedValue()
    let bytes = unsafe UnsafeRawBufferPointer(start: upload, count: upload == nil ? 0 : uploadSize.pointee)
    let name = unsafe method.map { unsafe String(cString: $0) } ?? ""
    unsafe uploadSize.pointee = 0
    let result = unsafe exchange.step(core, Connection(connection), method: name, upload: bytes.bytes)
    return result == .goOn ? .YES : .NO
  }

  static let completed: MHD_RequestCompletedCallback = { context, connection, requestContext, reason in
    guard let core = unsafe ServerCore.from(context), let connection = unsafe connection,
      let opaque = unsafe requestContext?.pointee
    else { return }
    unsafe requestContext?.pointee = nil
    let exchange = unsafe Unmanaged<Exchange>.fromOpaque(opaque).takeRetainedValue()
    unsafe exchange.completed(core, Connection(connection), isWhole: reason == .REQUEST_TERMINATED_COMPLETED_OK)
  }

  static let notice: @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?) -> Void = { context, line in
    guard let core = unsafe ServerCore.from(context), let line = unsafe line else { return }
    core.handler.notice(unsafe String(cString: line))
  }
}
