import Foundation
import HLS
import LibAV
import Platform
import Recording
import Storage
import TestKit
import Testing

private func within(_ a: Double?, _ b: Double, _ tolerance: Double) -> Bool {
  a.map { abs($0 - b) <= tolerance } ?? false
}

private func steps(_ times: [Double]) -> [Double] { zip(times, times.dropFirst()).map { $1 - $0 } }

/// How far the tone is from the flash.
private func offset(_ played: Played) -> Double { (played.firstLoud ?? 100) - (played.firstBright ?? 0) }

@Suite struct `Encoded recording` {
  @Test func `segments last five seconds to the tick, start with a key frame and sound, and end with the input`() throws
  {
    let recorded = try Recorded(Generated.flash(seconds: 12), format: "lavfi")
    #expect(recorded.error == nil)
    #expect(recorded.summary?.ending == .inputEnded)
    let run = try #require(recorded.runs.first)
    #expect(recorded.runs.count == 1 && run.marker == "3.end" && run.others.isEmpty)
    #expect(run.ticks == [450_000, 450_000, 180_000])
    #expect(run.segments.map(\.sequence) == [0, 1, 2])
    #expect(run.segments[1].start.milliseconds - run.segments[0].start.milliseconds == 5000)
    for segment in 0..<3 {
      let played = try recorded.played(segment: segment)
      #expect(played.pictures.first?.isKey == true)
      #expect(within(played.pictures.first?.time, Double(segment) * 5, 0.001))
      #expect(within(played.soundPackets.first?.time, Double(segment) * 5, 0.022), "sound begins with the picture")
      #expect(played.pictures.count == (segment < 2 ? 125 : 50), "each decodes alone")
    }
    let played = try recorded.played()
    #expect(played.pictures.count == 300)
    #expect(steps(played.videoPackets.map(\.decodeTime)).allSatisfy { within($0, 0.04, 1e-9) })
    #expect(steps(played.soundPackets.map(\.time)).allSatisfy { within($0, 1024.0 / 48_000.0, 1e-9) })
    #expect(recorded.summary?.progress.ticks == 1_080_000)
  }

  @Test(arguments: ["25", "30000/1001", "60000/1001", "7"], [8_000, 44_100, 192_000])
  func `sound stays with the picture whatever the rates`(rate: String, sampleRate: Int) throws {
    let recorded = try Recorded(Generated.flash(seconds: 3, rate: rate, sampleRate: sampleRate), format: "lavfi")
    let played = try recorded.played()
    let bright = try #require(played.firstBright)
    let loud = try #require(played.firstLoud)
    #expect(within(bright, 2, 0.15))
    // The first white frame is the first at or after two seconds; the tone begins at two seconds.
    let parts = rate.split(separator: "/").compactMap { Double($0) }
    let frame = (parts.count > 1 ? parts[1] : 1) / parts[0]
    let shown = (1.999 / frame).rounded(.up) * frame
    #expect(within(bright, shown, 0.002))
    #expect(within(loud, 2, 0.02))
    #expect(played.soundRate == 48_000 && played.channels == 2 && played.soundCodec == "aac")
  }

  @Test func `a screen that shows something new now and then gets a frame every half second and at each cut`() throws {
    let picture = "testsrc2=s=160x90:r=30:d=12,select='lt(mod(t,3.3),0.2)'[out0]"
    let recorded = try Recorded(picture, format: "lavfi")
    #expect(recorded.runs.first?.ticks.prefix(2) == [450_000, 450_000])
    let times = try recorded.played().videoPackets.map(\.time)
    #expect(steps(times).allSatisfy { $0 < 0.535 })
    #expect(recorded.summary?.progress.refilled ?? 0 > 10)
  }

  @Test func `sound that begins late, has a hole or ends early is filled with silence`() throws {
    let scene =
      "color=c=black:s=64x64:r=25:d=12[out0];"
      + "aevalsrc=exprs='0.5*sin(2*PI*500*t)':s=48000:d=11,aselect='between(t,1.5,3)+between(t,6.5,8)'[out1]"
    let recorded = try Recorded(scene, format: "lavfi")
    for segment in 0..<3 {
      let played = try recorded.played(segment: segment)
      #expect(within(played.soundPackets.first?.time, Double(segment) * 5, 0.022))
    }
    let played = try recorded.played()
    #expect(within(played.firstLoud, 1.5, 0.02))
    #expect(within(played.lastLoud, 8, 0.05))
    #expect(within(played.soundEnd, 12, 0.05))
    #expect(recorded.summary?.progress.silence ?? 0 > 8 * 90_000)
  }

