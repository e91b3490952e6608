import Foundation
import HLS
import TestKit
import Testing

/// `segrec stitch` over the pieces a phone uploads.
@Suite(.serialized) struct `Phone pieces` {
  private let directory: TemporaryDirectory
  private let run = RunName(start: WallClockTime(milliseconds: 1_796_000_000_000), suffix: 0xA3F1)
  private var place: String { directory.file("root/phone/main/\(run)") }

  init() throws {
    directory = try TemporaryDirectory()
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
  }

  /// Two seconds of a tone and a picture that run on from piece to piece, each with the encoder's priming of its own.
  private func piece(_ number: Int, size: String = "160x90", as name: Int? = nil) throws {
    let from = number * 2
    try Program.tool(
      "ffmpeg",
      [
        "-nostdin", "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=size=\(size):rate=30:duration=\(from + 2)",
        "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=44100:duration=\(from + 2)", "-filter_complex",
        "[0:v]trim=start=\(from),setpts=PTS-STARTPTS[v];[1:a]atrim=start=\(from),asetpts=PTS-STARTPTS[a]", "-map",
        "[v]",
        "-map", "[a]", "-c:v", "libx264", "-preset", "ultrafast", "-bf", "2", "-g", "60", "-c:a", "aac", "-movflags",
        "+faststart", "\(place)/\(String(format: "%08d", name ?? number)).mp4",
      ])
  }

  private func mark(_ name: String) throws {
    try Data().write(to: URL(fileURLWithPath: "\(place)/\(name)"))
  }

  private func stitch(_ options: String...) throws -> Program.Result {
    let result = try Program.run(segrecBinary, ["stitch", directory.file("root")] + options)
    #expect(result.status == 0, "\(result.errors)")
    return result
  }

  private func list(_ name: String) throws -> MediaPlaylist {
    let path = directory.file("root/phone/main/\(name).m3u8")
    return try MediaPlaylist(parsing: Array(Data(contentsOf: URL(fileURLWithPath: path))))
  }

  /// Where packets of a stream do not follow each other, in seconds.
  private func holes(_ kind: String) throws -> [Double] {
    let text = try Program.tool(
      "ffprobe",
      [
        "-v", "error", "-select_streams", kind, "-show_entries", "packet=dts_time,duration_time", "-of", "csv=p=0",
        directory.file("root/phone/main/vod.m3u8"),
      ])
    let times = text.split(separator: "\n").map { $0.split(separator: ",").compactMap { Double($0) } }
    return zip(times, times.dropFirst()).compactMap { a, b in
      guard a.count == 2, b.count == 2 else { return nil }
      let hole = b[0] - a[0] - a[1]
      return abs(hole) > 0.001 ? hole : nil
    }
  }

  @Test func `become one continuous recording, whenever the stitcher starts anew`() throws {
    for number in 0..<4 {
      try piece(number)
      if number == 3 { try mark("4.end") }
      _ = try stitch()
    }
    let whole = try list("vod")
    #expect(whole.entries.map(\.ticks) == [180_000, 180_000, 180_000, 180_000])
    #expect(whole.entries.allSatisfy { !$0.isDiscontinuity && !$0.isGap })
    #expect(try holes("v").isEmpty)
    #expect(try holes("a").isEmpty)
    let video = try #require(try Media.stream(directory.file("root/phone/vod.m3u8"), "v"))
    let sound = try #require(try Media.stream(directory.file("root/phone/vod.m3u8"), "a"))
    #expect(video.frames == 240)
    #expect(abs(video.duration - 8) < 0.001)
    #expect(abs(sound.duration - 8) < 0.025)
    #expect(FileManager.default.fileExists(atPath: "\(place)/pieces/00000003.mp4"))
    try Media.decode(directory.file("root/phone/vod.m3u8"))
  }

