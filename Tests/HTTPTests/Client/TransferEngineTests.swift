import Foundation
import Platform
import TestKit
import Testing

@testable import HTTP

private func makeFile(_ directory: TemporaryDirectory, bytes: Int, name: String = "segment.m4s") throws -> UploadFile {
  let path = directory.file(name)
  var content = Data(count: bytes)
  for index in stride(from: 0, to: bytes, by: 997) { content[index] = UInt8(truncatingIfNeeded: index / 997) }
  try content.write(to: URL(fileURLWithPath: path))
  return try UploadFile(.open(forReading: path), name: path)
}

/// - Parameter stall: short only where a stall is what the test is about: on a busy machine anybody may stall for a second.
private func quickEngine(stall: Duration = .seconds(60)) throws -> TransferEngine {
  var configuration = ClientConfiguration()
  configuration.stallLimit = stall
  return try TransferEngine(configuration)
}

@Suite struct `Transfer engine` {
  let directory: TemporaryDirectory
  init() throws { directory = try TemporaryDirectory() }

  @Test func `a file arrives whole, with its length, type and digest, and without Expect`() throws {
    let server = try FaultServer()
    let file = try makeFile(directory, bytes: 300_000)
    let engine = try quickEngine()
    let outcome = engine.perform(
      .put(file, to: try ServerURL(server.url).appending("a/b.m4s"), authorization: .bearer("t0k3n")))
    #expect(outcome.isSuccess, "\(outcome)")
    #expect(outcome.status == 201)
    #expect(server.files["/a/b.m4s"] == FileManager.default.contents(atPath: directory.file("segment.m4s")))
    let headers = try #require(server.exchanges.first).request.headers
    #expect(headers["content-length"] == "300000")
    #expect(headers["content-type"] == "video/mp4")
    #expect(headers["content-digest"] == contentDigest(sha256: file.sha256))
    #expect(headers["authorization"] == "Bearer t0k3n")
    #expect(headers["expect"] == nil)
    #expect(headers["transfer-encoding"] == nil)
  }

  @Test func `many files go over kept connections`() throws {
    let server = try FaultServer()
    let engine = try quickEngine()
    let url = try ServerURL(server.url)
    for number in 0..<20 {
      let file = try makeFile(directory, bytes: 10_000)
      #expect(engine.perform(.put(file, to: url.appending("\(number)"), authorization: .none)).isSuccess)
    }
    #expect(server.connections == 1)
    #expect(server.files.count == 20)
  }

  @Test func `an empty file is a whole file`() throws {
    let server = try FaultServer()
    let file = try makeFile(directory, bytes: 0)
    let outcome = try quickEngine().perform(
      .put(file, to: try ServerURL(server.url).appending("0.end"), authorization: .none))
    #expect(outcome.isSuccess, "\(outcome)")
    #expect(server.files["/0.end"] == Data())
  }

  @Test(arguments: [
    (FaultServer.Behaviour.resetInBody(after: 100_000), TransferOutcome.Failure.interrupted),
    (.resetAfterBody, .interrupted),
    (.closeAfterBody, .interrupted),
    (.neverAnswer, .stalled),
    (.stopReading(after: 65_536), .stalled),
    (.raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), .badResponse),
    (.raw("HTTP/1.1 200 OK\r\nContent-Le"), .badResponse),
    (.raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"), .badResponse),
    (.raw("HTTP/1.1 100 Continue\r\n\r\n"), .interrupted),
    (.raw("hello\r\n\r\n"), .badResponse),
    (.raw(""), .interrupted),
  ])
  func `no failure passes for success`(behaviour: FaultServer.Behaviour, expected: TransferOutcome.Failure) throws {
    let server = try FaultServer { _ in behaviour }
    let file = try makeFile(directory, bytes: 6_000_000)
    let outcome = try quickEngine(stall: expected == .stalled ? .milliseconds(700) : .seconds(60)).perform(
      .put(file, to: try ServerURL(server.url).appending("x"), authorization: .none))
    #expect(!outcome.isSuccess)
    #expect(outcome.failure == expected, "\(outcome)")
    #expect(!outcome.detail.isEmpty)
  }