  @Test func `a clock of the sound that runs wrong is evened out`() throws {
    // 0.3 % too few samples a second, stamped as they come: a minute later 180 ms would be missing.
    let scene =
      "color=c=black:s=64x64:r=5:d=60,drawbox=c=white:t=fill:enable='gte(t,58)'[out0];"
      + "aevalsrc=exprs='if(gte(t,57.826),0.8*sin(2*PI*1000*t),0)':s=48000:d=59.82,asetpts=PTS*1.003[out1]"
    let recorded = try Recorded(scene, format: "lavfi")
    let played = try recorded.played()
    #expect(within(played.firstBright, 58, 0.001))
    #expect(within(played.firstLoud, 58, 0.02))
  }

  @Test func `odd sizes, alpha, full range and interlaced pictures become even, plain and square`() throws {
    let recorded = try Recorded(
      "testsrc2=s=161x91:r=25:d=1,format=yuva444p10le,setsar=2/1[out0]", format: "lavfi")
    let picture = try #require(try recorded.played().pictures.first)
    #expect((picture.width, picture.height) == (322, 92) && picture.format == "yuv420p")
  }

  @Test func `a rotated clip comes out upright`() throws {
    let directory = try TemporaryDirectory()
    let plain = try Generated.file("plain.mp4", in: directory, "testsrc2=s=160x90:r=25:d=1", ["-c:v", "libx264"])
    let turned = directory.file("turned.mp4")
    try Program.tool("ffmpeg", ["-v", "error", "-i", plain, "-c", "copy", "-metadata:s:v", "rotate=90", turned])
    let recorded = try Recorded(turned)
    let picture = try #require(try recorded.played().pictures.first)
    #expect((picture.width, picture.height) == (90, 160))
  }

  @Test func `pictures that the bitstream turns come out upright, from the first or from the middle`() throws {
    let directory = try TemporaryDirectory()
    let turn = ["-bsf:v", "h264_metadata=display_orientation=insert:rotate=90"]
    let white = "color=c=white:s=160x90:r=25:d=2"
    let plain = try Generated.file("plain.h264", in: directory, white, ["-c:v", "libx264", "-bf", "0"])
    let turned = try Generated.file("turned.h264", in: directory, white, ["-c:v", "libx264", "-bf", "0"] + turn)
    let first = try #require(try Recorded(turned).played().pictures.first)
    #expect((first.width, first.height) == (90, 160))
    let both = directory.file("both.h264")
    let parts = try [plain, turned, plain].map { try Data(contentsOf: URL(fileURLWithPath: $0)) }
    try parts.reduce(Data(), +).write(to: URL(fileURLWithPath: both))
    let pictures = try Recorded(both).played().pictures
    #expect(pictures.count == 150)
    #expect((pictures[0].width, pictures[0].height) == (160, 90))
    // An upright white picture takes 50 of 160 columns between black.
    let isTurned = pictures.map { $0.brightness < 120 }
    #expect(isTurned == (0..<150).map { (50..<100).contains($0) })
  }

