import Foundation
import TestKit
import Testing

@testable import Origin

/// What players get that cannot cope with a new run.
@Suite struct `Help over a seam` {
  private let served: ServedTree
  private let first: SampleRun
  private let second: SampleRun

  init() throws {
    served = try ServedTree(gapAfter: .zero)
    first = try SampleRun(recording: "show", start: 1_796_000_000_000, seconds: 15, size: "160x90")
    second = try SampleRun(recording: "show", start: 1_796_000_100_000, seconds: 10, size: "160x90")
    let client = try served.client()
    try first.upload(to: client, missing: [1], marker: "3.next")
    try second.upload(to: client, marker: "2.end")
    #expect(try eventually(within: 60) { try client.request("GET", "/show/vod.m3u8").status == 200 })
  }

  private func addresses(_ agent: String, _ list: String = "vod") throws -> [String] {
    let answer = try served.client().request("GET", "/show/main/\(list).m3u8", headers: ["User-Agent: \(agent)"])
    #expect(answer["vary"] == "Accept-Encoding, User-Agent")
    return answer.text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { String($0) }
  }

  @Test func `is in the list for those alone who need it`() throws {
    let plain = try addresses("Mozilla/5.0")
    #expect(plain.allSatisfy { $0.hasSuffix(".m4s") } && plain.count == 5)
    for agent in ["GStreamer souphttpsrc 1.22.0 libsoup/3", "libmpv"] {
      let own = try addresses(agent)
      #expect(own == plain.enumerated().map { $0.offset < 3 ? $0.element : $0.element + "?after=1350000" })
    }
    #expect(
      try addresses("VLC/3.0.24 LibVLC/3.0.24", "live")
        == plain.enumerated().map { $0.element + "?after=\($0.offset < 3 ? 0 : 1_350_000)&init" })
    #expect(try addresses("VLC/3.0.24", "sofar").allSatisfy { $0.hasSuffix("&init") })
  }

  @Test func `makes times go on, so that a player without discontinuities plays it through`() throws {
    let text = try Program.tool(
      "ffprobe",
      [
        "-v", "error", "-user_agent", "GStreamer", "-select_streams", "v", "-show_entries", "packet=dts_time", "-of",
        "csv=p=0", "http://127.0.0.1:\(served.port)/show/main/vod.m3u8",
      ])
    let times = text.split(separator: "\n").compactMap { Double($0.prefix { $0 != "," }) }
    #expect(times.count == 500)
    #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
    #expect(abs((times.last ?? 0) - 24.96) < 0.1)
  }

  @Test func `can put the init section in front`() throws {
    let client = try served.client()
    let path = "/\(second.key)/\(second.files[1].name)"
    let plain = try client.request("GET", path)
    let moved = try client.request("GET", path + "?after=1350000")
    #expect(moved.status == 200 && moved.body.count == plain.body.count && moved.body != plain.body)
    let whole = try client.request("GET", path + "?after=1350000&init")
    #expect(whole.body == second.files[0].bytes + moved.body)
    #expect(try client.request("GET", path + "?after=0").body == plain.body)
    #expect(try client.request("HEAD", path + "?after=0&init")["content-length"] == "\(whole.body.count)")
    for wrong in ["x", "-1", "99999999999999999999"] {
      #expect(try client.request("GET", path + "?after=\(wrong)").status == 400)
    }
  }

  @Test func `gives nothing where nothing came, and no error`() throws {
    let client = try served.client()
    let gap = "/\(first.key)/00000001.m4s"
    let answer = try client.request("GET", gap)
    #expect(answer.status == 200 && answer.body.isEmpty)
    #expect(try client.request("GET", gap + "?after=0&init").body == first.files[0].bytes)
  }
}
