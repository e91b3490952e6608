import Foundation
import HLS
import HTTP
import Platform
import TestKit
import Testing

@testable import Origin

private let content = Array("0123456789".utf8)

@Suite struct `Reading` {
  private func served(_ configure: (inout ServeConfiguration) throws -> Void = { _ in }) throws -> ServedTree {
    let served = try ServedTree(configure)
    try served.write(firstSegment, content)
    try served.write("\(lectureRun)/init.mp4", [1, 2, 3])
    try served.write("lecture/live.m3u8", Array("#EXTM3U\n# multi\n".utf8))
    try served.write("lecture/main/live.m3u8", Array("#EXTM3U\n# media\n".utf8))
    return served
  }

  @Test func `gives a segment that caches may keep for good`() throws {
    let client = try served().client()
    let answer = try client.request("GET", "/" + firstSegment)
    #expect(answer.status == 200)
    #expect(answer.body == content)
    #expect(answer["content-type"] == "video/mp4")
    #expect(answer["cache-control"] == "public, max-age=31536000, immutable")
    #expect(answer["access-control-allow-origin"] == "*")
    let tag = try #require(answer["etag"])
    let head = try client.request("HEAD", "/" + firstSegment)
    #expect(head.status == 200 && head["content-length"] == "10" && head["etag"] == tag)
    for field in ["If-None-Match: \(tag)", "If-None-Match: \"x\", W/\(tag)", "If-None-Match: *"] {
      let unchanged = try client.request("GET", "/" + firstSegment, headers: [field])
      #expect(unchanged.status == 304 && unchanged["etag"] == tag)
    }
    #expect(try client.request("GET", "/" + firstSegment, headers: ["If-None-Match: \"x\""]).status == 200)
  }

  @Test(
    arguments: [
      ("bytes=0-3", 206, "0123", "bytes 0-3/10"), ("bytes=3-", 206, "3456789", "bytes 3-9/10"),
      ("bytes=-2", 206, "89", "bytes 8-9/10"), ("bytes=-99", 206, "0123456789", "bytes 0-9/10"),
      ("bytes=8-99999999999999999999", 206, "89", "bytes 8-9/10"), ("BYTES = 1-1", 206, "1", "bytes 1-1/10"),
      ("bytes=10-", 416, nil, "bytes */10"), ("bytes=-0", 416, nil, "bytes */10"),
      ("bytes=5-4", 200, "0123456789", nil),
      ("bytes=0-1,3-4", 200, "0123456789", nil), ("bytes=a-b", 200, "0123456789", nil),
      ("bytes=--1", 200, "0123456789", nil),
      ("lines=0-1", 200, "0123456789", nil), ("bytes", 200, "0123456789", nil), ("bytes=-", 200, "0123456789", nil),
    ] as [(String, Int, String?, String?)])
  func `gives a range where it is asked for one`(range: String, status: Int, body: String?, contentRange: String?)
    throws
  {
    let client = try served().client()
    let answer = try client.request("GET", "/" + firstSegment, headers: ["Range: \(range)"])
    #expect(answer.status == status)
    if let body { #expect(answer.text == body) }
    #expect(answer["content-range"] == contentRange)
    #expect(try client.request("GET", "/" + firstSegment).text == "0123456789")
  }

  @Test func `gives a range only of the file it was asked for`() throws {
    let client = try served().client()
    let tag = try #require(try client.request("HEAD", "/" + firstSegment)["etag"])
    let fields = ["Range: bytes=0-1", "If-Range: \(tag)"]
    #expect(try client.request("GET", "/" + firstSegment, headers: fields).status == 206)
    #expect(
      try client.request("GET", "/" + firstSegment, headers: ["Range: bytes=0-1", "If-Range: \"x\""]).status == 200)
  }

