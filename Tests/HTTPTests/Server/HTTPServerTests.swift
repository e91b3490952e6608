import Foundation
import Synchronization
import TestKit
import Testing

@testable import HTTP

/// Answers by a closure and keeps what the server reports.
private final class TestHandler: RequestHandler {
  private let respond: @Sendable (IncomingRequest) -> Answer
  private let state = Mutex<[ExchangeRecord]>([])
  private let over = DispatchSemaphore(value: 0)

  init(_ respond: @escaping @Sendable (IncomingRequest) -> Answer) { self.respond = respond }

  func answer(_ request: IncomingRequest) -> Answer { respond(request) }
  func completed(_ record: ExchangeRecord) {
    state.withLock { $0.append(record) }
    over.signal()
  }
  func notice(_ line: String) {}
  /// Waits for the next request to be over, in order of their end.
  func nextRecord() -> ExchangeRecord? {
    guard over.wait(timeout: .now() + 60) == .success else { return nil }
    return state.withLock { $0.removeFirst() }
  }
}

private final class Collector: BodyReceiver {
  private var bytes: [UInt8] = []
  private var pieces = 0
  private let onReceive: @Sendable () -> Void
  private let onAbandon: @Sendable () -> Void
  init(onReceive: @escaping @Sendable () -> Void = {}, onAbandon: @escaping @Sendable () -> Void = {}) {
    self.onReceive = onReceive
    self.onAbandon = onAbandon
  }
  func receive(_ bytes: RawSpan) {
    onReceive()
    pieces += 1
    bytes.withUnsafeBytes { self.bytes += $0 }
  }
  func finish() -> Answer {
    let sum = bytes.reduce(0) { ($0 &* 31) &+ UInt64($1) }
    return .now(.text(200, "\(bytes.count) \(sum) \(pieces)"))
  }
  func abandon() { onAbandon() }
}

private func serving<R>(
  _ handler: TestHandler, identity: TLSIdentity? = nil, limits: HTTPServerLimits = HTTPServerLimits(),
  _ body: (HTTPServer) throws -> R
) throws -> R {
  let server = try HTTPServer(
    listeningOn: ListenAddress(host: .ipv4([127, 0, 0, 1]), port: 0), identity: identity, threads: 2, limits: limits,
    handler: handler)
  defer { server.stop(grace: .seconds(5)) }
  return try body(server)
}

@Suite struct `HTTP server` {
  @Test func `answers several requests on one connection`() throws {
    let handler = TestHandler { .now(.text(200, $0.target.path).adding("X-Method", $0.method.name)) }
    try serving(handler) { server in
      #expect(server.address.port != 0)
      let client = try RawHTTPClient(port: server.address.port)
      for path in ["/a", "/b/c"] {
        let answer = try client.request("GET", path + "?token=secret")
        #expect(answer.status == 200)
        #expect(answer.text == path + "\n")
        let record = try #require(handler.nextRecord())
        #expect(record.path == path)
        #expect(record.status == 200 && record.wasCompleted && record.bytesAnswered == Int64(answer.body.count))
      }
      let head = try client.request("HEAD", "/a")
      #expect(head["content-length"] == "3")
      #expect(try client.request("BREW", "/a")["x-method"] == "BREW")
    }
  }

