import Glibc

/// Every open connection with what bounds it. Pure but for the descriptors it names: time is an argument.
///
/// The library's own timeout counts silence only, so a client that sends or takes one byte a minute would hold its place
/// for ever. Here each phase of a connection has a deadline instead: a fixed allowance, and for bodies the time they
/// take at the slowest rate that is still put up with.
struct ConnectionTable {
  private struct Entry {
    let limitKey: [UInt8]?
    var deadline: ContinuousClock.Instant?
  }
  private var entries: [Int32: Entry] = [:]
  private var countByAddress: [[UInt8]: Int] = [:]

  let limits: HTTPServerLimits
  /// Requests whose head has been read and whose answer is not sent yet.
  private(set) var activeRequests = 0
  /// Connections ended because a deadline had passed.
  private(set) var expired = 0

  init(limits: HTTPServerLimits) {
    self.limits = limits
  }

  var count: Int { entries.count }

  /// False when this client already has as many connections as one may have. Loopback has no such limit: there a reverse
  /// proxy stands for all its clients.
  func admits(_ peer: PeerAddress) -> Bool {
    peer.isLoopback || countByAddress[peer.limitKey, default: 0] < limits.connectionsPerAddress
  }

  mutating func opened(_ socket: Int32, peer: PeerAddress, now: ContinuousClock.Instant) {
    let key = peer.isLoopback ? nil : peer.limitKey
    if let key { countByAddress[key, default: 0] += 1 }
    entries[socket] = Entry(limitKey: key, deadline: now + limits.headTime)
  }

  mutating func closed(_ socket: Int32) {
    guard let entry = entries.removeValue(forKey: socket), let key = entry.limitKey else { return }
    let left = countByAddress[key, default: 1] - 1
    countByAddress[key] = left > 0 ? left : nil
  }

  /// The head of a request is there; its body, if any, has `length` bytes (nil: unknown, so as large as may be).
  mutating func began(_ socket: Int32, bodyLength length: Int64?, now: ContinuousClock.Instant) {
    activeRequests += 1
    entries[socket]?.deadline = now + limits.time(forBytes: length ?? 0)
  }

  /// The body has been read and the answer is being made: our own time, not the client's.
  mutating func working(_ socket: Int32) {
    entries[socket]?.deadline = nil
  }

  mutating func answering(_ socket: Int32, length: Int64, now: ContinuousClock.Instant) {
    entries[socket]?.deadline = now + limits.time(forBytes: length)
  }

  mutating func completed(_ socket: Int32, now: ContinuousClock.Instant) {
    activeRequests -= 1
    entries[socket]?.deadline = now + limits.headTime
  }

  /// Sockets whose deadline has passed, each named once.
  mutating func takeExpired(now: ContinuousClock.Instant) -> [Int32] {
    var late: [Int32] = []
    for (socket, entry) in entries {
      if let deadline = entry.deadline, deadline <= now { late.append(socket) }
    }
    for socket in late { entries[socket]?.deadline = nil }
    expired += late.count
    return late
  }
}

/// What one client may take from a server.
package struct HTTPServerLimits: Equatable, Sendable {
  /// Open connections in all, 1 or more.
  package var connections = 4_096
  /// Open connections per address (IPv6: per /64), loopback excepted. A site of recorders behind one NAT counts as one
  /// address with up to four connections per recorder.
  package var connectionsPerAddress = 512
  /// Silence after which a connection is closed, whole seconds.
  package var idleTime: Duration = .seconds(60)
  /// Time from the opening of a connection, or the end of the request before, to the end of the next head.
  package var headTime: Duration = .seconds(75)
  /// Allowance for any body on top of what `minimumRate` gives.
  package var bodyGrace: Duration = .seconds(60)
  /// Bytes per second a body must average after the grace, either way.
  package var minimumRate: Int64 = 1_024
  /// Bytes of buffer per connection; also bounds the head of a request, which may take half.
  package var memoryPerConnection = 65_536

  package init() {}

  func time(forBytes length: Int64) -> Duration { bodyGrace + .seconds(length / max(minimumRate, 1)) }
}