  @Test func `gives playlists that are asked for again each time`() throws {
    let served = try served()
    let client = try served.client()
    let answer = try client.request("GET", "/lecture/main/live.m3u8?_HLS_skip=YES")
    #expect(answer.text.hasSuffix("# media\n"))
    #expect(answer["content-type"] == "application/vnd.apple.mpegurl")
    #expect(answer["cache-control"] == "public, no-cache")
    #expect(answer["access-control-allow-origin"] == "*")
    let tag = try #require(answer["etag"])
    #expect(try client.request("GET", "/lecture/main/live.m3u8", headers: ["If-None-Match: \(tag)"]).status == 304)
    try served.write("lecture/main/live.m3u8", Array("#EXTM3U\n# media 2\n".utf8))
    #expect(try client.request("GET", "/lecture/main/live.m3u8", headers: ["If-None-Match: \(tag)"]).status == 200)
    #expect(try client.request("GET", "/lecture/live.m3u8").text == "#EXTM3U\n# multi\n")
    #expect(try client.request("GET", "/lecture/vod.m3u8").status == 404)
  }

  @Test(
    arguments: [
      ("GET", "/nothing", 404, nil), ("GET", "/lecture", 404, nil), ("GET", "/lecture/main/.lock", 404, nil),
      ("GET", "/\(lectureRun)", 404, nil), ("GET", "/lecture/main/../live.m3u8", 400, nil),
      ("GET", "/healthz", 200, nil), ("GET", "/\(lectureRun)/00000007.m4s", 200, nil),
      ("GET", "/\(lectureRun)/0000007.m4s", 404, nil),
      ("PUT", "/\(lectureRun)/00000007.m4s", 405, "GET, HEAD, OPTIONS"),
      ("POST", "/\(firstSegment)", 405, "GET, HEAD, PUT, OPTIONS"), ("TRACE", "/healthz", 405, "GET, HEAD, OPTIONS"),
      ("DELETE", "/\(firstSegment)", 405, "GET, HEAD, PUT, OPTIONS"), ("PUT", "/healthz", 405, "GET, HEAD, OPTIONS"),
      ("PATCH", "/nothing", 405, "GET, HEAD, OPTIONS"), ("GET", "/session", 405, "POST, DELETE, OPTIONS"),
      ("OPTIONS", "/\(firstSegment)", 204, "GET, HEAD, PUT, OPTIONS"), ("get", "/healthz", 405, "GET, HEAD, OPTIONS"),
    ] as [(String, String, Int, String?)])
  func `answers each method and path rightly`(method: String, target: String, status: Int, allow: String?) throws {
    let answer = try served().client().request(method, target)
    #expect(answer.status == status)
    #expect(answer["allow"] == allow)
  }

  @Test func `lets other sites read media, but neither upload nor list`() throws {
    let client = try served().client()
    let preflight = try client.request(
      "OPTIONS", "/" + firstSegment, headers: ["Origin: https://a.example", "Access-Control-Request-Method: PUT"])
    #expect(preflight["access-control-allow-methods"] == "GET, HEAD")
    #expect(preflight["access-control-allow-headers"]?.contains("Range") == true)
    #expect(try client.request("GET", "/api/recordings")["access-control-allow-origin"] == nil)
    #expect(try client.request("OPTIONS", "/api/recordings")["access-control-allow-origin"] == nil)
  }

  @Test func `needs a token where one is set: a field, a password or the page's cookie`() throws {
    let served = try served {
      $0.readTokens = try AccessTokens(parsing: "watch-secret lecture\nwatch-other other\n", source: "file")
      $0.uploadTokens = try AccessTokens(parsing: "upload-secret", source: "file")
    }
    let client = try served.client()
    for target in ["/" + firstSegment, "/lecture/live.m3u8", "/api/recordings", "/api/recordings/lecture", "/metrics"] {
      let answer = try client.request("GET", target)
      #expect(answer.status == 401, "\(target)")
      #expect(answer["www-authenticate"] != nil)
      #expect(try client.request("GET", target + "?token=watch-secret").status == 401)
      #expect(try client.request("GET", target, headers: ["Authorization: Bearer watch-othe"]).status == 401)
      #expect(try client.request("GET", target, headers: ["Authorization: Bearer upload-secret"]).status == 200)
    }
    #expect(try client.request("GET", "/healthz").status == 200)
    #expect(try client.request("GET", "/").status == 200)
    let bearer = ["Authorization: Bearer watch-secret"]
    let answer = try client.request("GET", "/" + firstSegment, headers: bearer)
    #expect(answer.status == 200)
    #expect(answer["cache-control"]?.hasPrefix("private") == true)
    #expect(
      try client.request("GET", "/lecture/live.m3u8", headers: ["Authorization: Bearer watch-other"]).status == 401)