  @Test(arguments: [FaultServer.Behaviour.answerEarly(200), .answerEarly(204), .answerEarlyAndClose(200)])
  func `a success that comes before the whole body is none`(behaviour: FaultServer.Behaviour) throws {
    let server = try FaultServer { _ in behaviour }
    let file = try makeFile(directory, bytes: 6_000_000)
    let outcome = try quickEngine(stall: .milliseconds(700)).perform(
      .put(file, to: try ServerURL(server.url).appending("x"), authorization: .none))
    #expect(!outcome.isSuccess, "\(outcome)")
  }

  @Test(arguments: [401, 413, 507])
  func `an error that comes while sending is read at once`(status: Int) throws {
    let server = try FaultServer { _ in .answerEarly(status, body: "no") }
    let file = try makeFile(directory, bytes: 6_000_000)
    let start = ContinuousClock.now
    let outcome = try quickEngine(stall: .seconds(300)).perform(
      .put(file, to: try ServerURL(server.url).appending("x"), authorization: .none))
    #expect(outcome.status == status)
    #expect(outcome.failure == nil, "\(outcome)")
    #expect(.now - start < .seconds(100))
  }

  @Test func `a slow peer is not a dead one`() throws {
    // Takes 2.5 times the stall limit in all.
    let server = try FaultServer { _ in .storeSlowly(bytesPerSecond: 400_000) }
    let file = try makeFile(directory, bytes: 2_000_000)
    let outcome = try quickEngine(stall: .seconds(2)).perform(
      .put(file, to: try ServerURL(server.url).appending("x"), authorization: .none))
    #expect(outcome.isSuccess, "\(outcome)")
  }

  @Test func `a connection that died while idle costs nothing`() throws {
    let server = try FaultServer([.storeThenClose, .store])
    let engine = try quickEngine()
    let url = try ServerURL(server.url)
    for name in ["a", "b"] {
      let file = try makeFile(directory, bytes: 100_000)
      let outcome = engine.perform(.put(file, to: url.appending(name), authorization: .none))
      #expect(outcome.isSuccess, "\(outcome)")
    }
    #expect(server.files.count == 2)
  }

  @Test func `a request on a connection that has just died is sent again whole, once more by itself`() throws {
    // The kept connection ends when the second request is there: libcurl sends it again on a new one, which needs the
    // body from its start.
    let server = try FaultServer { request in request.number == 1 ? .closeAfterBody : .store }
    let engine = try quickEngine()
    let url = try ServerURL(server.url)
    for name in ["a", "b"] {
      let file = try makeFile(directory, bytes: 5000, name: name)
      let outcome = engine.perform(.put(file, to: url.appending(name), authorization: .none))
      #expect(outcome.isSuccess, "\(outcome)")
    }
    #expect(server.exchanges.count == 3)
    #expect(server.files["/b"] == FileManager.default.contents(atPath: directory.file("b")))
  }

  @Test func `nobody there is told from a name that does not exist`() throws {
    let server = try FaultServer()
    server.goDown()
    let file = try makeFile(directory, bytes: 10)
    let engine = try quickEngine()
    let refused = engine.perform(.put(file, to: try ServerURL(server.url), authorization: .none))
    #expect(refused.failure == .unreachable, "\(refused)")
    let unknown = engine.perform(
      .put(file, to: try ServerURL("http://nothing.invalid/"), authorization: .none))
    #expect(unknown.failure == .unresolved || unknown.failure == .unreachable, "\(unknown)")
  }

  @Test func `a server that is never reached is given up`() throws {
    let hole = try BlackHole()
    let file = try makeFile(directory, bytes: 10)
    let outcome = try quickEngine(stall: .milliseconds(700)).perform(
      .put(file, to: try ServerURL(hole.url), authorization: .none))
    #expect(outcome.failure == .unreachable, "\(outcome)")
  }

