import Foundation

/// A GET with curl, which we did not write.
public enum HTTP {
  public struct Answer: Sendable {
    public let status: Int
    public let body: String
  }

  public static func get(_ address: String, arguments: [String] = []) throws -> Answer {
    let result = try Program.run(
      "curl", ["-sS", "--max-time", "10", "-w", "\n%{http_code}"] + arguments + [address])
    guard result.status == 0, let cut = result.output.lastIndex(of: "\n"),
      let status = Int(result.output[result.output.index(after: cut)...])
    else { throw Program.Failure(description: "GET \(address): \(result.errors)") }
    return Answer(status: status, body: String(result.output[..<cut]))
  }
}

/// A TCP port that nobody listens on at the moment, for servers that cannot take port 0 and tell.
public func freePort() throws -> Int {
  let (descriptor, port) = try boundSocket()
  close(descriptor)
  return port
}

/// A TCP socket on a free port of 127.0.0.1, to listen on.
public func boundSocket() throws -> (descriptor: Int32, port: Int) {
  let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
  var length = socklen_t(MemoryLayout<sockaddr_in>.size)
  let code = withUnsafeMutablePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      bind(listener, $0, length) == 0 ? getsockname(listener, $0, &length) : -1
    }
  }
  guard code == 0 else { throw Program.Failure(description: "no free port: errno \(errno)") }
  return (listener, Int(UInt16(bigEndian: address.sin_port)))
}
