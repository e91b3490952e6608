import Glibc

/// F_SETSIG and F_SETLEASE of linux/fcntl.h, which Swift's Glibc module hides.
private let setSignal: Int32 = 10
private let setLease: Int32 = 1024

/// Owns one file descriptor, closed with `close`. Interrupted calls are repeated; short writes are completed.
package struct FileDescriptor: ~Copyable, Sendable {
  private let owned: OwnedNumber
  /// The name in error messages.
  package let path: String

  /// Takes over an open descriptor.
  package init(owning number: Int32, path: String) {
    owned = OwnedNumber(number)
    self.path = path
  }

  /// The kernel's number, for calls such as `poll`. It stays this value's to close.
  package var number: Int32 { owned.number }

  /// Opens an existing file; `path` is followed as the caller gave it, symbolic links included.
  package static func open(forReading path: String) throws(SystemError) -> FileDescriptor {
    let number = try checked("open", path) { unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) }
    return FileDescriptor(owning: number, path: path)
  }

  /// Creates a file or empties an existing one, for results that a person asked for by path.
  package static func create(replacing path: String) throws(SystemError) -> FileDescriptor {
    let number = try checked("create", path) {
      unsafe Glibc.open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0o644)
    }
    return FileDescriptor(owning: number, path: path)
  }

  /// Closes and reports what `close` says, which on network file systems may be a failed write.
  package consuming func close() throws(SystemError) {
    let path = path
    let number = release()
    // Not repeated after EINTR: Linux has freed the number by then, and another thread may own it.
    if Glibc.close(number) == -1, errno != EINTR {
      throw SystemError(operation: "close", subject: path, code: errno)
    }
  }

  /// Gives the number away to code that closes it, such as a C library.
  package consuming func release() -> Int32 { owned.release() }

  /// Another descriptor of the same open file.
  package func duplicate() throws(SystemError) -> FileDescriptor {
    let copy = try checked("open", path) { fcntl(number, F_DUPFD_CLOEXEC, 0) }
    return FileDescriptor(owning: copy, path: path)
  }

  /// Reads from the current position. Returns the count of bytes read, 0 at the end.
  package func read(into buffer: inout MutableRawSpan) throws(SystemError) -> Int {
    let count = unsafe buffer.withUnsafeMutableBytes { bytes in
      uninterrupted { unsafe Glibc.read(number, bytes.baseAddress, bytes.count) }
    }
    if count == -1 { throw failure("read") }
    return count
  }

  /// Reads at `offset` bytes from the start without moving the position. Returns the count of bytes read, 0 at the end.
  package func read(into buffer: inout MutableRawSpan, at offset: Int64) throws(SystemError) -> Int {
    let count = unsafe buffer.withUnsafeMutableBytes { bytes in
      uninterrupted { unsafe pread(number, bytes.baseAddress, bytes.count, off_t(offset)) }
    }
    if count == -1 { throw failure("read") }
    return count
  }

  /// Reads from the current position up to `buffer.count` bytes. Returns the count of bytes read, 0 at the end.
  package func read(into buffer: inout [UInt8]) throws(SystemError) -> Int {
    var span = buffer.mutableSpan
    var bytes = unsafe span.mutableBytes
    return try read(into: &bytes)
  }

  /// Reads at `offset` bytes from the start up to `buffer.count` bytes. Returns the count of bytes read, 0 at the end.
  package func read(into buffer: inout [UInt8], at offset: Int64) throws(SystemError) -> Int {
    var span = buffer.mutableSpan
    var bytes = unsafe span.mutableBytes
    return try read(into: &bytes, at: offset)
  }

  /// Reads on to the end of the file. For small files: `limit` bytes at most, then `EFBIG`.
  package func readAll(limit: Int) throws(SystemError) -> [UInt8] {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: min(max(limit, 0) + 1, 64 * 1024))
    while true {
      let count = try read(into: &chunk)
      if count == 0 { return bytes }
      bytes.append(contentsOf: chunk[..<count])
      if bytes.count > limit { throw SystemError(operation: "read", subject: path, code: EFBIG) }
    }
  }

  /// Writes all of `bytes` at the current position.
  package func writeAll(_ bytes: RawSpan) throws(SystemError) { try writeAll(bytes, at: nil) }

  /// Writes all of `bytes` at `offset` bytes from the start without moving the position; nil: at the current position.
  package func writeAll(_ bytes: RawSpan, at offset: Int64?) throws(SystemError) {
    let code: Int32 = unsafe bytes.withUnsafeBytes { buffer in
      var done = 0
      while done < buffer.count {
        let part = unsafe UnsafeRawBufferPointer(rebasing: buffer[done...])
        let count = uninterrupted {
          if let offset { return unsafe pwrite(number, part.baseAddress, part.count, off_t(offset) + done) }
          return unsafe Glibc.write(number, part.baseAddress, part.count)
        }
        if count == -1 { return errno }
        done += count
      }
      return 0
    }
    if code != 0 { throw SystemError(operation: "write", subject: path, code: code) }
  }

  /// Has writes at an offset go past the page cache (`O_DIRECT`), or through it again. False where the file system cannot.
  func bypassCache(_ bypasses: Bool) -> Bool {
    let flags = fcntl(number, F_GETFL)
    guard flags != -1 else { return false }
    // With O_APPEND, `pwrite` would not write where it is told to.
    let plain = flags & ~(O_APPEND | directFlag)
    if fcntl(number, F_SETFL, bypasses ? plain | directFlag : plain) == 0 { return true }
    if bypasses { _ = fcntl(number, F_SETFL, plain) }
    return false
  }

  package func writeAll(_ bytes: [UInt8]) throws(SystemError) { try unsafe writeAll(bytes.span.bytes) }

  /// Makes content and size durable (`fsync`). After a failure the pages that were not written count as clean, so a
  /// second call that succeeds proves nothing: the file must be given up.
  package func sync() throws(SystemError) {
    if uninterrupted({ fsync(number) }) == -1 { throw failure("sync") }
  }

  package func truncate(to size: Int64) throws(SystemError) {
    if uninterrupted({ ftruncate(number, off_t(size)) }) == -1 { throw failure("truncate") }
  }

  /// Moves the position to `offset` bytes from the start.
  package func seek(to offset: Int64) throws(SystemError) {
    if lseek(number, off_t(offset), SEEK_SET) == -1 { throw failure("seek in") }
  }

  package func status() throws(SystemError) -> FileStatus {
    var raw = stat()
    if unsafe fstat(number, &raw) == -1 { throw failure("examine") }
    return FileStatus(raw)
  }

  /// Whether this is the only open descriptor of its file, as far as the file system can tell: a write lease is given for
  /// no other (fcntl_locking(2)). It is given back at once, and whoever opens the file meanwhile sends a signal that is
  /// ignored, in place of SIGIO, which would end the process.
  package var isOpenOnlyHere: Bool {
    guard fcntl(number, setSignal, SIGURG) == 0, fcntl(number, setLease, F_WRLCK) == 0 else { return false }
    return fcntl(number, setLease, F_UNLCK) == 0
  }

  /// Size in bytes.
  package func size() throws(SystemError) -> Int64 { try status().size }

  private func failure(_ operation: String) -> SystemError {
    let code = errno
    return SystemError(operation: operation, subject: path, code: code)
  }
}

/// O_DIRECT of asm/fcntl.h, which Swift's Glibc module hides: it is built without _GNU_SOURCE.
#if arch(arm64)
  private let directFlag: Int32 = 0o200000
#else
  private let directFlag: Int32 = 0o40000
#endif

/// The number alone, so that ownership can be given up (`discard` wants fields that need no clean-up).
struct OwnedNumber: ~Copyable, Sendable {
  let number: Int32

  init(_ number: Int32) { self.number = number }

  deinit { Glibc.close(number) }

  consuming func release() -> Int32 {
    let number = number
    discard self
    return number
  }
}