  @Test func `IPv6 works`() throws {
    let server = try FaultServer(ipv6: true)
    let file = try makeFile(directory, bytes: 1000)
    let outcome = try quickEngine().perform(
      .put(file, to: try ServerURL(server.url).appending("x"), authorization: .none))
    #expect(outcome.isSuccess, "\(outcome)")
  }

  @Test func `a redirect keeps credentials with their origin`() throws {
    let other = try FaultServer()
    let server = try FaultServer { request in
      switch request.target {
      case "/here": .answer(307, headers: ["Location: /there"])
      case "/away": .answer(308, headers: ["Location: \(other.url)/elsewhere"])
      case "/moved": .answer(301, headers: ["Location: \(other.url)/elsewhere"])
      default: .store
      }
    }
    let engine = try quickEngine()
    let url = try ServerURL(server.url)
    let file = try makeFile(directory, bytes: 5000)
    #expect(engine.perform(.put(file, to: url.appending("here"), authorization: .bearer("s3cret"))).isSuccess)
    #expect(server.exchanges.last?.request.headers["authorization"] == "Bearer s3cret")
    #expect(engine.perform(.put(file, to: url.appending("away"), authorization: .bearer("s3cret"))).isSuccess)
    #expect(other.files["/elsewhere"]?.count == 5000)
    #expect(other.exchanges.last?.request.headers["authorization"] == nil)
    let moved = engine.perform(.put(file, to: url.appending("moved"), authorization: .bearer("s3cret")))
    #expect(moved.status == 301)
    #expect(!moved.isSuccess)
    #expect(other.exchanges.count == 1)
  }

  @Test func `a loop of redirects ends`() throws {
    let server = try FaultServer { _ in .answer(307, headers: ["Location: /again"]) }
    let file = try makeFile(directory, bytes: 10)
    let outcome = try quickEngine().perform(
      .put(file, to: try ServerURL(server.url).appending("x"), authorization: .none))
    #expect(outcome.status == 307)
    #expect(server.exchanges.count == 4)
  }

  @Test func `Retry-After and Date are told`() throws {
    let server = try FaultServer { _ in
      .answer(
        503,
        headers: ["Retry-After: Mon, 30 Nov 2026 02:00:07 GMT", "Date: Mon, 30 Nov 2026 02:00:00 GMT"])
    }
    let file = try makeFile(directory, bytes: 10)
    let outcome = try quickEngine().perform(.put(file, to: try ServerURL(server.url), authorization: .none))
    #expect(outcome.retryAfter == .seconds(7))
    #expect(outcome.serverDate == 1_796_004_000_000)
  }

  @Test func `a limited rate is kept by all transfers together`() throws {
    let server = try FaultServer()
    var configuration = ClientConfiguration()
    configuration.maximumRate = 400_000
    let engine = try TransferEngine(configuration)
    let url = try ServerURL(server.url)
    let start = ContinuousClock.now
    let ends = Monitor<[TransferOutcome]>([])
    for name in ["a", "b"] {
      // Each its own file: writing another of the same name would empty the one that is being sent.
      let file = try makeFile(directory, bytes: 400_000, name: name)
      engine.submit(.put(file, to: url.appending(name), authorization: .none)) { outcome in
        ends.withLock { $0.append(outcome) }
      }
    }
    let outcomes = ends.wait { $0.count == 2 ? $0 : nil } ?? []
    #expect(outcomes.filter { !$0.isSuccess } == [], "\(outcomes)")
    #expect(server.files.count == 2)
    // 800 kB at 400 kB/s, less what may go at once.
    #expect(.now - start > .milliseconds(1400))
  }

  @Test func `a cancelled transfer ends as cancelled, once`() throws {
    let server = try FaultServer { _ in .neverAnswer }
    let engine = try quickEngine(stall: .seconds(30))
    let file = try makeFile(directory, bytes: 10)
    let ends = Monitor<[TransferOutcome.Failure?]>([])
    let id = engine.submit(.put(file, to: try ServerURL(server.url), authorization: .none)) { outcome in
      ends.withLock { $0.append(outcome.failure) }
    }
    server.wait { $0.exchanges.count == 1 }
    engine.cancel(id)
    engine.cancel(id)
    _ = ends.wait { $0.isEmpty ? nil : true }
    engine.stop()
    #expect(ends.withLock { $0 } == [.cancelled])
    #expect(engine.perform(Request(.get, try ServerURL(server.url))).failure == .cancelled)
  }