  @Test(arguments: ["bgr0", "gbrp10le", "rgb24"])
  func `pictures of a screen are tagged as what they are converted to`(format: String) throws {
    let recorded = try Recorded("testsrc2=s=64x64:r=25:d=0.2,format=\(format)[out0]", format: "lavfi")
    // BT.709 is 1 in all three.
    #expect(
      try recorded.played().pictures.first?.color
        == ColorProperties(primaries: 1, transfer: 1, matrix: 1, isFullRange: false, isRangeKnown: true))
  }

  @Test func `a size is kept to, with the aspect where one side is free`() throws {
    for (size, expected) in [
      (RecordingConfiguration.Size(width: 80, height: nil), (80, 46)), (.init(width: nil, height: 180), (320, 180)),
      (.init(width: 100, height: 100), (100, 100)),
    ] {
      let recorded = try Recorded("testsrc2=s=160x90:r=25:d=0.2[out0]", format: "lavfi") { $0.size = size }
      let picture = try #require(try recorded.played().pictures.first)
      #expect((picture.width, picture.height) == expected)
    }
  }

  @Test func `a limited rate is steady`() throws {
    let recorded = try Recorded("testsrc2=s=64x64:r=60:d=6[out0]", format: "lavfi") {
      $0.maximumFrameRate = RationalTime(25, 1)
    }
    let times = try recorded.played().videoPackets.map(\.time)
    #expect(steps(times).allSatisfy { within($0, 0.04, 1e-6) })
    #expect(recorded.runs.first?.ticks.first == 450_000)
  }

  @Test func `the last frame of a limited rate lasts as long as the others`() throws {
    let recorded = try Recorded("testsrc2=s=64x64:r=60:d=1.21[out0]", format: "lavfi") {
      $0.maximumFrameRate = RationalTime(10, 1)
    }
    #expect(recorded.runs.first?.ticks == [117_000])
  }

  @Test func `the last picture is shown to the end of the duration, where the next one comes after it`() throws {
    let recorded = try Recorded("testsrc2=size=320x180:rate=25,select=lt(t\\,2.8)+gte(t\\,3.1)", format: "lavfi") {
      $0.duration = .seconds(3)
    }
    #expect(recorded.summary?.progress.ticks == 270_000)
  }

  @Test(arguments: [(0.03, 1.96), (0.12, 2.08)])
  func `the last picture is shown for as long as sound goes on, but for what fits into a frame of it`(
    rest: Double, lastShown: Double
  ) throws {
    let scene = "testsrc2=s=64x64:r=25:d=2[out0];sine=r=48000:d=\(2 + rest)[out1]"
    let played = try Recorded(scene, format: "lavfi").played()
    #expect(within(played.videoPackets.last?.time, lastShown, 0.001))
  }

  @Test(arguments: [true, false])
  func `sound that goes on for minutes lies where it belongs, in fragments that players read`(isCopied: Bool) throws {
    let directory = try TemporaryDirectory()
    let path = try Generated.file(
      "long.mkv", in: directory, "testsrc2=s=64x64:r=25:d=4[out0];sine=r=48000:d=900[out1]",
      ["-c:v", "libx264", "-bf", "0", "-g", "25", "-c:a", "libmp3lame", "-b:a", "64k"])
    let recorded = try Recorded(path) {
      $0.video = isCopied ? .copy : $0.video
      $0.audio = isCopied ? .copy : $0.audio
    }
    #expect(recorded.error == nil)
    let played = try recorded.played()
    #expect(played.pictures.count >= 100 && within(played.soundPackets.last?.time, 900, 0.1))
    guard !isCopied else { return }
    #expect(recorded.summary?.progress.ticks ?? 0 >= 900 * 90_000)
    for segment in [0, 1, 90, 179] {
      #expect(within(try recorded.played(segment: segment).soundPackets.first?.time, Double(segment) * 5, 0.03))
    }
  }

  @Test func `slides that are shown for twenty seconds each are copied with their sound`() throws {
    let directory = try TemporaryDirectory()
    let path = try Generated.file(
      "slides.mkv", in: directory, "testsrc2=s=64x64:r=1/20:d=60[out0];sine=r=48000:d=60[out1]",
      ["-c:v", "libx264", "-g", "1", "-c:a", "aac"])
    let recorded = try Recorded(path) {
      $0.video = .copy
      $0.audio = .copy
    }
    #expect(recorded.error == nil)
    #expect(try recorded.played().pictures.count == 3)
  }

  @Test func `a duration is kept to in both tracks`() throws {
    let recorded = try Recorded(Generated.flash(seconds: 60), format: "lavfi") { $0.duration = .milliseconds(6400) }
    #expect(recorded.summary?.ending == .durationReached)
    #expect(recorded.runs.first?.ticks == [450_000, 126_000])
    #expect(within(try recorded.played().soundEnd, 6.4, 0.022))
  }

  @Test func `pictures alone and sound alone are recordings too`() throws {
    let silent = try Recorded(Generated.flash(seconds: 6), format: "lavfi") { $0.audio = .none }
    #expect(silent.runs.first?.ticks == [450_000, 90_000])
    #expect(try silent.played().soundCodec == nil)
    let sound = try Recorded(Generated.flash(seconds: 6), format: "lavfi") { $0.video = .none }
    let ticks = try #require(sound.runs.first?.ticks)
    #expect(
      ticks.count == 2 && within(Double(ticks[0]), 450_000, 1920) && within(Double(ticks[0] + ticks[1]), 540_000, 1920))
    #expect(within(try sound.played().firstLoud, 2, 0.001))
  }

  @Test func `a second input brings the sound`() throws {
    let recorded = try Recorded(
      "color=c=black:s=64x64:r=25:d=3,drawbox=c=white:t=fill:enable='gte(t,2)'",
      "aevalsrc=exprs='if(gte(t,2),0.8*sin(2*PI*1000*t),0)':s=44100:d=3", format: "lavfi")
    let played = try recorded.played()
    #expect(within(played.firstBright, 2, 0.001) && within(played.firstLoud, 2, 0.01))
  }

  @Test(arguments: [(4, 42), (42, 4), (12, 12)])
  func `of two inputs the one that ends first is shown on, or is silent, in each segment`(picture: Int, sound: Int)
    throws
  {
    let recorded = try Recorded(
      "testsrc2=s=64x64:r=25:d=\(picture)[out0]", "sine=r=48000:d=\(sound)[out0]", format: "lavfi")
    #expect(recorded.error == nil)
    let length = max(picture, sound)
    #expect(within(recorded.summary.map { Double($0.progress.ticks) / 90_000 }, Double(length), 0.05))
    for segment in 0..<(recorded.runs.first?.segments.count ?? 0) {
      let played = try recorded.played(segment: segment)
      #expect(within(played.soundPackets.first?.time, Double(segment) * 5, 0.03))
      #expect(within(played.pictures.first?.time, Double(segment) * 5, 0.001))
    }
  }

  @Test func `a pipe is recorded as it comes`() throws {
    let directory = try TemporaryDirectory()
    let path = try Generated.file(
      "in.ts", in: directory, Generated.flash(seconds: 6),
      ["-c:v", "libx264", "-g", "25", "-c:a", "aac", "-f", "mpegts"])
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    let writeEnd = ends[1]
    let writer = try Platform.Thread("feed") {
      try? FileHandle(fileDescriptor: writeEnd, closeOnDealloc: true).write(contentsOf: bytes)
    }
    let readEnd = ends[0]
    let recorded = try Recorded("-") { $0.standardInput = readEnd }
    writer.join()
    close(readEnd)
    #expect(recorded.runs.first?.ticks.first == 450_000)
    let played = try recorded.played()
    #expect(within(played.firstLoud, played.firstBright ?? 0, 0.02))
  }

  @Test func `a stop ends the recording with what was captured`() throws {
    let recorded = try Recorded(
      "testsrc2=s=64x64:r=25[out0];sine=r=48000[out1]", format: "lavfi",
      onSegment: { recorder, entry in if case .segment = entry.entry { recorder.requestStop() } })
    #expect(recorded.summary?.ending == .stopped)
    let run = try #require(recorded.runs.first)
    #expect(run.marker == "\(run.segments.count).end" && run.segments.count >= 1 && run.others.isEmpty)
    let played = try recorded.played()
    #expect(within(played.soundEnd, (played.pictures.last?.time ?? 0) + 0.04, 0.08))
  }
}

