import Foundation
import TestKit
import Testing

/// What the multivariant playlist says of sources that are copied, through the built binary: each codec's exact name
/// (RFC 6381 and the codec's binding to MP4), the range of the picture and its rate.
@Suite struct `Variants of copied sources` {
  struct Source: Sendable, CustomTestStringConvertible {
    let picture: [String]
    let sound: [String]
    var rate = "25"
    let said: String
    var testDescription: String { said }
  }

  private static let hevc = ["-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none"]
  private static func wide(_ transfer: String) -> [String] {
    hevc + [
      "-pix_fmt", "yuv420p10le", "-color_primaries", "bt2020", "-color_trc", transfer, "-colorspace", "bt2020nc",
    ]
  }

  @Test(arguments: [
    Source(
      picture: ["-c:v", "libx264", "-preset", "ultrafast"], sound: ["-c:a", "aac"], rate: "30000/1001",
      said: #"CODECS="avc1.42c00d,mp4a.40.2",RESOLUTION=320x180,FRAME-RATE=29.970"#),
    Source(
      picture: hevc, sound: ["-c:a", "ac3"],
      said: #"CODECS="hvc1.1.6.L60.90,ac-3",RESOLUTION=320x180,FRAME-RATE=25.000"#),
    Source(
      picture: wide("smpte2084"), sound: ["-c:a", "eac3"],
      said: #"CODECS="hvc1.2.4.L60.90,ec-3",RESOLUTION=320x180,FRAME-RATE=25.000,VIDEO-RANGE=PQ"#),
    Source(
      picture: wide("arib-std-b67"), sound: ["-c:a", "libmp3lame"],
      said: #"CODECS="hvc1.2.4.L60.90,mp4a.6b",RESOLUTION=320x180,FRAME-RATE=25.000,VIDEO-RANGE=HLG"#),
    Source(
      picture: ["-c:v", "libsvtav1", "-preset", "12"], sound: ["-c:a", "libopus"], rate: "60000/1001",
      said: #"CODECS="av01.0.00M.08,Opus",RESOLUTION=320x180,FRAME-RATE=59.940"#),
    Source(
      picture: ["-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8"], sound: ["-c:a", "flac"], rate: "10",
      said: #"CODECS="vp09.00.11.08,fLaC",RESOLUTION=320x180,FRAME-RATE=10.000"#),
  ])
  func `are named exactly`(source: Source) throws {
    #expect(try variant(of: source).hasSuffix(source.said))
  }

  /// ffmpeg has no encoder for it here: a stream at 24 kHz whose configuration says that SBR doubles the rate.
  @Test func `of HE-AAC are not named as plain AAC`() throws {
    let said = try variant(of: Source(picture: ["-vn"], sound: ["-c:a", "aac", "-ar", "24000"], said: "")) { bytes in
      let plain = Data([0x80, 0x80, 0x80, 0x05, 0x13, 0x10, 0x56, 0xE5, 0x00])
      let place = try #require(bytes.range(of: plain))
      // Object type 5, 24 kHz, two channels, 48 kHz, object type 2 (ISO/IEC 14496-3 §1.6.2.1).
      bytes.replaceSubrange(place, with: [0x80, 0x80, 0x80, 0x05, 0x2B, 0x11, 0x88, 0x00, 0x00])
    }
    #expect(said.hasSuffix(#"CODECS="mp4a.40.5""#))
  }

  @Test(arguments: ["m4a", "ts", "mkv", "aac"])
  func `of HE-AAC that only its frames tell of are not named as plain AAC of half the rate`(container: String) throws {
    let directory = try TemporaryDirectory()
    let core = directory.file("core.aac")
    try Program.tool(
      "ffmpeg", ["-v", "error", "-f", "lavfi", "-i", "sine=sample_rate=24000:duration=1", "-ac", "2", core])
    let frames = addingSBR(toADTS: Array(try Data(contentsOf: URL(fileURLWithPath: core))))
    try Data(frames).write(to: URL(fileURLWithPath: directory.file("he.aac")))
    let input = directory.file("input.\(container)")
    try Program.tool("ffmpeg", ["-v", "error", "-i", directory.file("he.aac"), "-c", "copy", input])
    #expect(try line(of: input, directory, picture: "none").hasSuffix(#"CODECS="mp4a.40.5""#))
    let playlist = directory.file("spool/it/main/vod.m3u8")
    try Media.decode(playlist)
    let sound = try #require(try Media.stream(playlist, "a"))
    #expect(abs(sound.duration - 1) < 0.1)
  }

  /// The line about the only variant.
  private func variant(of source: Source, change: (inout Data) throws -> Void = { _ in }) throws -> String {
    let directory = try TemporaryDirectory()
    let input = directory.file("input.mp4")
    try Media.generate(
      input, seconds: 1, rate: source.rate,
      arguments: ["-pix_fmt", "yuv420p"] + source.picture + source.sound + ["-ac", "2", "-strict", "-2"])
    var bytes = try Data(contentsOf: URL(fileURLWithPath: input))
    try change(&bytes)
    try bytes.write(to: URL(fileURLWithPath: input))
    return try line(of: input, directory, picture: source.picture == ["-vn"] ? "none" : "copy")
  }

  private func line(of input: String, _ directory: TemporaryDirectory, picture: String) throws -> String {
    let recorded = try Program.run(
      segrecBinary,
      [
        "record", "--input", input, "--recording", "it", "--spool", directory.file("spool"), "--audio", "copy",
        "--video", picture,
      ])
    #expect(recorded.status == 0, "\(recorded.errors)")
    #expect(try Program.run(segrecBinary, ["stitch", directory.file("spool")]).status == 0)
    let list = try String(contentsOfFile: directory.file("spool/it/vod.m3u8"), encoding: .utf8)
    let lines = list.split(separator: "\n").filter { $0.hasPrefix("#EXT-X-STREAM-INF:") }
    #expect(lines.count == 1)
    return String(try #require(lines.first))
  }
}