  @Test func `stopping ends what runs`() throws {
    let server = try FaultServer { _ in .neverAnswer }
    let engine = try quickEngine(stall: .seconds(30))
    let file = try makeFile(directory, bytes: 10)
    let ends = Monitor<[TransferOutcome.Failure?]>([])
    for _ in 0..<3 {
      engine.submit(.put(file, to: try ServerURL(server.url), authorization: .none)) { outcome in
        ends.withLock { $0.append(outcome.failure) }
      }
    }
    server.wait { $0.exchanges.count == 3 }
    engine.stop()
    #expect(ends.withLock { $0 } == [.cancelled, .cancelled, .cancelled])
  }

  @Test func `a file that shrinks while it is sent is no success`() throws {
    let server = try FaultServer()
    let file = try makeFile(directory, bytes: 200_000)
    try Data(count: 1000).write(to: URL(fileURLWithPath: directory.file("segment.m4s")), options: [])
    truncate(directory.file("segment.m4s"), 1000)
    let outcome = try quickEngine().perform(.put(file, to: try ServerURL(server.url), authorization: .none))
    #expect(outcome.failure == .unreadableBody, "\(outcome)")
    #expect(server.files.isEmpty)
  }

  @Test func `a server's own line is told, short, without secrets, and harmless to a terminal`() throws {
    let line = "you sent t0k3n \u{1B}[31mred\u{202E}" + String(repeating: "x", count: 500)
    let server = try FaultServer { request in
      request.name == "plain"
        ? .answer(404, headers: ["Content-Type: text/plain"], body: line + "\nmore\n")
        : .answer(404, headers: ["Content-Type: text/html"], body: line)
    }
    let engine = try quickEngine()
    let file = try makeFile(directory, bytes: 10)
    let url = try ServerURL(server.url)
    let plain = engine.perform(.put(file, to: url.appending("plain"), authorization: .bearer("t0k3n")))
    let start = "HTTP 404 (no such place); it says \"you sent *** ?[31mred?"
    #expect(plain.detail.hasPrefix(start + "xx") && plain.detail.hasSuffix("x\""), "\(plain.detail)")
    #expect(plain.detail.count < 220)
    let other = engine.perform(.put(file, to: url.appending("html"), authorization: .none))
    #expect(other.detail == "HTTP 404 (no such place)")
  }

  @Test func `secrets stay out of what is told`() throws {
    let server = try FaultServer()
    server.goDown()
    let file = try makeFile(directory, bytes: 10)
    let url = try ServerURL("\(server.url)/x?token=v3rysecret")
    let outcome = try quickEngine().perform(.put(file, to: url, authorization: .bearer("t0ps3cret")))
    #expect(!outcome.detail.contains("v3rysecret"))
    #expect(!"\(url)".contains("v3rysecret"))
    #expect(!outcome.detail.contains("t0ps3cret"))
  }

  @Test func `small requests carry and bring bytes`() throws {
    let server = try FaultServer { _ in .answer(200, headers: ["ETag: \"abc\""], body: "0123456789") }
    let engine = try quickEngine()
    let url = try ServerURL(server.url)
    let got = engine.perform(Request(.get, url.appending("x"), responseLimit: 4))
    #expect(got.isSuccess)
    #expect(got.body == Array("0123".utf8))
    #expect(got.etag == "\"abc\"")
    #expect(engine.perform(Request(.delete, url.appending("x"))).isSuccess)
    #expect(engine.perform(Request(.post, url.appending("x"), body: .bytes([1, 2, 3]))).isSuccess)
    #expect(server.exchanges.map(\.request.method) == ["GET", "DELETE", "POST"])
    #expect(server.exchanges.last?.request.length == 3)
  }
}
