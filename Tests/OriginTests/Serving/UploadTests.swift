import Foundation
import HTTP
import HLS
import Platform
import Synchronization
import TestKit
import Testing

@testable import Origin

private let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }

@Suite struct `Uploading` {
  @Test func `stores a new file, knows it again, and refuses other bytes`() throws {
    let arrivals = Mutex<[String]>([])
    let served = try ServedTree(onArrival: { entry in arrivals.withLock { $0.append(entry.description) } })
    let client = try served.client()
    #expect(try client.request("PUT", "/" + firstSegment, body: bytes).status == 201)
    #expect(try served.bytes(firstSegment) == bytes)
    #expect(try client.request("PUT", "/" + firstSegment, body: bytes).status == 200)
    var other = bytes
    other[100_000] ^= 1
    #expect(try client.request("PUT", "/" + firstSegment, body: other).status == 409)
    #expect(try RawHTTPClient(port: served.port).request("PUT", "/" + firstSegment, body: bytes + [0]).status == 409)
    let sameNumber = "\(lectureRun)/00000000_20261130T021308.124Z_450000.m4s"
    #expect(try client.request("PUT", "/" + sameNumber, body: bytes).status == 409)
    #expect(try client.request("PUT", "/\(lectureRun)/init.mp4", body: [1]).status == 201)
    #expect(try client.request("PUT", "/\(lectureRun)/1.end", body: []).status == 201)
    #expect(try client.request("PUT", "/\(lectureRun)/1.end", body: []).status == 200)
    #expect(served.files() == [firstSegment, "\(lectureRun)/1.end", "\(lectureRun)/init.mp4"])
    #expect(arrivals.withLock { $0 } == [firstSegment, "\(lectureRun)/init.mp4", "\(lectureRun)/1.end"])
    #expect(try served.bytes(firstSegment) == bytes)
  }

  @Test(arguments: [
    "/x", "/lecture/main/live.m3u8", "/lecture/live.m3u8", "/lecture/main/20261130T021308.123Z_a3f1/x.m4s",
    "/lecture/main/20261130T021308.123Z_a3f1/.part", "/lecture/main/20261130T021308.123Z_A3F1/init.mp4",
    "/lecture/main/20261330T021308.123Z_a3f1/init.mp4", "/.lecture/main/20261130T021308.123Z_a3f1/init.mp4",
    "/lecture/main/20261130T021308.123Z_a3f1/sent/init.mp4", "/a/b/c/d", "/healthz", "/", "/api/recordings",
    "/lect%C3%BCre/main/20261130T021308.123Z_a3f1/init.mp4", "/../../etc/passwd", "/%2e%2e/%2e%2e/x",
    "/lecture%2Fmain/20261130T021308.123Z_a3f1/init.mp4/x", "/lecture/main/20261130T021308.123Z_a3f1/init.mp4%00",
    "/lecture/main/20261130T021308.123Z_a3f1/..%2finit.mp4", "//lecture/main/20261130T021308.123Z_a3f1/init.mp4",
  ])
  func `takes no other name`(target: String) throws {
    let served = try ServedTree()
    let status = try served.client().request("PUT", target, body: [1]).status
    #expect([400, 404, 405].contains(status))
    #expect(served.files() == [])
  }

  @Test func `takes no name twice encoded, symbolic links included`() throws {
    let served = try ServedTree()
    let outside = served.directory.file("outside")
    try FileManager.default.createDirectory(atPath: outside, withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: served.root + "/lecture", withDestinationPath: outside)
    #expect(try served.client().request("PUT", "/\(lectureRun)/init.mp4", body: [1]).status == 500)
    #expect(try served.client().request("GET", "/\(lectureRun)/init.mp4").status != 200)
    #expect(served.files() == [])
  }

  @Test func `is refused before its body is read where the head tells enough`() throws {
    let served = try ServedTree {
      $0.maximumSegment = 1_000
      $0.maximumRoot = 5_000
    }
    func status(_ target: String, _ fields: String) throws -> Int {
      let client = try served.client()
      // The body never comes: only an answer to the head alone gets through.
      try client.send("PUT \(target) HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n")
      return try client.answer().status
    }
    #expect(try status("/" + firstSegment, "Content-Length: 1000001") == 413)
    #expect(try status("/" + firstSegment, "Transfer-Encoding: chunked") == 411)
    #expect(try status("/other/name", "Content-Length: 1000000") == 404)
    #expect(try status("/" + firstSegment, "Content-Length: 1000000\r\nContent-Range: bytes 0-9/20") == 400)
    #expect(try status("/" + firstSegment, "Content-Length: 1000000\r\nContent-Encoding: gzip") == 415)
    #expect(try status("/\(lectureRun)/3.end", "Content-Length: 1000000") == 400)
    let client = try served.client()
    #expect(try client.request("PUT", "/" + firstSegment, body: []).status == 400)
    #expect(try client.request("PUT", "/" + firstSegment).status == 411)
    #expect(served.files() == [])
  }

  @Test func `stops at the quota and goes on when there is room`() throws {
    let served = try ServedTree { $0.maximumRoot = 5_000 }
    let client = try served.client()
    for number in 0..<4 {
      let name = "\(lectureRun)/0000000\(number)_20261130T02130\(number).123Z_90000.m4s"
      #expect(try client.request("PUT", "/" + name, body: Array(bytes[..<1_200])).status == 201)
    }
    let fifth = "\(lectureRun)/00000004_20261130T021304.123Z_90000.m4s"
    #expect(try client.request("PUT", "/" + fifth, body: Array(bytes[..<1_200])).status == 507)
    #expect(try client.request("PUT", "/" + fifth, body: Array(bytes[..<100])).status == 201)
  }