    #expect(try client.request("POST", "/session", body: Array("nonsense".utf8)).status == 403)
    let session = try client.request("POST", "/session", body: Array("watch-secret".utf8))
    #expect(session.status == 204)
    let cookie = try #require(session["set-cookie"])
    #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax") && !cookie.contains("watch-secret"))
    let pair = String(cookie.prefix { $0 != ";" })
    #expect(try client.request("GET", "/" + firstSegment, headers: ["Cookie: a=b; \(pair)"]).status == 200)
    let list = try client.request("GET", "/api/recordings", headers: ["Cookie: \(pair)"])
    #expect(list.text.contains("\"lecture\""))
    // A cookie opens reading only.
    let upload =
      try client.request(
        "POST", "/session", body: Array("upload-secret".utf8))["set-cookie"].map { String($0.prefix { $0 != ";" }) }
      ?? ""
    let target = "/\(lectureRun)/1.end"
    #expect(try client.request("PUT", target, headers: ["Cookie: \(upload)"], body: []).status == 401)
  }

  @Test func `lists recordings with what their names tell`() throws {
    let served = try served()
    let client = try served.client()
    func list() throws -> [[String: Any]] {
      let answer = try client.request("GET", "/api/recordings")
      let object = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]
      return object?["recordings"] as? [[String: Any]] ?? []
    }
    #expect(try list().count == 1)
    #expect(try list().first?["state"] as? String == "live")
    let third = "/\(lectureRun)/00000002_20261130T021318.123Z_450000.m4s"
    #expect(try client.request("PUT", third, body: content).status == 201)
    #expect(try client.request("PUT", "/\(lectureRun)/4.end", body: []).status == 201)
    let lecture = try #require(try list().first)
    #expect(lecture["name"] as? String == "lecture")
    #expect(lecture["state"] as? String == "ended")
    #expect(lecture["milliseconds"] as? Int == 10_000)
    #expect(lecture["segments"] as? Int == 2)
    #expect(lecture["missing"] as? Int == 2)
    #expect(lecture["bytes"] as? Int == 23)
    let answer = try client.request("GET", "/api/recordings/lecture")
    let timeline = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]
    let spans = try #require(timeline?["spans"] as? [[Int]])
    // The names are of the past: everything came late.
    #expect(spans.map { $0[0] } == [1, 2, 1, 2])
    #expect(spans.map { $0[3] } == [5_000, 5_000, 5_000, 5_000])
    #expect(try client.request("GET", "/api/recordings/none").status == 404)
    #expect(try client.request("GET", "/metrics").text.contains("segrec_received_files_total 2\n"))
  }
}

@Suite struct `Timeline` {
  private func segment(_ number: Int, at seconds: Int64, late: Int64 = 0) -> Origin.Timeline.Segment {
    let start = WallClockTime(milliseconds: seconds * 1_000)
    let name = SegmentName(sequence: number, start: start, ticks: 450_000)
    return Origin.Timeline.Segment(name: name, arrival: (seconds + 5 + late) * 1_000)
  }

  @Test func `shows what is there, what came late and what is missing`() {
    var timeline = Origin.Timeline()
    for segment in [segment(0, at: 0), segment(1, at: 5), segment(2, at: 10, late: 60), segment(4, at: 20)] {
      timeline.add(segment)
    }
    var second = Origin.Timeline()
    second.add(segment(1, at: 105))
    second.add(segment(0, at: 100))
    #expect(
      (timeline.spans(expected: 6) + second.spans(expected: nil)).map {
        "\($0.kind) \($0.start.milliseconds)+\($0.milliseconds) \($0.segments)"
      } == [
        "present 0+10000 2", "late 10000+5000 1", "missing 15000+5000 1", "present 20000+5000 1",
        "missing 25000+5000 1", "missing 100000+5000 1", "present 105000+5000 1",
      ])
  }
}