  @Test func `streams a body to its receiver in pieces`() throws {
    let handler = TestHandler { _ in .receive(Collector()) }
    try serving(handler) { server in
      let client = try RawHTTPClient(port: server.address.port)
      let body = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7 ^ $0 >> 8) }
      let sum = body.reduce(0) { ($0 &* 31) &+ UInt64($1) }
      let answer = try client.request("PUT", "/x", body: body)
      let words = answer.text.split(whereSeparator: \.isWhitespace)
      #expect(words.first == "3000000" && words[1] == "\(sum)")
      #expect(Int(words[2]).map { $0 > 20 } == true)
      #expect(try client.request("PUT", "/x", body: []).text == "0 0 0\n")
      #expect(handler.nextRecord()?.bytesReceived == 3_000_000)
      try client.send(
        "PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
      #expect(try client.answer().text.hasPrefix("5 "))
    }
  }

  @Test func `tells the receiver when the connection breaks`() throws {
    let received = DispatchSemaphore(value: 0)
    let abandoned = DispatchSemaphore(value: 0)
    let handler = TestHandler { _ in
      .receive(Collector(onReceive: { received.signal() }, onAbandon: { abandoned.signal() }))
    }
    try serving(handler) { server in
      do {
        let client = try RawHTTPClient(port: server.address.port)
        try client.send("PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc")
        #expect(received.wait(timeout: .now() + 60) == .success)
      }
      #expect(abandoned.wait(timeout: .now() + 60) == .success)
      let record = try #require(handler.nextRecord())
      #expect(!record.wasCompleted && record.status == nil)
    }
  }

  @Test func `sends part of an open file`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("digits")
    try Data("0123456789".utf8).write(to: URL(fileURLWithPath: path))
    let handler = TestHandler { _ in
      let file = OpenFile(takingOver: open(path, O_RDONLY))
      return .now(Response(206, body: .file(file, offset: 3, length: 4)))
    }
    try serving(handler) { server in
      let client = try RawHTTPClient(port: server.address.port)
      #expect(try client.request("GET", "/").text == "3456")
      #expect(try client.request("HEAD", "/")["content-length"] == "4")
      #expect(try client.request("GET", "/").text == "3456")
    }
  }

  @Test func `answers a refused upload though the client goes on sending`() throws {
    let handler = TestHandler { _ in .now(.text(413, "too large")) }
    try serving(handler) { server in
      let client = try RawHTTPClient(port: server.address.port)
      try client.send("PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 50000000\r\n\r\n")
      // The answer is on its way while these are sent; a reset would throw here or destroy the answer.
      for _ in 0..<40 { try client.send([UInt8](repeating: 1, count: 100_000)) }
      let answer = try client.answer()
      #expect(answer.status == 413)
      #expect(answer["connection"]?.lowercased() == "close")
      #expect(handler.nextRecord()?.bytesReceived == 0)
    }
  }

  @Test func `keeps the connection when a refused upload was small`() throws {
    let handler = TestHandler { _ in .now(.text(403, "no")) }
    try serving(handler) { server in
      let client = try RawHTTPClient(port: server.address.port)
      #expect(try client.request("PUT", "/x", body: [1, 2, 3]).status == 403)
      #expect(try client.request("PUT", "/x", body: []).status == 403)
      #expect(try client.request("GET", "/x", body: [1, 2, 3]).status == 403)
      #expect(try client.request("GET", "/x").status == 403)
    }
  }

  @Test(arguments: [
    "Content-Length: 30\r\nTransfer-Encoding: chunked", "Content-Length: 1\r\nContent-Length: 2",
    "Content-Length: 5\r\nContent-Length: 5", "Content-Length: -1", "Content-Length: +5", "Content-Length: 0x5",
    "Content-Length: 99999999999999999999",
  ])
  func `takes nothing after a head whose end of body is in doubt`(fields: String) throws {
    let handler = TestHandler { .now(.text(200, $0.target.path)) }
    try serving(handler) { server in
      for method in ["PUT", "GET"] {
        let client = try RawHTTPClient(port: server.address.port)
        try client.send(
          "\(method) /x HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
        // The library itself breaks off some of these without an answer.
        if let answer = try? client.answer() { #expect([400, 413].contains(answer.status)) }
        #expect((try? client.answer()) == nil)
      }
    }
  }

  @Test(arguments: ["/../x", "/%2e%2e/x", "/a%00", "/a%2Fb", "/%zz", "/%ff"])
  func `refuses a hostile target before the handler sees it`(target: String) throws {
    let handler = TestHandler { _ in .now(.text(200, "seen")) }
    try serving(handler) { server in
      let client = try RawHTTPClient(port: server.address.port)
      #expect(try client.request("GET", target).status == 400)
      #expect(try client.request("PUT", target, body: [1]).status == 400)
      #expect(try client.request("GET", "/fine").status == 200)
    }
  }

  @Test func `holds no thread for a late answer`() throws {
    let waiting = Mutex<[PendingResponse]>([])
    let arrived = DispatchSemaphore(value: 0)
    let handler = TestHandler { request in
      guard request.target.path == "/wait" else { return .now(.text(200, "quick")) }
      let pending = PendingResponse(limit: .seconds(20), otherwise: .text(503, "too long"))
      waiting.withLock { $0.append(pending) }
      arrived.signal()
      return .later(pending)
    }
    try serving(handler) { server in
      // More than the two threads.
      let clients = try (0..<8).map { _ in try RawHTTPClient(port: server.address.port) }
      for client in clients { try client.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n") }
      for _ in clients { #expect(arrived.wait(timeout: .now() + 60) == .success) }
      #expect(try RawHTTPClient(port: server.address.port).request("GET", "/").text == "quick\n")
      for pending in waiting.withLock({ $0 }) { pending.fulfil(.text(200, "now")) }
      for client in clients {
        #expect(try client.answer().text == "now\n")
        #expect(try client.request("GET", "/").text == "quick\n")
      }
    }
  }

  @Test func `gives the other answer when the limit passes, and at once when it stops`() throws {
    let arrived = DispatchSemaphore(value: 0)
    let handler = TestHandler { request in
      let limit: Duration = request.target.path == "/short" ? .milliseconds(50) : .seconds(600)
      if request.target.path == "/long" { arrived.signal() }
      return .later(PendingResponse(limit: limit, otherwise: .text(503, "otherwise")))
    }
    try serving(handler) { server in
      let client = try RawHTTPClient(port: server.address.port)
      #expect(try client.request("GET", "/short").status == 503)
      try client.send("GET /long HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(arrived.wait(timeout: .now() + 60) == .success)
      server.stop(grace: .seconds(10))
      let answer = try client.answer()
      #expect(answer.status == 503)
      #expect(answer["connection"]?.lowercased() == "close")
      #expect(throws: (any Error).self) { try RawHTTPClient(port: server.address.port) }
    }
  }

  @Test func `ends a connection that never finishes its head`() throws {
    var limits = HTTPServerLimits()
    limits.headTime = .milliseconds(100)
    try serving(TestHandler { _ in .now(.text(200, "ok")) }, limits: limits) { server in
      let client = try RawHTTPClient(port: server.address.port)
      try client.send("GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ")
      #expect(client.isClosedByServer())
      #expect(server.load.expired == 1)
    }
  }

  @Test func `serves TLS, and says so when the identity is no good`() throws {
    let certificate = Array(testCertificate.utf8)
    let key = Array(testKey.utf8)
    let handler = TestHandler { .now(.text(200, "secure \($0.isSecure)")) }
    try serving(handler, identity: TLSIdentity(certificate: certificate, key: key)) { server in
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = ["curl", "-sk", "--max-time", "10", "https://127.0.0.1:\(server.address.port)/"]
      let output = Pipe()
      process.standardOutput = output
      try process.run()
      let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      #expect(text == "secure true\n")
    }
    let error = #expect(throws: HTTPServerError.self) {
      try HTTPServer(
        listeningOn: ListenAddress(host: .ipv4([127, 0, 0, 1]), port: 0),
        identity: TLSIdentity(certificate: certificate, key: Array("nonsense".utf8)), handler: handler)
    }
    #expect(error?.description.contains("certificate or its key cannot be used") == true)
  }

  @Test func `names the address that is taken`() throws {
    try serving(TestHandler { _ in .now(.text(200, "ok")) }) { server in
      let error = #expect(throws: HTTPServerError.self) {
        try HTTPServer(listeningOn: server.address, handler: TestHandler { _ in .now(.text(200, "ok")) })
      }
      #expect(error?.description == "cannot listen on \(server.address): Address already in use")
    }
  }

  @Test func `listens on IPv4 and IPv6 together`() throws {
    let server = try HTTPServer(
      listeningOn: ListenAddress(host: .any, port: 0), handler: TestHandler { .now(.text(200, "\($0.peer)")) })
    defer { server.stop(grace: .zero) }
    #expect(try RawHTTPClient(port: server.address.port).request("GET", "/").text == "127.0.0.1\n")
  }
}
