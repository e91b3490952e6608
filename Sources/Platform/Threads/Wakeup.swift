import Glibc

/// Wakes a thread that waits for descriptors. Any number of signals before the next `clear` count as one.
///
/// A pair of sockets, for the reasons that `UnixSocket.makePair` gives.
package final class Wakeup: Sendable {
  private let reader: FileDescriptor
  private let writer: FileDescriptor

  package init() throws(SystemError) {
    guard let pair = UnixSocket.makePair() else {
      throw SystemError(operation: "make", subject: "a wake-up", code: errno)
    }
    reader = FileDescriptor(owning: pair.0, path: "wake-up")
    writer = FileDescriptor(owning: pair.1, path: "wake-up")
  }

  /// For `poll`: readable after `signal` until `clear`.
  package var number: Int32 { reader.number }

  package func signal() {
    var byte: UInt8 = 1
    // A full buffer means that the reader is going to wake anyway.
    _ = uninterrupted { unsafe write(writer.number, &byte, 1) }
  }

  /// Takes back all signals so far.
  package func clear() {
    var bytes: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    while uninterrupted({ unsafe read(reader.number, &bytes, 32) }) == 32 {}
  }

  /// Waits for a signal and takes it back. False when none came within `timeout` (nil: waits without end).
  package func wait(timeout: Duration?) throws(SystemError) -> Bool {
    guard try Poll.wait(readable: reader.number, timeout: timeout) else { return false }
    clear()
    return true
  }
}