  /// A tenth of the tone's height and one and a half times its steepest slope, 440 Hz at 44.1 kHz.
  @Test func `join without silence and without a click`() throws {
    for number in 0..<5 { try piece(number) }
    _ = try stitch()
    try mark("5.end")
    _ = try stitch()
    let sound = directory.file("sound.f32")
    try Program.tool(
      "ffmpeg",
      [
        "-nostdin", "-v", "error", "-i", directory.file("root/phone/main/vod.m3u8"), "-map", "0:a", "-f", "f32le",
        sound,
      ])
    let samples = try Data(contentsOf: URL(fileURLWithPath: sound)).withUnsafeBytes {
      Array($0.bindMemory(to: Float.self))
    }
    let height = try #require(samples[20_000..<60_000].max())
    let slope = height * 2 * .pi * 440 / 44_100
    for join in (1...4).map({ $0 * 88_200 }) {
      let near = samples[join - 6_000..<join + 6_000]
      var (quiet, longest) = (0, 0)
      for sample in near {
        quiet = abs(sample) < height / 10 ? quiet + 1 : 0
        longest = max(longest, quiet)
      }
      #expect(longest < 220, "5 ms at the join \(join)")
      #expect(zip(near, near.dropFirst()).allSatisfy { abs($1 - $0) < 1.5 * slope }, "a step at the join \(join)")
    }
  }

  @Test func `that are bad or missing are gaps, and one that comes late is in the whole list`() throws {
    for number in [0, 3, 4] { try piece(number) }
    try Data("no piece".utf8).write(to: URL(fileURLWithPath: "\(place)/00000001.mp4"))
    let said = try stitch("--gap-after", "0s")
    #expect((said.errors + said.output).contains("piece 1 of phone/main/\(run) cannot be used"))
    #expect(FileManager.default.fileExists(atPath: "\(place)/refused/00000001.mp4"))
    #expect(try list("live").entries.map(\.isGap) == [false, true, true, false, false])
    #expect(try list("live").entries.map(\.ticks).reduce(0, +) == 900_000)
    try piece(2)
    try mark("5.end")
    _ = try stitch("--gap-after", "0s")
    #expect(try list("vod").entries.map(\.isGap) == [false, true, false, false, false])
    try Media.decode(directory.file("root/phone/vod.m3u8"))
  }

  @Test func `of another size begin a new run`() throws {
    for number in 0..<2 { try piece(number) }
    for number in 2..<4 { try piece(number, size: "320x180") }
    try mark("4.end")
    _ = try stitch()
    let whole = try list("vod")
    #expect(whole.entries.map(\.isDiscontinuity) == [false, false, true, false])
    #expect(whole.entries.map(\.sequence) == [0, 1, 0, 1])
    #expect(whole.entries[2].date == run.start.advanced(byTicks: 360_000))
    #expect(try list("live").isEnded)
    _ = try stitch()
    #expect(try list("live").isEnded)
  }

  @Test func `that are to be turned are turned, since players do not`() throws {
    for number in 0..<2 {
      try piece(number, as: 9)
      try Program.tool(
        "ffmpeg",
        [
          "-nostdin", "-v", "error", "-i", "\(place)/00000009.mp4", "-c", "copy", "-metadata:s:v:0", "rotate=90",
          "-movflags", "+faststart", "\(place)/0000000\(number).mp4",
        ])
    }
    try FileManager.default.removeItem(atPath: "\(place)/00000009.mp4")
    try mark("2.end")
    _ = try stitch()
    let text = try String(contentsOfFile: directory.file("root/phone/vod.m3u8"), encoding: .utf8)
    #expect(text.contains("RESOLUTION=90x160"))
    let whole = try list("vod")
    #expect(whole.entries.map(\.ticks) == [180_000, 180_000])
    #expect(whole.entries.allSatisfy { !$0.isDiscontinuity })
    let video = try #require(try Media.stream(directory.file("root/phone/vod.m3u8"), "v"))
    #expect((video.width, video.height, video.frames) == (90, 160, 120))
    try Media.decode(directory.file("root/phone/vod.m3u8"))
  }
}
