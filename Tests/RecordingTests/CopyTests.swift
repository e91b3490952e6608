import Foundation
import HLS
import LibAV
import Platform
import Recording
import TestKit
import Testing

private func within(_ a: Double?, _ b: Double, _ tolerance: Double) -> Bool {
  a.map { abs($0 - b) <= tolerance } ?? false
}

private func copy(_ path: String, _ configure: (inout RecordingConfiguration) -> Void = { _ in }) throws -> Recorded {
  try Recorded(path) {
    $0.video = .copy
    $0.audio = .copy
    configure(&$0)
  }
}

extension Recorded {
  /// What the boxes of a segment say of its tracks.
  fileprivate func tracks(ofSegment segment: Int) throws -> [TrackSpan] {
    let run = try #require(runs.first)
    func bytes(_ name: String) throws -> [UInt8] {
      [UInt8](try Data(contentsOf: URL(fileURLWithPath: run.path + "/" + name)))
    }
    var scan = ChunkScan(try InitSection(parsing: bytes("init.mp4")))
    scan.feed(try bytes(run.segments[segment].description))
    return scan.tracks
  }
}

@Suite struct `Copied as it was meant` {
  @Test(arguments: [("libx264", "raw.h264"), ("libx265", "raw.h265"), ("libx264", "b.avi"), ("libx264", "b.mpg")])
  func `pictures whose container tells no presentation times are shown in their order`(encoder: String, name: String)
    throws
  {
    let directory = try TemporaryDirectory()
    // Each picture is a little brighter than the one before.
    let path = try Generated.file(
      name, in: directory, "color=c=black:s=64x64:r=25:d=4,geq=lum='16+2*N':cb=128:cr=128",
      ["-c:v", encoder, "-bf", "3", "-g", "50", "-preset", "ultrafast", "-x264-params", "bframes=3:b-adapt=0"])
    let recorded = try copy(path) { $0.audio = .none }
    let played = try recorded.played()
    #expect(played.pictures.count == 100)
    #expect(played.videoPackets.contains { $0.time - $0.decodeTime > 0.03 }, "there are reordered pictures")
    let shown = played.videoPackets.map(\.time).sorted()
    #expect(zip(shown, shown.dropFirst()).allSatisfy { within($1 - $0, 0.04, 0.001) })
    let brightness = played.pictures.sorted { $0.time < $1.time }.map(\.brightness)
    #expect(zip(brightness, brightness.dropFirst()).allSatisfy { $0 <= $1 + 0.5 })
    #expect(recorded.summary?.progress.ticks == 360_000)
  }

  @Test func `pictures that lack their times in the middle of a transport stream get them`() throws {
    let directory = try TemporaryDirectory()
    // libav loses the times of key frames that come with this message.
    let path = try Generated.file(
      "some.ts", in: directory, "testsrc2=s=64x64:r=25:d=4[out0];sine=r=48000:d=4[out1]",
      [
        "-c:v", "libx264", "-g", "25", "-bf", "0", "-preset", "ultrafast", "-c:a", "aac", "-bsf:v",
        "h264_metadata=display_orientation=insert:rotate=90",
      ])
    let shown = try copy(path).played().videoPackets.map(\.time)
    #expect(shown.count == 100)
    #expect(zip(shown, shown.dropFirst()).allSatisfy { within($1 - $0, 0.04, 0.001) })
  }

  @Test func `the last picture lasts as long as there is sound`() throws {
    let directory = try TemporaryDirectory()
    let path = try Generated.file(
      "long.mp4", in: directory, "testsrc2=s=64x64:r=25:d=6[out0];sine=r=48000:d=20[out1]",
      ["-c:v", "libx264", "-g", "25", "-c:a", "aac"])
    let recorded = try copy(path)
    #expect(recorded.runs.first?.ticks.first == 450_000)
    #expect(within(recorded.summary.map { Double($0.progress.ticks) / 90_000 }, 20, 0.03))
    let last = try recorded.tracks(ofSegment: 1)
    #expect(last.count == 2 && last.allSatisfy { within(Double($0.ticks) / 90_000, 15, 0.05) })
  }

