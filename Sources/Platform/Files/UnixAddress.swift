import Glibc

/// A path as the address of a Unix socket (unix(7)).
enum UnixAddress {
  /// Calls `body` with the address; `ENAMETOOLONG` when the path does not fit into one.
  static func with<Result>(
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
