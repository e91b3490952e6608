import Foundation
import TestKit
import Testing

/// The recording that `segments/README.md` points at: it must stay what the page says it is.
@Suite struct `The tracked sample` {
  @Test func `is stitched into eight seconds that decode`() throws {
    let directory = try TemporaryDirectory()
    try Program.tool("cp", ["-r", packageDirectory + "/segments/sample", directory.file("sample")])
    #expect(try Program.run(segrecBinary, ["stitch", directory.file("")]).status == 0)
    let playlist = directory.file("sample/vod.m3u8")
    try Media.decode(playlist)
    let video = try #require(try Media.stream(playlist, "v"))
    let sound = try #require(try Media.stream(playlist, "a"))
    #expect(abs(video.duration - 8) < 0.001)
    #expect(abs(sound.duration - 8) < 0.025)
  }
}
