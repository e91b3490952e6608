import Glibc

/// Owns a listening TCP socket until a daemon takes it over.
struct ListeningSocket: ~Copyable {
  private let descriptor: Int32
  /// The port really bound, which differs from the one asked for when that was 0.
  let port: UInt16

  /// Binds and listens.
  /// - Throws: errno of the call that failed; EADDRINUSE when another program has the port.
  init(_ address: ListenAddress) throws(HTTPServerError) {
    let family =
      switch address.host {
      case .ipv4: AF_INET
      case .ipv6, .any: AF_INET6
      }
    let descriptor = socket(family, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
    guard descriptor >= 0 else {
      // A kernel without IPv6 has no [::]; every IPv4 address is the next best.
      if address.host == .any, errno == EAFNOSUPPORT {
        self = try ListeningSocket(ListenAddress(host: .ipv4([0, 0, 0, 0]), port: address.port))
        return
      }
      throw HTTPServerError(.listen(address.description), errno: errno)
    }
    var failure: Int32?
    // A restart must not wait for connections of the last life to leave TIME_WAIT.
    if setFlag(descriptor, SOL_SOCKET, SO_REUSEADDR, 1) != 0 { failure = errno }
    if family == AF_INET6, setFlag(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, address.host == .any ? 0 : 1) != 0 {
      failure = failure ?? errno
    }
    if failure == nil, bindSocket(descriptor, address) != 0 { failure = errno }
    if failure == nil, listen(descriptor, 1024) != 0 { failure = errno }
    let port = failure == nil ? boundPort(descriptor) : 0
    if failure == nil, port == 0 { failure = errno }
    if let failure {
      close(descriptor)
      throw HTTPServerError(.listen(address.description), errno: failure)
    }
    self.init(descriptor: descriptor, port: port)
  }

  private init(descriptor: Int32, port: UInt16) {
    self.descriptor = descriptor
    self.port = port
  }

  deinit { close(descriptor) }

  consuming func release() -> Int32 {
    let descriptor = descriptor
    discard self
    return descriptor
  }
}

private func setFlag(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) -> Int32 {
  var value = value
  return unsafe setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
}

private func bindSocket(_ descriptor: Int32, _ address: ListenAddress) -> Int32 {
  switch address.host {
  case .ipv4(let bytes):
    var socketAddress = sockaddr_in()
    socketAddress.sin_family = sa_family_t(AF_INET)
    socketAddress.sin_port = address.port.bigEndian
    unsafe withUnsafeMutableBytes(of: &socketAddress.sin_addr) { unsafe $0.copyBytes(from: bytes) }
    return unsafe withUnsafePointer(to: &socketAddress) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  case .ipv6, .any:
    var socketAddress = sockaddr_in6()
    socketAddress.sin6_family = sa_family_t(AF_INET6)
    socketAddress.sin6_port = address.port.bigEndian
    if case .ipv6(let bytes) = address.host {
      unsafe withUnsafeMutableBytes(of: &socketAddress.sin6_addr) { unsafe $0.copyBytes(from: bytes) }
    }
    return unsafe withUnsafePointer(to: &socketAddress) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in6>.size))
      }
    }
  }
}

/// 0 when the system does not tell.
private func boundPort(_ descriptor: Int32) -> UInt16 {
  var storage = sockaddr_in6()
  var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
  let result = unsafe withUnsafeMutablePointer(to: &storage) {
    unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe getsockname(descriptor, $0, &length) }
  }
  // sin_port and sin6_port lie at the same offset.
  return result == 0 ? UInt16(bigEndian: storage.sin6_port) : 0
}
