import CMicroHTTPD
import Platform
import Synchronization

/// A certificate chain and its private key, both PEM text.
package struct TLSIdentity: Sendable {
  package let certificate: [UInt8]
  package let key: [UInt8]

  package init(certificate: [UInt8], key: [UInt8]) {
    self.certificate = certificate
    self.key = key
  }
}

/// An HTTP/1.1 server over libmicrohttpd: a pool of threads with epoll, keep-alive, TLS by GnuTLS. Handlers see Swift
/// values only.
package final class HTTPServer: Sendable {
  /// The address listened on, with the real port.
  package let address: ListenAddress
  private let core: ServerCore
  private let daemon: Mutex<Daemon?>
  private let caretaker: Thread

  /// Listens and starts serving.
  /// - Parameters:
  ///   - threads: event loops; each may read files, none waits for one.
  /// - Throws: `.listen` when the address cannot be had, `.start` when threads or the TLS identity fail.
  package init(
    listeningOn address: ListenAddress, identity: TLSIdentity? = nil, threads: Int = 4,
    limits: HTTPServerLimits = HTTPServerLimits(), handler: any RequestHandler
  ) throws(HTTPServerError) {
    let socket = try ListeningSocket(address)
    let bound = ListenAddress(host: address.host, port: socket.port)
    self.address = bound
    do {
      let core = try ServerCore(handler: handler, isSecure: identity != nil, limits: limits)
      self.core = core
      caretaker = try Thread("http-caretaker") {
        core.caretaker.run { core.endExpiredConnections(now: $0) }
      }
    } catch {
      throw HTTPServerError(.start(bound.description), cause: "\(error)")
    }
    do {
      daemon = Mutex(try Daemon(socket, core: core, identity: identity, threads: threads, limits: limits, name: bound))
    } catch {
      core.caretaker.end()
      caretaker.join()
      throw error
    }
  }

  /// Open connections, requests being answered, and connections ended for slowness so far.
  package var load: (connections: Int, requests: Int, expired: Int) {
    core.connections.withLock { ($0.count, $0.activeRequests, $0.expired) }
  }

  /// Stops taking connections, lets requests under way finish for at most `grace`, then ends the rest. Waiting answers
  /// get their fallback at once. Later calls do nothing.
  package func stop(grace: Duration) {
    guard let daemon = daemon.withLock({ $0.take() }) else { return }
    core.beginStopping()
    core.caretaker.expireAll()
    core.waitUntilQuiet(timeout: grace)
    // The library must not be stopped with connections suspended.
    core.caretaker.expireAll()
    _ = consume daemon
    core.caretaker.end()
    caretaker.join()
  }
}
