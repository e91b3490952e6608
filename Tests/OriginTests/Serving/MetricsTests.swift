import Foundation
import TestKit
import Testing

@testable import Origin

@Suite struct `Metrics` {
  /// The values by name and labels.
  private func values(_ client: RawHTTPClient, _ headers: [String] = []) throws -> [String: Int] {
    let answer = try client.request("GET", "/metrics", headers: headers)
    #expect(answer.status == 200)
    #expect(answer["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
    #expect(answer["cache-control"] == "no-store")
    var values: [String: Int] = [:]
    for line in answer.text.split(separator: "\n") where !line.hasPrefix("#") {
      let parts = line.split(separator: " ")
      #expect(parts.count == 2 && line.hasPrefix("segrec_"))
      values[String(parts[0].dropFirst(7))] = Int(parts[1])
      // Each is explained, once.
      let name = parts[0].prefix { $0 != "{" }
      #expect(answer.text.components(separatedBy: "# TYPE \(name) ").count == 2)
      #expect(answer.text.components(separatedBy: "# HELP \(name) ").count == 2)
    }
    return values
  }

  @Test func `count what is uploaded, read and refused`() throws {
    let served = try ServedTree()
    let client = try served.client()
    let before = try values(client)
    #expect(before["received_files_total"] == 0)
    #expect(before["recordings{state=\"live\"}"] == 0)
    #expect(before["stored_bytes"] == 0)
    let bytes = [UInt8](repeating: 7, count: 1_000)
    #expect(try client.request("PUT", "/\(firstSegment)", body: bytes).status == 201)
    #expect(try client.request("PUT", "/\(firstSegment)", body: bytes).status == 200)
    #expect(try client.request("PUT", "/\(firstSegment)", body: [8]).status == 409)
    #expect(try client.request("GET", "/nothing").status == 404)
    var now = try values(client)
    #expect(now["received_files_total"] == 1)
    #expect(now["received_bytes_total"] == 1_000)
    #expect(now["received_again_total"] == 1)
    #expect(now["conflicts_total"] == 1)
    #expect(now["store_failures_total"] == 0)
    #expect(now["http_requests_total{status=\"201\"}"] == 1)
    #expect(now["http_requests_total{status=\"409\"}"] == 1)
    #expect(now["http_requests_total{status=\"404\"}"] == 1)
    #expect(now["http_connections"] == 1)
    #expect(now["http_active_requests"] == 1)
    #expect(now["recordings{state=\"live\"}"] == 1)
    #expect(now["recordings{state=\"ended\"}"] == 0)
    #expect(now["stored_bytes"] == 1_000)
    let answered = try #require(now["http_answer_bytes_total"])
    #expect(try client.request("GET", "/\(firstSegment)").body.count == 1_000)
    #expect(try client.request("PUT", "/\(lectureRun)/1.end", body: []).status == 201)
    now = try values(client)
    #expect(try #require(now["http_answer_bytes_total"]) >= answered + 1_000)
    #expect(now["received_files_total"] == 2)
    #expect(now["recordings{state=\"live\"}"] == 0)
    #expect(now["recordings{state=\"ended\"}"] == 1)
  }

  @Test func `are for who may read everything`() throws {
    let served = try ServedTree {
      $0.readTokens = try AccessTokens(parsing: "watch-all\nwatch-one lecture\n", source: "file")
      $0.uploadTokens = try AccessTokens(parsing: "upload-all\nupload-one lecture\n", source: "file")
    }
    let client = try served.client()
    #expect(try client.request("GET", "/metrics").status == 401)
    for (token, status) in [("watch-all", 200), ("upload-all", 200), ("watch-one", 401), ("upload-one", 401)] {
      let field = "Authorization: Bearer \(token)"
      #expect(try client.request("GET", "/metrics", headers: [field]).status == status, "\(token)")
    }
    // Who may upload needs a token, who may read does not: the numbers are open as well.
    let open = try ServedTree { $0.uploadTokens = try AccessTokens(parsing: "upload-all", source: "file") }
    #expect(try values(open.client())["http_connections"] == 1)
  }
}
