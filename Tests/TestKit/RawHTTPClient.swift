import Foundation

/// A blocking HTTP/1.1 client that sends exactly the bytes it is told to, valid or not, over one TCP connection to
/// 127.0.0.1.
public final class RawHTTPClient {
  private let socket: Int32
  private var unread: [UInt8] = []
  /// Lives as long as the client: the server it talks to, say.
  public var companion: AnyObject?

  public struct Failure: Error, CustomStringConvertible {
    public let description: String
  }

  public struct Answer {
    public let status: Int
    /// Names in lower case.
    public let headers: [(name: String, value: String)]
    public let body: [UInt8]

    public var text: String { String(decoding: body, as: UTF8.self) }
    public subscript(_ name: String) -> String? { headers.first { $0.name == name.lowercased() }?.value }
  }

  /// - Parameter timeout: seconds a read or write may block.
  public init(port: UInt16, timeout: Int = 60) throws {
    socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var limit = timeval(tv_sec: timeout, tv_usec: 0)
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    if result != 0 {
      let code = errno
      close(socket)
      throw Failure(description: "connect: \(String(cString: strerror(code)))")
    }
  }

  deinit { close(socket) }

  public func send(_ text: String) throws { try send(Array(text.utf8)) }

  public func send(_ bytes: [UInt8]) throws {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw Failure(description: "send: \(String(cString: strerror(errno)))") }
      sent += count
    }
  }

  /// Sends a request with its Content-Length, and reads the answer.
  public func request(
    _ method: String, _ target: String, headers: [String] = [], body: [UInt8]? = nil
  ) throws -> Answer {
    var head = "\(method) \(target) HTTP/1.1\r\nHost: localhost\r\n"
    for header in headers { head += header + "\r\n" }
    if let body { head += "Content-Length: \(body.count)\r\n" }
    try send(Array((head + "\r\n").utf8) + (body ?? []))
    return try answer(to: method)
  }

  /// Reads one final answer; interim ones (100) are skipped.
  public func answer(to method: String = "GET") throws -> Answer {
    while true {
      let head = String(decoding: try readHead(), as: UTF8.self)
      let lines = head.components(separatedBy: "\r\n")
      guard let status = lines[0].split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
        throw Failure(description: "not a status line: \(lines[0])")
      }
      let headers = lines.dropFirst().compactMap { line -> (name: String, value: String)? in
        guard let colon = line.firstIndex(of: ":") else { return nil }
        return (
          line[..<colon].lowercased(), line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        )
      }
      if status < 200 { continue }
      let length = headers.first { $0.name == "content-length" }.flatMap { Int($0.value) } ?? 0
      let hasBody = method != "HEAD" && status != 204 && status != 304
      let body = hasBody ? try read(length) : []
      return Answer(status: status, headers: headers, body: body)
    }
  }

  /// True when the server closes the connection, sending nothing more, within the timeout.
  public func isClosedByServer() -> Bool {
    var byte: UInt8 = 0
    return unread.isEmpty && recv(socket, &byte, 1, 0) == 0
  }

  private func readHead() throws -> [UInt8] {
    let end: [UInt8] = [13, 10, 13, 10]
    while true {
      if let range = unread.firstRange(of: end) {
        let head = Array(unread[..<range.lowerBound])
        unread.removeSubrange(..<range.upperBound)
        return head
      }
      try fill()
    }
  }

  private func read(_ count: Int) throws -> [UInt8] {
    while unread.count < count { try fill() }
    let body = Array(unread[..<count])
    unread.removeSubrange(..<count)
    return body
  }

  private func fill() throws {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = recv(socket, &buffer, buffer.count, 0)
    guard count > 0 else {
      throw Failure(description: count == 0 ? "closed by the server" : "recv: \(String(cString: strerror(errno)))")
    }
    unread += buffer[..<count]
  }
}