@Suite struct `Copied recording` {
  private func clip(_ directory: TemporaryDirectory, _ name: String = "clip.mp4", _ arguments: [String] = []) throws
    -> String
  {
    try Generated.file(
      name, in: directory, Generated.flash(seconds: 12),
      [
        "-c:v", "libx264", "-preset", "ultrafast", "-bf", "2", "-g", "50", "-x264-params", "scenecut=0:open-gop=0",
        "-c:a", "aac",
      ] + arguments)
  }

  @Test(arguments: ["clip.mp4", "clip.ts", "clip.mkv"])
  func `packets keep their order and distance, cuts fall on key frames`(name: String) throws {
    let directory = try TemporaryDirectory()
    let path = try clip(directory, name)
    let recorded = try Recorded(path, into: directory) {
      $0.video = .copy
      $0.audio = .copy
    }
    #expect(recorded.error == nil)
    #expect(recorded.runs.first?.ticks == [540_000, 360_000, 180_000])
    let source = try Played(path)
    let played = try recorded.played()
    #expect(played.pictures.count == 300)
    let distances = zip(steps(source.videoPackets.map(\.time)), steps(played.videoPackets.map(\.time)))
    #expect(distances.allSatisfy { within($0, $1, 0.0011) })
    for segment in 0..<3 { #expect(try recorded.played(segment: segment).pictures.first?.isKey == true) }
    #expect(
      within(
        (played.firstLoud ?? 0) - (played.firstBright ?? 9), (source.firstLoud ?? 0) - (source.firstBright ?? 9), 0.02))
  }

