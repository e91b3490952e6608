import Foundation
import TestKit
import Testing

/// Marks, microphone and speech recognition, through the built binary.
@Suite struct `What is added to a recording` {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func record(_ arguments: [String], name: String = "it") throws -> Program.Result {
    let result = try Program.run(
      segrecBinary, ["record", "--recording", name, "--spool", directory.file("spool")] + arguments)
    #expect(result.status == 0, "\(result.errors)")
    #expect(try Program.run(segrecBinary, ["stitch", directory.file("spool")]).status == 0)
    return result
  }

  @Test(arguments: ["", ",arealtime"])
  func `a microphone that never ends does so with its recording`(pace: String) throws {
    _ = try record([
      "--duration", "1s", "--input-format", "lavfi", "--input", "testsrc2=rate=25", "--input-format", "lavfi", "--mic",
      "sine=sample_rate=48000\(pace)",
    ])
  }

  /// Mean brightness of a part of the first picture.
  private func brightness(_ part: String) throws -> UInt8 {
    let output = directory.file("grey")
    try Program.tool(
      "ffmpeg",
      [
        "-v", "error", "-y", "-i", directory.file("spool/it/vod.m3u8"), "-frames:v", "1", "-vf",
        "crop=\(part),scale=1:1:flags=area", "-pix_fmt", "gray", "-f", "rawvideo", output,
      ])
    return try #require(try Data(contentsOf: URL(fileURLWithPath: output)).first)
  }

  /// The stretches of a sound that can be heard, in seconds.
  private func heard(_ arguments: [String]) throws -> [Double] {
    let said = try Program.run(
      "ffmpeg", ["-hide_banner", "-nostats"] + arguments + ["-af", "silencedetect=n=-30dB:d=0.3", "-f", "null", "-"])
    return said.errors.split(separator: "\n").compactMap { line in
      guard line.contains("silence_start") || line.contains("silence_end") else { return nil }
      let word = line.components(separatedBy: ": ").dropFirst().first?.prefix { $0 != " " }
      return word.flatMap { Double($0) }
    }
  }

  private func near(_ times: [Double], _ expected: [Double]) -> Bool {
    times.count == expected.count && zip(times, expected).allSatisfy { abs($0 - $1) < 0.03 }
  }

  @Test func `an image and a line of text are laid over the picture`() throws {
    let mark = directory.file("a mark, white.png")
    try Program.tool("ffmpeg", ["-v", "error", "-f", "lavfi", "-i", "color=white:s=20x20", "-frames:v", "1", mark])
    _ = try record([
      "--input-format", "lavfi", "--input", "color=c=black:s=320x180:r=25:d=0.2[out0]", "--watermark",
      "\(mark),bottom-right,10", "--watermark-text", "it's {recording}: {time} 100%, [a];b\\c",
    ])
    #expect(try brightness("16:16:292:152") > 200, "the image, where it was asked for")
    #expect(try brightness("16:16:300:0") < 20, "and nowhere else")
    #expect(try brightness("240:20:10:150") > 30, "the text")
  }

  @Test func `an image that is absent or none ends the recording before it begins, with the reason`() throws {
    let input = ["record", "--input-format", "lavfi", "--input", "testsrc2=d=1", "--spool", directory.file("spool")]
    let absent = try Program.run(segrecBinary, input + ["--watermark", directory.file("none.png")])
    #expect(absent.status == 66 && absent.errors.contains("--watermark: cannot open"))
  }

  @Test(arguments: ["mix", "separate"])
  func `a microphone is mixed in, or kept as a second sound track with the same runs`(mode: String) throws {
    let sound = "[out0];aevalsrc=exprs='if(between(t,1,1.4),0.5*sin(2*PI*1000*t),0)':s=48000:d=4[out1]"
    _ = try record([
      "--input-format", "lavfi", "--input", "color=c=black:s=160x90:r=25:d=4\(sound)", "--input-format", "lavfi",
      "--mic", "aevalsrc=exprs='if(between(t,2,2.4),0.5*sin(2*PI*1600*t),0)':s=16000:d=3", "--mic-mode", mode,
    ])
    let programme = try heard(["-i", directory.file("spool/it/main/vod.m3u8")])
    let list = try String(contentsOfFile: directory.file("spool/it/vod.m3u8"), encoding: .utf8)
    if mode == "mix" {
      #expect(near(programme, [0, 1, 1.4, 2, 2.4, 4]), "\(programme)")
      #expect(!list.contains("mic"))
    } else {
      #expect(near(programme, [0, 1, 1.4, 4]), "\(programme)")
      let microphone = try heard(["-i", directory.file("spool/it/mic/vod.m3u8")])
      #expect(near(microphone, [0, 2, 2.4, 4]), "\(microphone)")
      #expect(list.contains("NAME=\"Microphone\"") && list.contains("URI=\"mic/vod.m3u8\""))
    }
  }

  @Test func `a microphone is the sound of a picture that has none`() throws {
    _ = try record([
      "--input-format", "lavfi", "--input", "color=c=black:s=160x90:r=25:d=2", "--input-format", "lavfi", "--mic",
      "aevalsrc=exprs='if(gte(t,1),0.1*sin(2*PI*1600*t),0)':s=16000:d=3", "--mic-gain", "12",
    ])
    #expect(near(try heard(["-i", directory.file("spool/it/vod.m3u8")]), [0, 1]))
    #expect(abs((try Media.stream(directory.file("spool/it/main/vod.m3u8"), "a")?.duration ?? 0) - 2) < 0.03)
  }

  @Test func `speech recognition hears the sound as 16 kHz mono, and a reader that leaves disturbs nothing`() throws {
    let scene = ["--input-format", "lavfi", "--input", "sine=r=44100:d=2[out0]", "--video", "none"]
    _ = try record(scene + ["--pcm-tap", directory.file("tap.pcm")])
    let bytes = try Data(contentsOf: URL(fileURLWithPath: directory.file("tap.pcm")))
    #expect(abs(bytes.count - 64_000) < 200)
    let times = try heard(["-f", "s16le", "-ar", "16000", "-ac", "1", "-i", directory.file("tap.pcm")])
    #expect(times.isEmpty, "a tone from the first sample to the last")

    let fifo = directory.file("fifo")
    #expect(mkfifo(fifo, 0o600) == 0)
    let program = try Program(
      segrecBinary,
      [
        "record", "--recording", "left", "--spool", directory.file("spool"), "--input-format", "lavfi", "--input",
        "sine=r=48000[out0]", "--video", "none", "--realtime", "--duration", "2s", "--pcm-tap", fifo,
      ])
    // Reads a little, goes away, comes back.
    try Program.tool("head", ["-c", "100", fifo])
    try Program.tool("head", ["-c", "100", fifo])
    let result = try program.wait(seconds: 30)
    #expect(result.status == 0 && result.errors.contains("recorded left: 2.0 s"), "\(result.errors)")
    #expect(result.errors.contains("--pcm-tap: cannot write"))
  }
}
