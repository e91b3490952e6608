import Glibc

/// A system call that failed: what was being done, to what, and what came back.
package struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
  /// A verb that follows "cannot": `create`, `read`, `rename`.
  package let operation: String
  /// A path, an address or another name a person can act on.
  package let subject: String
  /// The `errno` value.
  package let code: Int32

  package init(operation: String, subject: String, code: Int32) {
    self.operation = operation
    self.subject = subject
    self.code = code
  }

  package var description: String { "cannot \(operation) \(subject): \(SystemError.reason(code))" }

  /// The system's own words for an `errno` value.
  package static func reason(_ code: Int32) -> String {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
      guard let start = buffer.baseAddress, unsafe strerror_r(code, start, buffer.count) == 0 else {
        return "error \(code)"
      }
      return unsafe String(cString: start)
    }
  }

  /// There is no such file or directory (`ENOENT`).
  package var isMissing: Bool { code == ENOENT }
  /// The name is taken (`EEXIST`).
  package var isTaken: Bool { code == EEXIST }
  /// The disk, or the user's share of it, is full (`ENOSPC`, `EDQUOT`, `EFBIG`).
  package var isFull: Bool { code == ENOSPC || code == EDQUOT || code == EFBIG }
  /// The disk itself fails or has become read-only (`EIO`, `EROFS`).
  package var isDiskFailure: Bool { code == EIO || code == EROFS }
  /// The directory holds something (`ENOTEMPTY`, on some systems `EEXIST`).
  package var isNotEmpty: Bool { code == ENOTEMPTY || code == EEXIST }
  /// The caller has no right to do this (`EACCES`, `EPERM`).
  package var isDenied: Bool { code == EACCES || code == EPERM }
}

/// Repeats `call` for as long as a signal interrupts it.
func uninterrupted<Result: FixedWidthInteger & SignedInteger>(_ call: () -> Result) -> Result {
  while true {
    let result = call()
    if result != -1 || errno != EINTR { return result }
  }
}

/// Makes `call`, which answers -1 when it fails, and turns that into an error.
@discardableResult
func checked<Result: FixedWidthInteger & SignedInteger>(
  _ operation: String, _ subject: @autoclosure () -> String, _ call: () -> Result
) throws(SystemError) -> Result {
  let result = uninterrupted(call)
  if result == -1 {
    let code = errno
    throw SystemError(operation: operation, subject: subject(), code: code)
  }
  return result
}