  @Test func `a stream that starts between key frames starts with its first`() throws {
    let directory = try TemporaryDirectory()
    let whole = try clip(directory, "whole.ts")
    let bytes = try Data(contentsOf: URL(fileURLWithPath: whole))
    let cut = directory.file("cut.ts")
    try Data(bytes.dropFirst(bytes.count / 188 / 10 * 188)).write(to: URL(fileURLWithPath: cut))
    let recorded = try Recorded(cut, into: directory) {
      $0.video = .copy
      $0.audio = .copy
    }
    let played = try recorded.played()
    #expect(played.pictures.count == 250)
    #expect(within(played.soundPackets.first?.time, played.pictures.first?.time ?? 9, 0.022))
  }

  @Test func `a jump of all clocks begins a run and loses nothing`() throws {
    let directory = try TemporaryDirectory()
    let first = try clip(directory, "a.ts")
    let second = try clip(directory, "b.ts", ["-output_ts_offset", "5000"])
    let joined = directory.file("joined.ts")
    let bytes = try Data(contentsOf: URL(fileURLWithPath: first)) + Data(contentsOf: URL(fileURLWithPath: second))
    try bytes.write(to: URL(fileURLWithPath: joined))
    for mode in [RecordingConfiguration.Video.copy, .encode(.h264)] {
      let recorded = try Recorded(joined, into: directory) {
        $0.video = mode
        $0.audio = mode == .copy ? .copy : .aac
      }
      let runs = recorded.runs.suffix(2)
      #expect(runs.map(\.marker) == ["3.next", "3.end"])
      #expect(runs.map { $0.ticks.reduce(0, +) } == [1_080_000, 1_080_000])
      let name = recorded.runs.count - 1
      let played = try recorded.played(run: name)
      #expect(within(offset(played), 0, 0.02))
    }
  }

  @Test func `a microphone beside the programme has the programme's runs`() throws {
    let directory = try TemporaryDirectory()
    let joined = directory.file("joined.ts")
    let bytes =
      try Data(contentsOf: URL(fileURLWithPath: clip(directory, "a.ts")))
      + Data(contentsOf: URL(fileURLWithPath: clip(directory, "b.ts", ["-output_ts_offset", "5000"])))
    try bytes.write(to: URL(fileURLWithPath: joined))
    // A tone that begins two seconds into the second run.
    let tone = "aevalsrc=exprs='if(gte(t,14),0.8*sin(2*PI*1000*t),0)':s=48000:d=30"
    let recorded = try Recorded(joined, into: directory) {
      $0.video = .copy
      $0.microphone = .init(url: tone, format: "lavfi")
      $0.microphoneMode = .separate
    }
    let microphone = recorded.runs(of: "mic")
    #expect(recorded.runs.count == 2)
    #expect(
      microphone.map { URL(fileURLWithPath: $0.path).lastPathComponent }
        == recorded.runs.map { URL(fileURLWithPath: $0.path).lastPathComponent })
    #expect(microphone.map(\.marker) == ["3.next", "3.end"])
    for run in microphone { #expect(within(Double(run.ticks.reduce(0, +)), 1_080_000, 1920)) }
    #expect(within(try recorded.played(microphone[1]).firstLoud, 2, 0.02))
  }

