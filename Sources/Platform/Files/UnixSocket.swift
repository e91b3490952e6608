import Glibc

/// Unix stream sockets (unix(7)): close-on-exec, and never waited for.
enum UnixSocket {
  private static let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)

  /// The number of a new socket, the caller's to close; -1 with `errno` when there is none.
  static func make() -> Int32 { socket(AF_UNIX, type, 0) }

  /// Two sockets that are connected, the caller's to close; nil with `errno` when there are none. They serve as a pipe
  /// that is close-on-exec from the first moment: `pipe2` and `eventfd` are hidden from Swift's Glibc module.
  static func makePair() -> (Int32, Int32)? {
    var pair: (Int32, Int32) = (-1, -1)
    let result = unsafe withUnsafeMutablePointer(to: &pair) { pair in
      unsafe pair.withMemoryRebound(to: Int32.self, capacity: 2) { unsafe socketpair(AF_UNIX, type, 0, $0) }
    }
    return result == 0 ? pair : nil
  }

  /// Calls `body` with a path as an address; `ENAMETOOLONG` when it does not fit into one.
  static func withAddress<Result>(
    _ path: String, _ operation: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) throws(SystemError) -> Result {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
      throw SystemError(operation: operation, subject: path, code: ENAMETOOLONG)
    }
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    return unsafe withUnsafePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe body(address, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }
}
