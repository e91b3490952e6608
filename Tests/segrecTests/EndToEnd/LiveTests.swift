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

  /// With SEGREC_SOAK set, on a machine that has nothing else to do, as fast as promised: 300 ms and 1 s.
  @Test func `the live list follows each commit, and the end list the end`() throws {
    let isIdle = ProcessInfo.processInfo.environment["SEGREC_SOAK"] != nil
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
    let seen = eventually(within: 60) {
      let now = Date()
      while committed.count < segmentNames(directory, below: "spool").count { committed.append(now) }
      let text = (try? String(contentsOfFile: list, encoding: .utf8)) ?? ""
      while published.count < text.components(separatedBy: "#EXTINF").count - 1 { published.append(now) }
      return published.count >= 8
    }
    #expect(seen)
    let delays = zip(committed, published).map { $1.timeIntervalSince($0) }
    // A list that were written by looking around, every few seconds, would hardly come within one segment's time thrice.
    #expect(delays.count { $0 < (isIdle ? 0.3 : 1) } >= (isIdle ? 8 : 3), "\(delays)")
    #expect(try HTTP.get("\(origin.address)/live/main/live.m3u8").body.contains("#EXT-X-ENDLIST") == false)

    program.send(signal: SIGINT)
    let asked = Date()
    let vod = directory.file("root/live/main/vod.m3u8")
    let ended = eventually(within: 60) {
      ((try? String(contentsOfFile: vod, encoding: .utf8)) ?? "").contains("#EXT-X-ENDLIST")
    }
    let delay = Date().timeIntervalSince(asked)
    #expect(ended)
    #expect(!isIdle || delay < 1, "\(delay) s from the request to the end list")
    #expect(try program.wait().status == 0, "\(program.errors)")
    try Media.decode("\(origin.address)/live/vod.m3u8")
  }
}
