import Glibc

/// Wakes a thread that waits for descriptors. Any number of signals before the next `clear` count as one.
///
/// A socket pair, because `eventfd` is hidden from Swift's Glibc module; unlike a pipe it is made close-on-exec in one
/// step.
package final class Wakeup: Sendable {
  private let reader: FileDescriptor
  private let writer: FileDescriptor

  package init() throws(SystemError) {
    var pair: (Int32, Int32) = (-1, -1)
    try checked("make", "a wake-up") {
      unsafe withUnsafeMutablePointer(to: &pair) { pair in
        unsafe pair.withMemoryRebound(to: Int32.self, capacity: 2) { numbers in
          unsafe socketpair(
            AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0, numbers)
        }
      }
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