  @Test func `checks an announced digest`() throws {
    let served = try ServedTree()
    let client = try served.client()
    let good = contentDigest(sha256: try SHA256Digest.of(bytes))
    let wrong = contentDigest(sha256: try SHA256Digest.of([1]))
    #expect(
      try client.request("PUT", "/" + firstSegment, headers: ["Content-Digest: \(wrong)"], body: bytes).status == 400)
    #expect(served.files() == [])
    let both = "Content-Digest: md5=:AAAA:, \(good)"
    #expect(try client.request("PUT", "/" + firstSegment, headers: [both], body: bytes).status == 201)
    #expect(served.files() == [firstSegment])
  }

  @Test func `leaves nothing of an upload that breaks off`() throws {
    let records = DispatchSemaphore(value: 0)
    let served = try ServedTree(log: Log { if $0.name == "request" { records.signal() } })
    do {
      let client = try served.client()
      try client.send(
        "PUT /\(firstSegment) HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 100000\r\n\r\n")
      try client.send([UInt8](repeating: 1, count: 50_000))
      // A second request proves that the server has got as far as reading this one's head.
      #expect(try served.client().request("GET", "/healthz").status == 200)
      #expect(records.wait(timeout: .now() + 60) == .success)
    }
    #expect(records.wait(timeout: .now() + 70) == .success)
    #expect(served.files() == [])
    #expect(try served.client().request("PUT", "/" + firstSegment, body: bytes).status == 201)
  }

  @Test func `from many sides at once stores one file per number`() throws {
    let arrivals = Mutex(0)
    let served = try ServedTree(onArrival: { _ in arrivals.withLock { $0 += 1 } })
    let statuses = Mutex<[Int]>([])
    let port = served.port
    DispatchQueue.concurrentPerform(iterations: 8) { worker in
      guard let client = try? RawHTTPClient(port: port) else { return }
      for number in 0..<10 {
        let name = "\(lectureRun)/0000000\(number)_20261130T02130\(number).123Z_90000.m4s"
        guard let answer = try? client.request("PUT", "/" + name, body: Array(bytes[..<(1_000 + number)])) else {
          continue
        }
        statuses.withLock { $0.append(answer.status) }
      }
    }
    #expect(statuses.withLock { $0.count { $0 == 201 } } == 10)
    #expect(statuses.withLock { $0.count { $0 == 200 } } == 70)
    #expect(arrivals.withLock { $0 } == 10)
    #expect(served.files().count == 10)
  }

  @Test func `needs the token, for its recordings, and never shows it`() throws {
    let lines = Mutex<[String]>([])
    let log = Log { event in lines.withLock { $0.append("\(event)") } }
    let served = try ServedTree(log: log) {
      $0.uploadTokens = try AccessTokens(
        parsing: "# all\nsecret-for-all\nsecret-for-lecture lecture\nsecret-for-labs lab-*\n", source: "tokens")
    }
    func put(_ recording: String, _ fields: [String]) throws -> RawHTTPClient.Answer {
      try served.client().request(
        "PUT", "/\(recording)/main/20261130T021308.123Z_a3f1/init.mp4", headers: fields, body: [1])
    }
    let refused = try put("lecture", [])
    #expect(refused.status == 401)
    #expect(refused["www-authenticate"]?.contains("realm=\"segrec\"") == true)
    #expect(try put("lecture", ["Authorization: Bearer secret-for-al"]).status == 401)
    #expect(try put("lecture", ["Authorization: Bearer secret-for-labs"]).status == 401)
    #expect(try put("lecture", ["Cookie: segrec=secret-for-all"]).status == 401)
    #expect(try put("lecture", ["Authorization: Bearer secret-for-lecture"]).status == 201)
    #expect(try put("lab-3", ["Authorization: bearer  secret-for-labs"]).status == 201)
    #expect(try put("any", ["Authorization: Bearer secret-for-all"]).status == 201)
    let basic = Data("segrec:secret-for-all".utf8).base64EncodedString()
    #expect(try put("any", ["Authorization: Basic \(basic)"]).status == 200)
    #expect(try served.client().request("GET", "/any/main/20261130T021308.123Z_a3f1/init.mp4").status == 200)
    _ = try served.client().request("GET", "/any/live.m3u8?token=secret-for-all")
    served.server.stop()
    #expect(lines.withLock { $0.count } >= 10)
    #expect(lines.withLock { $0.allSatisfy { !$0.contains("secret-for") && !$0.contains(basic) } })
  }
}

@Suite struct `Serving` {
  @Test func `refuses to be open to a network`() throws {
    var configuration = ServeConfiguration()
    configuration.address = try #require(ListenAddress("0.0.0.0:8080"))
    #expect(throws: ServeError.open(configuration.address)) { try configuration.validate() }
    configuration.isInsecureAllowed = true
    try configuration.validate()
    configuration.isInsecureAllowed = false
    configuration.uploadTokens = try AccessTokens(parsing: "0123456789abcdef", source: "file")
    try configuration.validate()
  }

  @Test(arguments: [
    ("", "holds no token"), ("# only\n\n", "holds no token"), ("short", "line 1: the token is shorter than 8 bytes"),
    ("long-enough a b", "line 1: expected a token and at most one recording name"),
    ("\nlong-enough .x", "line 2: the second word is not the name of a recording"),
  ])
  func `names the line of a token file that is wrong`(text: String, message: String) {
    let error = #expect(throws: ServeError.self) { try AccessTokens(parsing: text, source: "/etc/token") }
    #expect(error?.description.contains(message) == true)
    #expect(error?.description.contains("long-enough") == false)
  }
}