  @Test func `a change of the picture's size begins a run with its own init section`() throws {
    let directory = try TemporaryDirectory()
    let arguments = ["-c:v", "libx264", "-g", "25", "-c:a", "aac"]
    let first = try Generated.file("a.ts", in: directory, Generated.flash(seconds: 3), arguments)
    let second = try Generated.file(
      "b.ts", in: directory, Generated.flash(seconds: 3, size: "320x180"), arguments + ["-output_ts_offset", "3"])
    let joined = directory.file("joined.ts")
    try (Data(contentsOf: URL(fileURLWithPath: first)) + Data(contentsOf: URL(fileURLWithPath: second)))
      .write(to: URL(fileURLWithPath: joined))
    let recorded = try Recorded(joined, into: directory) {
      $0.video = .copy
      $0.audio = .copy
    }
    #expect(recorded.runs.count == 2)
    #expect(try recorded.played(run: 0).pictures.allSatisfy { $0.width == 160 })
    #expect(try recorded.played(run: 1).pictures.map(\.width) == Array(repeating: 320, count: 75))
    let encoded = try Recorded(joined)
    #expect(encoded.runs.count == 1)
    #expect(try encoded.played().pictures.allSatisfy { $0.width == 160 })
  }

  @Test func `what cannot be copied is refused in one line`() throws {
    let directory = try TemporaryDirectory()
    let path = try Generated.file("in.wav", in: directory, "sine=d=1", [])
    let recorded = try Recorded(path, into: directory) { $0.audio = .copy }
    #expect(recorded.error?.kind == .badInput)
    #expect(recorded.error?.message == "--audio copy: pcm_s16le cannot be copied into fragmented MP4 for HLS")
    #expect(recorded.runs.isEmpty)
  }
}

@Suite struct `Failing recording` {
  @Test func `inputs that are absent, empty or no media are told apart`() throws {
    #expect(try Recorded("/nonexistent/clip.mp4").error?.kind == .noInput)
    let directory = try TemporaryDirectory()
    for bytes in [Data(), Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 13) })] {
      let path = directory.file("bad.mp4")
      try bytes.write(to: URL(fileURLWithPath: path))
      #expect(try Recorded(path).error?.kind == .badInput)
    }
  }

  @Test func `a spool that fails ends the recording with what is committed, and says so`() throws {
    let recorded = try Recorded(
      "testsrc2=s=64x64:r=25[out0]", format: "lavfi",
      onSegment: { recorder, entry in
        // As if somebody had removed the spool.
        if case .segment(let name) = entry.entry, name.sequence == 1 {
          for child in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [] {
            let target = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + child)) ?? ""
            if target.hasSuffix("/" + entry.key.run.description) { try? FileManager.default.removeItem(atPath: target) }
          }
        }
      })
    #expect(recorded.error?.kind == .storage)
    #expect(recorded.error?.segments == 2)
  }

  @Test func `options that do not fit together are refused by name`() throws {
    for (option, change) in [
      (
        "--size",
        {
          $0.video = .copy; $0.size = .init(width: 100, height: nil)
        }
      ),
      ("--size makes this picture 10922x8192", { $0.size = .init(width: nil, height: 8192) }),
      (
        "--watermark",
        {
          $0.watermark.text = "x"; $0.watermark.margin = 240
        }
      ),
      ("--encoder", { $0.encoder = "nonesuch" }),
      ("--segment-duration", { $0.segmentTicks = 1 }),
      (
        "--video none",
        {
          $0.video = .none; $0.audio = .none
        }
      ),
    ] as [(String, (inout RecordingConfiguration) -> Void)] {
      let recorded = try Recorded("testsrc2", format: "lavfi", configure: change)
      #expect(recorded.error?.kind == .usage)
      #expect(recorded.error?.message.contains(option) == true)
      #expect(recorded.runs.isEmpty)
    }
  }

  @Test func `a hardware encoder that is not there is replaced by software with one line`() throws {
    guard VideoEncoder.isKnown("h264_vaapi") else { return }
    let recorded = try Recorded("testsrc2=s=64x64:r=25:d=1[out0]", format: "lavfi") { $0.encoder = "h264_vaapi" }
    #expect(recorded.error == nil)
    #expect(recorded.events.filter { $0.name == "encoder" && $0.level == .warning }.count == 1)
  }

  @Test func `two recorders do not share a recording`() throws {
    let directory = try TemporaryDirectory()
    let tree = try Tree(root: directory.file("spool"), create: true)
    let lock = try tree.lock(.test)
    #expect(try Recorded("testsrc2=d=1", format: "lavfi", into: directory).error?.kind == .storage)
    _ = consume lock
    #expect(try Recorded("testsrc2=d=1", format: "lavfi", into: directory).error == nil)
  }
}
