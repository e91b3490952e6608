import Glibc
import Platform
import Synchronization

/// The server's own thread beside the library's: lets late connections and late answers end on time, and drains the
/// sockets of refused uploads.
final class Caretaker: Sendable {
  private struct State {
    var pending: [ObjectIdentifier: (response: PendingResponse, deadline: ContinuousClock.Instant)] = [:]
    var lingering: [Lingering] = []
    var nextWake: ContinuousClock.Instant?
    var isEnding = false
  }
  private struct Lingering {
    let socket: Int32
    let deadline: ContinuousClock.Instant
  }
  private let state = Mutex(State())
  private let wakeup: Wakeup

  /// How often deadlines of connections are looked at.
  private static let tick: Duration = .seconds(1)
  /// How long a refused client may go on sending before its socket is closed.
  private static let lingerTime: Duration = .seconds(5)
  private static let lingersAtMost = 256

  init() throws(SystemError) {
    wakeup = try Wakeup()
  }

  func wake() { wakeup.signal() }

  /// From now on `response` expires after its limit.
  func watch(_ response: PendingResponse) {
    let deadline = ContinuousClock.now + response.limit
    let isSooner = state.withLock { state in
      // A resumed request comes by again; its time runs on.
      if state.pending[ObjectIdentifier(response)] == nil {
        state.pending[ObjectIdentifier(response)] = (response, deadline)
      }
      guard let next = state.nextWake else { return true }
      return deadline < next
    }
    if isSooner { wake() }
  }

  func forget(_ response: PendingResponse) {
    _ = state.withLock { $0.pending.removeValue(forKey: ObjectIdentifier(response)) }
  }

  /// Gives every waiting client its fallback answer.
  func expireAll() {
    let all = state.withLock { state in
      defer { state.pending = [:] }
      return state.pending.values.map(\.response)
    }
    for response in all { response.expire() }
  }

  /// Takes over a second descriptor of a connection whose upload was refused before it had been read. Closing a socket
  /// with unread bytes makes the kernel send a reset, which destroys the answer on its way to the client (RFC 9112 §9.6):
  /// what still comes is read and dropped for a while instead.
  func linger(_ socket: Int32) {
    let isKept = state.withLock { state in
      guard state.lingering.count < Caretaker.lingersAtMost else { return false }
      state.lingering.append(Lingering(socket: socket, deadline: .now + Caretaker.lingerTime))
      return true
    }
    if isKept { wake() } else { close(socket) }
  }

  func end() {
    state.withLock { $0.isEnding = true }
    wake()
  }

  /// The thread's body: runs until `end`. `onTick` is called at least once a second and after each `wake`.
  func run(onTick: (ContinuousClock.Instant) -> Void) {
    while true {
      let now = ContinuousClock.now
      onTick(now)
      let (expired, sockets, isEnding) = state.withLock { state in
        let expired = state.pending.values.filter { $0.deadline <= now }.map(\.response)
        for response in expired { state.pending.removeValue(forKey: ObjectIdentifier(response)) }
        let over = state.isEnding ? state.lingering : state.lingering.filter { $0.deadline <= now }
        for lingering in over { close(lingering.socket) }
        state.lingering.removeAll { lingering in over.contains { $0.socket == lingering.socket } }
        let next = state.pending.values.map(\.deadline).min() ?? now + Caretaker.tick
        state.nextWake = min(next, now + Caretaker.tick)
        return (expired, state.lingering.map(\.socket), state.isEnding)
      }
      for response in expired { response.expire() }
      if isEnding { return }
      wait(for: sockets, until: state.withLock(\.nextWake) ?? now)
    }
  }

  private func wait(for sockets: [Int32], until deadline: ContinuousClock.Instant) {
    var set = ([wakeup.number] + sockets).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    let left = max(.zero, deadline - .now).components
    // Rounded up, so that the deadline has passed on waking.
    let milliseconds = left.seconds * 1_000 + left.attoseconds / 1_000_000_000_000_000 + 1
    guard unsafe poll(&set, nfds_t(set.count), Int32(clamping: milliseconds)) > 0 else { return }
    if set[0].revents != 0 { wakeup.clear() }
    for item in set.dropFirst() where item.revents != 0 && !drain(item.fd) {
      // In this order: a closed number may at once be another connection's, and that one's place here.
      state.withLock { $0.lingering.removeAll { $0.socket == item.fd } }
      close(item.fd)
    }
  }

  /// Drops what has come; false when the client has closed.
  private func drain(_ socket: Int32) -> Bool {
    // Bounded, so that one fast client cannot hold the thread: 64 x 64 KiB a turn.
    unsafe withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 8) { buffer in
      for _ in 0..<64 {
        let count = unsafe recv(socket, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
        if count == 0 { return false }
        if count < 0 { return errno == EAGAIN || errno == EINTR }
      }
      return true
    }
  }
}
