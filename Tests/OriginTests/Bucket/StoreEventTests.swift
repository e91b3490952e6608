import Foundation
import HLS
import HTTP
import Platform
import Storage
import Synchronization
import TestKit
import Testing

@testable import Origin

@Suite struct `Events of a store` {
  static let file = "lecture/main/20261130T021308.123Z_a3f1/00000042_20261130T021308.123Z_450000.m4s"
  static let amazon = """
    {"Records":[{"eventVersion":"2.1","eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"bkt"},
    "object":{"key":"pre/\(file)","size":1024,"eTag":"d4"}}},{"s3":{"object":{"key":"pre/lecture/main/live.m3u8"}}}]}
    """

  @Test(arguments: [
    amazon,
    "{\"Type\":\"Notification\",\"Message\":\"{\\\"Records\\\":[{\\\"s3\\\":{\\\"object\\\":{\\\"key\\\":\\\"pre/\(file)\\\"}}}]}\"}",
    "{\"detail-type\":\"Object Created\",\"detail\":{\"bucket\":{\"name\":\"bkt\"},\"object\":{\"key\" : \"pre/\(file)\"}}}",
    "{\"key\":\"/buckets/bkt/pre/\(file)\",\"event_type\":\"create\",\"message\":{}}",
    "{\"EventName\":\"s3:ObjectCreated:Put\",\"Key\":\"bkt/pre/\(file)\",\"Records\":[{\"s3\":{\"object\":{\"key\":\"pre%2F\(file.replacingSlashes)\"}}}]}",
    "{\"object\":{\"key\":\"pre\\/\(file)\"}}",
  ])
  func `name the file in each store's form`(body: String) {
    #expect(StoreEvents.files(in: Array(body.utf8), bucket: "bkt", prefix: "pre/").map(\.description) == [Self.file])
  }

  @Test(arguments: [
    "", "{}", "\"key\"", "\"key\":", "\"key\":\"", "{\"key\":\"\(file)\"}", "{\"key\":\"other/\(file)\"}",
    "{\"key\":\"pre/x/\(file)\"}", "{\"key\":\"pre/lecture/../main/a/b\"}",
  ])
  func `that name nothing below the prefix are left alone`(body: String) {
    #expect(StoreEvents.files(in: Array(body.utf8), bucket: "bkt", prefix: "pre/").isEmpty)
  }

  @Test func `do no harm whatever has happened to them`() {
    var random = SeededRandom(7)
    for _ in 0..<3_000 {
      var bytes = Array(Self.amazon.utf8)
      for _ in 0..<6 {
        let at = Int.random(in: 0..<bytes.count, using: &random)
        if Bool.random(using: &random) {
          bytes[at] = UInt8.random(in: 0...255, using: &random)
        } else {
          bytes.removeSubrange(at..<min(bytes.count - 1, at + Int.random(in: 0...30, using: &random)))
        }
      }
      #expect(StoreEvents.files(in: bytes, bucket: "bkt", prefix: "pre/").count <= 2)
    }
  }

  @Test func `are taken from whoever has the token, and from nobody else`() throws {
    let found = Mutex<[String]>([])
    let server = try StoreEventServer(
      listeningOn: ListenAddress(host: .ipv4([127, 0, 0, 1]), port: 0), bucket: "bkt", prefix: "pre/",
      tokens: AccessTokens(parsing: "opens-it-all", source: "test")
    ) { file in found.withLock { $0.append(file.description) } }
    defer { server.stop() }
    func post(_ body: String, _ arguments: [String] = []) throws -> Int {
      try TestKit.HTTP.get("http://\(server.address)/", arguments: ["--data-binary", body] + arguments).status
    }
    let bearer = ["-H", "Authorization: Bearer opens-it-all"]
    #expect(try post(Self.amazon) == 401)
    #expect(try post(Self.amazon, ["-H", "Authorization: Bearer opens-it"]) == 401)
    #expect(try post(Self.amazon, bearer) == 204)
    #expect(try TestKit.HTTP.get("http://\(server.address)/", arguments: bearer).status == 405)
    let long = String(repeating: "x", count: (1 << 20) + 1)
    let file = try TemporaryDirectory()
    try long.write(toFile: file.file("long"), atomically: false, encoding: .utf8)
    #expect(try post("@" + file.file("long"), bearer) == 413)
    #expect(found.withLock { $0 } == [Self.file])
  }
}

extension String {
  fileprivate var replacingSlashes: String { split(separator: "/").joined(separator: "%2F") }
}
