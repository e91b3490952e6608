import Foundation
import HLS
import TestKit
import Testing

@testable import Origin

private func list(from first: Int, count: Int, ended: Bool = false, unfinished: String = "") -> [UInt8] {
  var text = "#EXTM3U\n#EXT-X-VERSION:8\n#EXT-X-TARGETDURATION:5\n#EXT-X-MEDIA-SEQUENCE:\(first)\n"
  text += "#EXT-X-DISCONTINUITY-SEQUENCE:3\n#EXT-X-MAP:URI=\"r/init.mp4\"\n"
  text += "#EXT-X-PROGRAM-DATE-TIME:2026-11-30T02:13:08.123Z\n"
  for number in first..<(first + count) {
    if number == first + 5 { text += "#EXT-X-GAP\n" }
    text += "#EXTINF:5.00000,\nr/\(number).m4s\n"
  }
  return Array((text + (ended ? "#EXT-X-ENDLIST\n" : "") + unfinished).utf8)
}

@Suite struct `Served playlist` {
  @Test func `promises what only a server can keep, and nothing once the list has ended`() {
    let live = ServedPlaylist(list(from: 7, count: 3))
    #expect(live.nextSequence == 10)
    let text = String(decoding: live.rendered(skips: false), as: UTF8.self)
    #expect(
      text.hasPrefix("#EXTM3U\n#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL=30.0\n#EXT-X-VERSION:8\n"))
    let ended = list(from: 7, count: 3, ended: true)
    #expect(ServedPlaylist(ended).rendered(skips: true) == ended)
  }

  @Test func `leaves out a line that is still being written`() {
    let partial = ServedPlaylist(list(from: 0, count: 3, unfinished: "#EXTINF:5.00000,\nr/3."))
    #expect(partial.nextSequence == 3)
    #expect(!String(decoding: partial.rendered(skips: false), as: UTF8.self).contains("r/3."))
  }

  /// RFC 8216bis-20 §6.2.5.1: what the client has and what comes make the whole again.
  @Test(arguments: [0, 1, 5, 6, 7, 8, 40])
  func `leaves out only what lies before the skip boundary`(count: Int) {
    let served = ServedPlaylist(list(from: 100, count: count))
    let whole = String(decoding: served.rendered(skips: false), as: UTF8.self)
    let delta = String(decoding: served.rendered(skips: true), as: UTF8.self)
    // Six entries of 5 s reach the boundary of 30 s.
    let skipped = max(0, count - 6)
    guard skipped > 0 else {
      #expect(delta == whole)
      return
    }
    #expect(delta.contains("#EXT-X-VERSION:9\n") && !delta.contains("#EXT-X-VERSION:8\n"))
    #expect(delta.contains("#EXT-X-SKIP:SKIPPED-SEGMENTS=\(skipped)\n"))
    #expect(delta.contains("#EXT-X-DISCONTINUITY-SEQUENCE:3\n") && delta.contains("#EXT-X-MEDIA-SEQUENCE:100\n"))
    let tail = delta.components(separatedBy: "SKIPPED-SEGMENTS=\(skipped)\n")[1]
    #expect(whole.hasSuffix(tail))
    #expect(tail.components(separatedBy: "#EXTINF").count - 1 == 6)
    #expect(tail.contains("#EXT-X-GAP") == (skipped <= 5))
  }

  @Test func `survives any bytes`() {
    var state: UInt64 = 1
    let pieces = [
      "#EXTM3U\n", "#EXTINF:", "5.0,\n", "#EXT-X-GAP\n", "x.m4s\n", "\n", "#EXT-X-VERSION:", "99999999999999", "\r\n",
      "#",
      "#EXT-X-TARGETDURATION:5\n", "#EXT-X-ENDLIST", "\u{0}", "é", "#EXT-X-MEDIA-SEQUENCE:-4\n",
    ]
    for _ in 0..<5_000 {
      var text: [UInt8] = []
      for _ in 0..<12 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        text += Array(pieces[Int(state >> 33) % pieces.count].utf8)
      }
      let served = ServedPlaylist(text)
      _ = served.rendered(skips: true)
      #expect(served.rendered(skips: false).count <= text.count + 90)
    }
  }
}

@Suite struct `Blocking playlist reload` {
  private func segment(_ number: Int) -> String {
    "/\(lectureRun)/0000000\(number)_20261130T02131\(number).123Z_90000.m4s"
  }

  @Test func `answers when the entry is there, and at once what is there or can never be`() throws {
    let served = try ServedTree(gapAfter: .seconds(60))
    let client = try served.client()
    #expect(try client.request("GET", "/lecture/main/live.m3u8?_HLS_msn=0").status == 404)
    #expect(try client.request("PUT", "/\(lectureRun)/init.mp4", body: MediaSamples.initSection).status == 201)
    #expect(try client.request("PUT", segment(0), body: MediaSamples.segment(second: 0, seconds: 1)).status == 201)
    try untilStatus(200, client, "/lecture/main/live.m3u8")
    let list = "/lecture/main/live.m3u8"
    #expect(try client.request("GET", list + "?_HLS_msn=0").status == 200)
    #expect(try client.request("GET", list + "?_HLS_msn=3").status == 400)
    #expect(try client.request("GET", list + "?_HLS_msn=x").status == 400)
    #expect(try client.request("GET", list + "?_HLS_part=0").status == 400)

    let waiting = try (0..<3).map { _ in try served.client() }
    for waiter in waiting { try waiter.send("GET \(list)?_HLS_msn=1&_HLS_skip=YES HTTP/1.1\r\nHost: a\r\n\r\n") }
    #expect(try client.request("GET", "/healthz").status == 200)
    #expect(try client.request("PUT", segment(1), body: MediaSamples.segment(second: 1, seconds: 1)).status == 201)
    for waiter in waiting {
      let answer = try waiter.answer()
      #expect(answer.status == 200)
      #expect(answer.text.contains("00000001_"))
      #expect(answer["access-control-allow-origin"] == "*")
    }
    // The end of the recording is an answer too.
    try client.send("GET \(list)?_HLS_msn=2 HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(try served.client().request("PUT", "/\(lectureRun)/2.end", body: []).status == 201)
    #expect(try client.answer().text.hasSuffix("#EXT-X-ENDLIST\n"))
  }

  /// Asks until stitching has got so far.
  private func untilStatus(_ status: Int, _ client: RawHTTPClient, _ target: String) throws {
    let isThere = try eventually(within: 60) { try client.request("GET", target).status == status }
    #expect(isThere)
  }
}
