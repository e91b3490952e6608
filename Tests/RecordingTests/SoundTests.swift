import Foundation
import LibAV
import TestKit
import Testing

@testable import Recording

private func within(_ a: Double?, _ b: Double, _ tolerance: Double) -> Bool {
  a.map { abs($0 - b) <= tolerance } ?? false
}

@Suite struct `Sound of any kind` {
  /// Where sound is loud, and how much there is of it.
  private final class Listener: SoundSink {
    var firstLoud: Int64?
    var end: Int64 = 0
    /// Nothing before is looked at.
    let from: Int64

    init(from: Int64) { self.from = from }

    func take(sound: inout Frame) throws(RecordingError) {
      let start = sound.pts ?? 0
      #expect(start == end, "no sample is missing or there twice")
      end = start + Int64(sound.sampleCount)
      if firstLoud == nil, end > from {
        firstLoud = sound.floats(ofChannel: 0).firstIndex { abs($0) > 0.1 }.map { start + Int64($0) }
      }
    }
  }

  @Test(arguments: ["1.003"])
  func `a clock that is 0.3 percent wrong is within 40 ms after two hours`(error: String) throws {
    // 7176 s of samples that claim to be two hours, or the other way round; the tone begins in their last minute.
    let scene =
      "sine=f=500:r=8000:samples_per_frame=8000:d=7176,volume=4,volume=volume=0:enable='lt(t,7140)',asetpts=PTS*\(error)"
    var input = try MediaInput(InputRequest(url: scene, format: "lavfi"), interruption: Interruption())
    let best = input.bestAudio
    let stream = try #require(best)
    let source = try SoundSource(stream: stream, meter: Meter())
    let expected = 7140 * (Double(error) ?? 0)
    let listener = Listener(from: Int64((expected - 30) * 48_000))
    var packet = try Packet()
    while try input.read(into: &packet) { try source.take(packet, into: listener) }
    try source.end(at: 0, into: listener)
    let heard = try #require(listener.firstLoud)
    #expect(within(Double(heard) / 48_000, expected, 0.04))
    #expect(within(Double(listener.end) / 48_000, 7176 * (Double(error) ?? 0), 0.04))
  }

  @Test func `sound that was cut at its start is stretched later without a start anew`() throws {
    // Half a second before the origin; 10 ms late from the twentieth second on.
    let scene = "sine=r=48000:d=30,asetpts=PTS-24000+if(gt(T\\,20)\\,480)"
    var input = try MediaInput(InputRequest(url: scene, format: "lavfi"), interruption: Interruption())
    let best = input.bestAudio
    let source = try SoundSource(stream: try #require(best), meter: Meter())
    let listener = Listener(from: 0)
    var packet = try Packet()
    while try input.read(into: &packet) { try source.take(packet, into: listener) }
    try source.end(at: 0, into: listener)
    #expect(source.grid.dropped < 24_000, "\(source.grid.dropped) samples of silence came and had no place")
    #expect(within(Double(listener.end) / 48_000, 29.51, 0.01))
  }

  @Test(
    arguments: [
      ("u8", 8000, 1), ("s16le", 11_025, 1), ("s16be", 44_100, 2), ("s24le", 96_000, 2), ("s24be", 48_000, 1),
      ("s32le", 192_000, 2), ("s32be", 48_000, 6), ("f32le", 16_000, 1), ("f32be", 48_000, 8), ("f64le", 22_050, 2),
      ("f64be", 48_000, 3),
    ] as [(String, Int, Int)])
  func `raw samples from a pipe are what their width, order, rate and channels make them`(
    format: String, rate: Int, channels: Int
  ) throws {
    let directory = try TemporaryDirectory()
    let tone = Array(repeating: "'if(gte(t,1),0.3*sin(2*PI*440*t),0)'", count: channels).joined(separator: "|")
    let path = try Generated.file(
      "raw", in: directory, "aevalsrc=exprs=\(tone):s=\(rate):d=1.5", ["-f", format, "-c:a", "pcm_\(format)"])
    let handle = try #require(FileHandle(forReadingAtPath: path))
    let recorded = try Recorded("-", format: format) {
      $0.inputs[0].options = [MediaOption("sample_rate", "\(rate)"), MediaOption("channels", "\(channels)")]
      $0.standardInput = handle.fileDescriptor
    }
    #expect(recorded.error == nil)
    let played = try recorded.played()
    #expect(within(played.firstLoud, 1, 0.002) && within(played.soundEnd, 1.5, 0.022))
    #expect(played.soundRate == 48_000 && played.channels == 2)
  }

  @Test func `a change of rate and channels goes on in the same run`() throws {
    let directory = try TemporaryDirectory()
    func part(_ name: String, _ rate: Int, _ layout: String, _ start: Int) throws -> Data {
      let path = try Generated.file(
        name, in: directory, "sine=f=500:r=\(rate):d=2,volume=4,aformat=channel_layouts=\(layout)",
        ["-c:a", "mp2", "-output_ts_offset", "\(start)", "-muxdelay", "0"])
      return try Data(contentsOf: URL(fileURLWithPath: path))
    }
    let joined = directory.file("joined.ts")
    try (part("a.ts", 44_100, "mono", 0) + part("b.ts", 48_000, "stereo", 2) + part("c.ts", 32_000, "stereo", 4))
      .write(to: URL(fileURLWithPath: joined))
    let recorded = try Recorded(joined)
    #expect(recorded.runs.count == 1)
    let played = try recorded.played()
    #expect(within(played.soundEnd, 6, 0.05) && within(played.lastLoud, 6, 0.06))
    #expect(recorded.summary?.progress.silence ?? .max < 9000, "no hole at the joints")
  }
}