  @Test(arguments: ["aac", "ac3", "eac3", "libmp3lame", "libopus", "flac"])
  func `copied sound that begins late, has a hole or ends early is silent there, in each segment`(encoder: String)
    throws
  {
    let directory = try TemporaryDirectory()
    let path = try Generated.file(
      "holes.mkv", in: directory,
      "testsrc2=s=64x64:r=25:d=30[out0];"
        + "aevalsrc=exprs='0.5*sin(2*PI*500*t)':s=48000:d=22,aselect='between(t,6,8)+between(t,16,17)'[out1]",
      ["-copyts", "-c:v", "libx264", "-bf", "0", "-g", "25", "-c:a", encoder])
    // The longest packet of its kind.
    let packet = encoder == "flac" ? 0.1 : 0.06
    let recorded = try copy(path)
    #expect(recorded.error == nil && recorded.runs.first?.segments.count == 6)
    for segment in 0..<(recorded.runs.first?.segments.count ?? 0) {
      let played = try recorded.played(segment: segment)
      #expect(within(played.soundPackets.first?.time, Double(segment) * 5, 0.01 + packet))
    }
    let played = try recorded.played()
    #expect(within(played.firstLoud, 6, 0.05) && within(played.lastLoud, 17, 0.05))
    #expect(within(played.soundPackets.last?.time, 30, encoder == "flac" ? 0.15 : packet))
    let times = played.soundPackets.map(\.time)
    #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 < (encoder == "flac" ? 0.17 : 0.1) })
  }

  @Test(arguments: ["away.mp4", "away.mkv", "away.ts"], [true, false])
  func `reordered pictures that stay away for half a minute come back with the sound of their time`(
    name: String, isCopied: Bool
  ) throws {
    let directory = try TemporaryDirectory()
    let path = try Generated.file(
      name, in: directory,
      "testsrc2=s=64x64:r=25:d=46,select='lt(t,6)+gte(t,36)'[out0];"
        + "aevalsrc=exprs='if(between(t,38,38.2),0.8*sin(2*PI*1000*t),0)':s=48000:d=46[out1]",
      ["-fps_mode", "vfr", "-c:v", "libx264", "-bf", "3", "-g", "50", "-c:a", "aac"])
    let recorded = try isCopied ? copy(path) : Recorded(path)
    let run = try #require(recorded.runs.first)
    #expect(recorded.runs.count == 1)
    #expect(within(Double(run.ticks.reduce(0, +)) / 90_000, 46, 0.2))
    if isCopied { #expect(within(Double(run.ticks[0]) / 90_000, 36, 0.01)) }
    for segment in run.segments.indices {
      let played = try recorded.played(segment: segment)
      #expect(within(played.soundPackets.first?.time, played.pictures.first?.time ?? -9, 0.04))
    }
    let played = try recorded.played()
    let first = played.videoPackets.map(\.time).min() ?? 0
    #expect(within(played.firstLoud.map { $0 - first }, 38, 0.03))
  }

  @Test func `of a first packet that begins before the picture and is heard with it nothing is lost`() throws {
    let directory = try TemporaryDirectory()
    let path = try Generated.file(
      "a.mkv", in: directory, "testsrc2=s=64x64:r=25:d=2[out0];sine=r=48000:d=2[out1]",
      ["-c:v", "libx264", "-bf", "0", "-c:a", "ac3"])
    let source = try Played(path)
    let played = try copy(path).played()
    #expect(source.soundPackets.first?.time ?? 1 < source.videoPackets.first?.time ?? 0, "it begins before")
    #expect(played.soundPackets.count == source.soundPackets.count)
    #expect(
      within(
        (played.soundPackets.first?.time ?? 9) - (played.videoPackets.first?.time ?? 0),
        (source.soundPackets.first?.time ?? 0) - (source.videoPackets.first?.time ?? 9), 0.002))
  }

  @Test(arguments: [true, false])
  func `a picture that begins twenty seconds after the sound is shown from the start, and nothing is lost`(
    isCopied: Bool
  ) throws {
    let directory = try TemporaryDirectory()
    let path = try Generated.file(
      "late.mkv", in: directory, "testsrc2=s=64x64:r=25:d=4,setpts=PTS+20/TB[out0];sine=r=48000:d=24[out1]",
      ["-copyts", "-fps_mode", "passthrough", "-c:v", "libx264", "-bf", "2", "-g", "25", "-c:a", "aac"])
    let recorded = try isCopied ? copy(path) : Recorded(path)
    #expect(recorded.runs.count == 1)
    #expect(within(recorded.summary.map { Double($0.progress.ticks) / 90_000 }, 24, 0.05))
    let played = try recorded.played()
    #expect(played.pictures.count >= 100)
    #expect(within(played.soundPackets.first?.time, played.videoPackets.map(\.time).min() ?? 9, 0.03))
  }

