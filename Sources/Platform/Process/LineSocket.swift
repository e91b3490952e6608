import Glibc
import Synchronization

/// A Unix stream socket that gives lines to any number of readers. Nobody waits for a reader: one that is slow loses whole
/// lines, which are counted.
package final class LineSocket: Sendable {
  private struct Reader {
    let number: Int32
    var pending: [UInt8] = []
  }
  private struct State {
    var readers: [Reader] = []
    var lost: Int64 = 0
    /// Set when no more lines come: what is pending may still be taken until then.
    var end: ContinuousClock.Instant?
  }

  private let path: String
  private let listener: FileDescriptor
  private let wakeup: Wakeup
  private let state: Mutex<State>
  private let thread: Mutex<Thread?>

  private static let readersAtMost = 64
  /// Bytes kept for a reader that is behind.
  private static let pendingAtMost = 256 * 1024

  /// Listens at `path`. A socket that a dead process left there is replaced; anything else is not.
  ///
  /// - Throws: `EADDRINUSE` when somebody listens there or another kind of file stands there.
  package init(path: String) throws(SystemError) {
    let listener = FileDescriptor(
      owning: try checked("make", "a socket") { UnixSocket.make() }, path: path)
    if try LineSocket.isAbandoned(path) { _ = unsafe unlink(path) }
    let bound = try unsafe UnixSocket.withAddress(path, "listen at") { address, length in
      unsafe bind(listener.number, address, length)
    }
    guard bound == 0, listen(listener.number, 16) == 0 else {
      throw SystemError(operation: "listen at", subject: path, code: errno)
    }
    self.path = path
    self.listener = listener
    wakeup = try Wakeup()
    state = Mutex(State())
    thread = Mutex(nil)
    let started = try Thread("event-socket", stackSize: 128 * 1024) { [unowned self] in serve() }
    thread.withLock { $0 = started }
  }

  deinit { end(patience: .zero) }

  /// Lines that a reader did not get because it was behind, all readers together.
  package var lost: Int64 { state.withLock(\.lost) }

  /// Gives every reader a line, its line feed included.
  package func send(_ line: String) {
    let bytes = Array(line.utf8)
    state.withLock { state in
      for index in state.readers.indices {
        if state.readers[index].pending.count + bytes.count > LineSocket.pendingAtMost {
          state.lost += 1
        } else {
          state.readers[index].pending += bytes
        }
      }
    }
    wakeup.signal()
  }

  /// Lets readers take what is pending for up to `patience`, then closes and removes the socket. Later calls do nothing.
  package func end(patience: Duration) {
    guard let thread = thread.withLock({ $0.take() }) else { return }
    state.withLock { $0.end = .now + patience }
    wakeup.signal()
    thread.join()
    _ = unsafe unlink(path)
  }

  private static func isAbandoned(_ path: String) throws(SystemError) -> Bool {
    var status = stat()
    guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return false }
    let probe = FileDescriptor(
      owning: try checked("make", "a socket") { UnixSocket.make() }, path: path)
    let result = try unsafe UnixSocket.withAddress(path, "connect to") { address, length in
      unsafe connect(probe.number, address, length)
    }
    return result == -1 && errno == ECONNREFUSED
  }

  /// The thread's body.
  private func serve() {
    while true {
      let (readers, end) = state.withLock { ($0.readers.map { ($0.number, !$0.pending.isEmpty) }, $0.end) }
      if let end, end <= .now || readers.allSatisfy({ !$0.1 }) { break }
      var set = [wakeup.number, listener.number].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      for (number, isPending) in readers {
        set.append(pollfd(fd: number, events: Int16(isPending ? POLLOUT | POLLIN : POLLIN), revents: 0))
      }
      let left = end.map { ContinuousClock.now.duration(to: $0).wholeMilliseconds } ?? -1
      guard unsafe poll(&set, nfds_t(set.count), left) > 0 else { continue }
      if set[0].revents != 0 { wakeup.clear() }
      if set[1].revents != 0 { welcome() }
      for item in set.dropFirst(2) where item.revents != 0 { look(after: item) }
    }
    state.withLock { state in
      for reader in state.readers { close(reader.number) }
      state.readers = []
    }
  }

  private func welcome() {
    let number = accept(listener.number, nil, nil)
    guard number >= 0 else { return }
    _ = fcntl(number, F_SETFD, FD_CLOEXEC)
    _ = fcntl(number, F_SETFL, O_NONBLOCK)
    let isTaken = state.withLock { state in
      guard state.readers.count < LineSocket.readersAtMost else { return false }
      state.readers.append(Reader(number: number))
      return true
    }
    if !isTaken { close(number) }
  }

  private func look(after item: pollfd) {
    state.withLock { state in
      guard let index = state.readers.firstIndex(where: { $0.number == item.fd }) else { return }
      var isGone = false
      if item.revents & Int16(POLLIN | POLLHUP | POLLERR) != 0 {
        // A reader has nothing to say; it only leaves.
        var byte: UInt8 = 0
        let count = unsafe recv(item.fd, &byte, 1, Int32(MSG_DONTWAIT))
        isGone = count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)
      }
      if !isGone, !state.readers[index].pending.isEmpty {
        let count = unsafe state.readers[index].pending.withUnsafeBytes {
          unsafe Glibc.send(item.fd, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
        }
        if count > 0 { state.readers[index].pending.removeFirst(count) }
        isGone = count < 0 && errno != EAGAIN && errno != EINTR
      }
      if isGone {
        close(item.fd)
        state.readers.remove(at: index)
      }
    }
  }
}
