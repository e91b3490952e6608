import Glibc

/// Where a server listens: `127.0.0.1:8080`, `[::1]:8080`, `0.0.0.0:80`, `:8080` (every address, IPv4 and IPv6).
package struct ListenAddress: Equatable, Sendable, CustomStringConvertible {
  package enum Host: Equatable, Sendable {
    /// Four bytes.
    case ipv4([UInt8])
    /// Sixteen bytes.
    case ipv6([UInt8])
    /// IPv6 and IPv4 both, on every interface.
    case any
  }
  package let host: Host
  /// 0 lets the system choose.
  package let port: UInt16

  package init(host: Host, port: UInt16) {
    self.host = host
    self.port = port
  }

  /// What `serve` uses unless told otherwise.
  package static let standard = ListenAddress(host: .ipv4([127, 0, 0, 1]), port: 8080)

  /// Reads `ADDR:PORT`. Names are not looked up, but for `localhost`; nil for anything else.
  package init?(_ text: some StringProtocol) {
    guard let colon = text.lastIndex(of: ":") else { return nil }
    let hostText = text[..<colon]
    let portText = text[text.index(after: colon)...]
    guard !portText.isEmpty, portText.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let port = UInt16(portText) else {
      return nil
    }
    if hostText.isEmpty || hostText == "*" {
      self.init(host: .any, port: port)
    } else if hostText == "localhost" {
      self.init(host: .ipv4([127, 0, 0, 1]), port: port)
    } else if hostText.hasPrefix("["), hostText.hasSuffix("]") {
      guard let bytes = networkBytes(String(hostText.dropFirst().dropLast()), family: AF_INET6, count: 16) else {
        return nil
      }
      self.init(host: .ipv6(bytes), port: port)
    } else {
      guard let bytes = networkBytes(String(hostText), family: AF_INET, count: 4) else { return nil }
      self.init(host: .ipv4(bytes), port: port)
    }
  }

  /// True when only programs on this machine can connect.
  package var isLoopback: Bool {
    switch host {
    case .ipv4(let bytes), .ipv6(let bytes): PeerAddress(bytes: bytes).isLoopback
    case .any: false
    }
  }

  package var description: String {
    switch host {
    case .ipv4(let bytes): "\(PeerAddress(bytes: bytes)):\(port)"
    case .ipv6(let bytes): "[\(bytes.allSatisfy { $0 == 0 } ? "::" : PeerAddress(bytes: bytes).description)]:\(port)"
    case .any: "*:\(port)"
    }
  }
}

private func networkBytes(_ text: String, family: Int32, count: Int) -> [UInt8]? {
  var bytes = [UInt8](repeating: 0, count: count)
  let result = unsafe bytes.withUnsafeMutableBytes { unsafe inet_pton(family, text, $0.baseAddress) }
  return result == 1 ? bytes : nil
}
