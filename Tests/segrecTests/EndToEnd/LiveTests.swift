import Foundation
import TestKit
import Testing

/// While it is being recorded: how soon a viewer sees what was committed, and how soon an end is an end.
@Suite(.serialized) struct `A live recording` {
  private let directory: TemporaryDirectory
  private let origin: Origin

  init() throws {
    directory = try TemporaryDirectory()
    origin = try Origin(root: directory.file("root"))
  }

  @Test func `the live list shows a segment within 300 ms of its commit`() throws {
    let program = try Program(
      segrecBinary,
      [
        "record", "--recording", "live", "--spool", directory.file("spool"), "--upload", origin.address,
        "--input-format", "lavfi", "--input", "testsrc2=size=320x180:rate=25[out0];sine=frequency=440[out1]",
        "--realtime", "--segment-duration", "1s", "--duration", "60s",
      ])
    var committed: [Date] = []
    var published: [Date] = []
    let list = directory.file("root/live/main/live.m3u8")
    let seen = eventually(within: 30) {
      let now = Date()
      while committed.count < segmentNames(directory, below: "spool").count { committed.append(now) }
      let text = (try? String(contentsOfFile: list, encoding: .utf8)) ?? ""
      while published.count < text.components(separatedBy: "#EXTINF").count - 1 { published.append(now) }
      return published.count >= 8
    }
    #expect(seen)
    let delays = zip(committed, published).map { $1.timeIntervalSince($0) }
    #expect(delays.allSatisfy { $0 < 0.3 }, "\(delays)")
    #expect(try HTTP.get("\(origin.address)/live/main/live.m3u8").body.contains("#EXT-X-ENDLIST") == false)

    program.send(signal: SIGINT)
    let asked = Date()
    let vod = directory.file("root/live/main/vod.m3u8")
    let ended = eventually(within: 60) {
      ((try? String(contentsOfFile: vod, encoding: .utf8)) ?? "").contains("#EXT-X-ENDLIST")
    }
    let delay = Date().timeIntervalSince(asked)
    #expect(ended)
    #expect(delay < 1, "\(delay) s from the request to the end list")
    #expect(try program.wait().status == 0, "\(program.errors)")
    try Media.decode("\(origin.address)/live/vod.m3u8")
  }
}