  @Test(arguments: ["libx264", "libx265"])
  func `where pictures refer across every key frame, segments begin at key frames all the same, and it is said`(
    encoder: String
  ) throws {
    let directory = try TemporaryDirectory()
    let path = try Generated.file(
      "open.mp4", in: directory, "testsrc2=s=64x64:r=25:d=24[out0];sine=r=48000:d=24[out1]",
      [
        "-c:v", encoder, "-preset", "ultrafast", "-g", "50", "-keyint_min", "50", "-sc_threshold", "0",
        "-x264-params", "open-gop=1:bframes=3:b-adapt=0", "-x265-params",
        "log-level=error:open-gop=1:keyint=50:min-keyint=50:bframes=3:b-adapt=0:scenecut=0", "-c:a", "aac",
      ])
    let recorded = try copy(path)
    // A picture of the second segment is shown before its key frame.
    #expect(recorded.runs.first?.ticks == [1_076_400, 360_000, 360_000, 363_600])
    #expect(recorded.events.filter { $0.message.contains("open GOP") }.count == 1)
    #expect(try recorded.played().pictures.count == 600)
    let flags = try (0..<4).map { try recorded.tracks(ofSegment: $0).first { $0.kind == .video }?.startsWithSync }
    #expect(flags == [true, false, false, false], "samples are flagged as what they are")
  }

  @Test func `what cannot be copied is encoded where the choice is left, and an error where it is not`() throws {
    let directory = try TemporaryDirectory()
    let description = "testsrc2=s=64x64:r=25:d=1[out0];sine=r=48000:d=1[out1]"
    func recorded(_ name: String, _ arguments: [String], _ mode: RecordingConfiguration.Video) throws -> Recorded {
      try Recorded(try Generated.file(name, in: directory, description, arguments)) {
        $0.video = mode
        $0.audio = .auto
      }
    }
    let fits = try recorded("fits.mkv", ["-c:v", "libx265", "-x265-params", "log-level=error", "-c:a", "ac3"], .auto)
    #expect(try fits.played().videoCodec == "hevc" && fits.played().soundCodec == "ac3")
    let old = try recorded("old.mpg", ["-c:v", "mpeg2video", "-c:a", "mp2"], .auto)
    #expect(try old.played().videoCodec == "h264" && old.played().soundCodec == "aac")
    #expect(old.events.filter { $0.message.contains("it is encoded as") }.count == 2)
    #expect(try recorded("forced.mpg", ["-c:v", "mpeg2video", "-c:a", "mp2"], .copy).error?.kind == .badInput)
    let turned = directory.file("turned.mp4")
    try Program.tool(
      "ffmpeg",
      [
        "-v", "error", "-i", directory.file("fits.mkv"), "-map", "0:v", "-c", "copy", "-metadata:s:v", "rotate=90",
        turned,
      ])
    let upright = try Recorded(turned) { $0.video = .auto }
    #expect(try upright.played().videoCodec == "h264")
  }

  @Test func `what is not recorded of an input is said in one line`() throws {
    let directory = try TemporaryDirectory()
    let titles = directory.file("titles.srt")
    try Data("1\n00:00:00,000 --> 00:00:01,000\nhello\n".utf8).write(to: URL(fileURLWithPath: titles))
    let path = try Generated.file(
      "two.mkv", in: directory, "testsrc2=s=64x64:r=25:d=1[out0];sine=d=1[out1];sine=f=900:d=1",
      ["-i", titles, "-map", "0", "-map", "1", "-map", "2", "-map", "3", "-c:v", "libx264", "-c:a", "aac"])
    let recorded = try Recorded(path)
    let said = recorded.events.filter { $0.message.contains("not recorded") }
    #expect(said.count == 1)
    let expected = "not recorded: stream 2 (sound, aac), stream 3 (ass)"
    #expect(said.first?.message.contains(expected) == true, "\(said.first?.message ?? "")")
    let second = try Recorded(path) {
      $0.microphone = .init(url: "amovie=\(path):si=2", format: "lavfi")
      $0.microphoneMode = .separate
    }
    #expect(within(try second.played(try #require(second.runs(of: "mic").first)).soundEnd, 1, 0.05))
  }
}
