import Glibc

/// Who is at the other end of a connection: an IP address without port.
package struct PeerAddress: Hashable, Sendable, CustomStringConvertible {
  /// 4 bytes for IPv4 (IPv4 mapped into IPv6 too), 16 for IPv6, none when unknown.
  package let bytes: [UInt8]

  package init(bytes: [UInt8]) {
    let mappedPrefix: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
    self.bytes = bytes.count == 16 && bytes.starts(with: mappedPrefix) ? Array(bytes[12...]) : bytes
  }

  init(_ address: UnsafePointer<sockaddr>?) {
    guard let address = unsafe address else {
      self.init(bytes: [])
      return
    }
    switch unsafe Int32(address.pointee.sa_family) {
    case AF_INET:
      self.init(
        bytes: unsafe address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
          unsafe withUnsafeBytes(of: $0.pointee.sin_addr) { unsafe Array($0) }
        })
    case AF_INET6:
      self.init(
        bytes: unsafe address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
          unsafe withUnsafeBytes(of: $0.pointee.sin6_addr) { unsafe Array($0) }
        })
    default: self.init(bytes: [])
    }
  }

  /// 127.0.0.0/8 or ::1.
  package var isLoopback: Bool {
    bytes.count == 4 ? bytes[0] == 127 : bytes == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
  }

  /// What counts as one client for limits: an IPv4 address, or the /64 of an IPv6 one, of which a host has 2^64.
  var limitKey: [UInt8] { bytes.count == 16 ? Array(bytes[..<8]) : bytes }

  package var description: String {
    switch bytes.count {
    case 4: bytes.map(String.init).joined(separator: ".")
    case 16: ipv6Text(bytes)
    default: "unknown"
    }
  }
}

/// The form of RFC 5952: lower case, no leading zeros, the longest run of two or more zero groups as `::`.
private func ipv6Text(_ bytes: [UInt8]) -> String {
  let groups = (0..<8).map { UInt16(bytes[2 * $0]) << 8 | UInt16(bytes[2 * $0 + 1]) }
  var longest = 0..<0
  var index = 0
  while index < 8 {
    let end = groups[index...].firstIndex { $0 != 0 } ?? 8
    if end - index > max(longest.count, 1) { longest = index..<end }
    index = max(end, index + 1)
  }
  let texts = groups.map { String($0, radix: 16) }
  if longest.isEmpty { return texts.joined(separator: ":") }
  return texts[..<longest.lowerBound].joined(separator: ":") + "::"
    + texts[longest.upperBound...].joined(separator: ":")
}
