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

  private struct Delays {
    /// Seconds from a commit to its place in the live list, the longest of eight.
    var publication: Double
    /// Seconds from the request to end to the end of the list.
    var end: Double

    var areShort: Bool { publication < 0.3 && end < 1 }
  }

  @Test func `the live list shows a segment within 300 ms of its commit, and its end within 1 s`() throws {
    let delays = try attempts(until: \.areShort) { try watch("live\($0)") }
    #expect(delays.last?.areShort == true, "\(delays)")
  }

  private func watch(_ name: String) throws -> Delays {
    let program = try Program(
      segrecBinary,
      [
        "record", "--recording", name, "--spool", directory.file("spool"), "--upload", origin.address,
        "--input-format", "lavfi", "--input", "testsrc2=size=320x180:rate=25[out0];sine=frequency=440[out1]",
        "--realtime", "--segment-duration", "1s", "--duration", "60s",
      ])
    var committed: [Date] = []
    var published: [Date] = []
    let list = directory.file("root/\(name)/main/live.m3u8")
    let seen = eventually(within: 60) {
      let now = Date()
      while committed.count < segmentNames(directory, below: "spool/\(name)").count { committed.append(now) }
      let text = (try? String(contentsOfFile: list, encoding: .utf8)) ?? ""
      while published.count < text.components(separatedBy: "#EXTINF").count - 1 { published.append(now) }
      return published.count >= 8
    }
    #expect(seen)
    #expect(try HTTP.get("\(origin.address)/\(name)/main/live.m3u8").body.contains("#EXT-X-ENDLIST") == false)

    program.send(signal: SIGINT)
    let asked = Date()
    let vod = directory.file("root/\(name)/main/vod.m3u8")
    let ended = eventually(within: 60) {
      ((try? String(contentsOfFile: vod, encoding: .utf8)) ?? "").contains("#EXT-X-ENDLIST")
    }
    let end = Date().timeIntervalSince(asked)
    #expect(ended)
    #expect(try program.wait().status == 0, "\(program.errors)")
    #expect(!program.errors.contains("another process"), "\(program.errors)")
    try Media.decode("\(origin.address)/\(name)/vod.m3u8")
    let late = zip(committed, published).map { $1.timeIntervalSince($0) }
    return Delays(publication: late.max() ?? 9, end: end)
  }
}
