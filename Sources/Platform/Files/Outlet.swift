import Glibc

/// Where bytes go for as long as somebody takes them: a file, a FIFO or a Unix stream socket (unix(7), fifo(7)). Nothing
/// here waits.
package struct Outlet: ~Copyable, Sendable {
  private let descriptor: FileDescriptor
  private let isSocket: Bool

  /// Opens a FIFO that somebody reads, connects to a socket that somebody listens at, else creates or empties a file.
  ///
  /// - Returns: nil while nobody is there.
  package static func open(_ path: String) throws(SystemError) -> Outlet? {
    var status = stat()
    let isSocket = unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
    let number =
      isSocket
      ? UnixSocket.make()
      : unsafe Glibc.open(path, O_WRONLY | O_NONBLOCK | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0o644)
    guard number >= 0 else {
      if errno == ENXIO { return nil }
      throw SystemError(operation: "open", subject: path, code: errno)
    }
    let descriptor = FileDescriptor(owning: number, path: path)
    if isSocket, try !connect(descriptor) { return nil }
    return Outlet(descriptor: descriptor, isSocket: isSocket)
  }

  /// Writes from the front of `bytes` what goes at once, and returns how many bytes that were: 0 when the reader is slow.
  ///
  /// - Throws: `EPIPE` or `ECONNRESET` when the reader is gone. A FIFO's signal SIGPIPE is the process's to ignore.
  package func write(_ bytes: ArraySlice<UInt8>) throws(SystemError) -> Int {
    let count = unsafe bytes.withUnsafeBytes { bytes in
      isSocket
        ? unsafe send(descriptor.number, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        : unsafe Glibc.write(descriptor.number, bytes.baseAddress, bytes.count)
    }
    if count >= 0 { return count }
    let code = errno
    if code == EAGAIN || code == EINTR { return 0 }
    throw SystemError(operation: "write", subject: descriptor.path, code: code)
  }

  private static func connect(_ descriptor: borrowing FileDescriptor) throws(SystemError) -> Bool {
    let result = try unsafe UnixSocket.withAddress(descriptor.path, "connect to") { address, length in
      unsafe Glibc.connect(descriptor.number, address, length)
    }
    if result == 0 { return true }
    let code = errno
    if code == ECONNREFUSED || code == EAGAIN || code == ENOENT { return false }
    throw SystemError(operation: "connect to", subject: descriptor.path, code: code)
  }
}
