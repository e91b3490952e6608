import Foundation
import HLS
import LibAV
import Platform
import Recording
import Storage
import TestKit
import Testing

@Suite struct `Recorded ladder` {
  /// Pictures of 320x180 and sound, 12 s.
  private static let scene = "testsrc2=s=320x180:r=30000/1001:d=12[out0];sine=f=440:r=44100:d=12[out1]"

  /// Every rendition has the same runs, the same names in them (numbers, times, ticks), and the same times of pictures,
  /// key frames and sound.
  private func expectAligned(_ recorded: Recorded, _ renditions: [String]) throws {
    for rendition in renditions {
      let runs = recorded.runs(of: rendition)
      #expect(runs.map(\.segments) == recorded.runs.map(\.segments))
      #expect(runs.map(\.marker) == recorded.runs.map(\.marker))
      #expect(
        runs.map { ($0.path as NSString).lastPathComponent }
          == recorded.runs.map { ($0.path as NSString).lastPathComponent })
      for (run, main) in zip(runs, recorded.runs) {
        let (played, first) = (try recorded.played(run), try recorded.played(main))
        #expect(played.videoPackets.map(\.time) == first.videoPackets.map(\.time))
        #expect(played.videoPackets.map(\.decodeTime) == first.videoPackets.map(\.decodeTime))
        #expect(played.videoPackets.map(\.isKey) == first.videoPackets.map(\.isKey))
        #expect(played.soundPackets.map(\.time) == first.soundPackets.map(\.time))
        #expect(!played.soundPackets.isEmpty)
      }
    }
  }

  @Test func `has the same segments in each quality, with sound, to the tick`() throws {
    let recorded = try Recorded(Self.scene, format: "lavfi") {
      $0.ladder = [Rung(side: 180), Rung(side: 90, bitRate: 60_000)]
    }
    #expect(recorded.error == nil)
    #expect(recorded.runs.first?.ticks == [450_450, 450_450, 180_180])
    try expectAligned(recorded, ["90p"])
    let small = try #require(recorded.runs(of: "90p").first)
    for segment in 0..<3 {
      let played = try recorded.played(small, segment: segment)
      #expect(played.pictures.first?.isKey == true, "decodes alone")
      #expect(played.pictures.allSatisfy { ($0.width, $0.height) == (160, 90) })
    }
    #expect(try recorded.played().pictures.first.map { ($0.width, $0.height) == (320, 180) } == true)
    #expect(recorded.summary?.progress.segments == 6)
    #expect(recorded.summary?.progress.ticks == 1_081_080, "time is counted once")
  }

  @Test func `has repeats, cuts and a new run at the same places`() throws {
    let directory = try TemporaryDirectory()
    var bytes = Data()
    for seconds in [6, 3] {
      let part = try Generated.file(
        "part\(seconds).ts", in: directory,
        "testsrc2=s=320x180:r=25:d=\(seconds),select='lt(mod(t,2.2),0.6)'[out0];sine=r=48000:d=\(seconds)[out1]",
        [
          "-vsync", "vfr", "-c:v", "libx264", "-bf", "0", "-g", "5", "-c:a", "aac", "-output_ts_offset",
          "\(seconds * 1000)",
        ])
      bytes += try Data(contentsOf: URL(fileURLWithPath: part))
    }
    let joined = directory.file("joined.ts")
    try bytes.write(to: URL(fileURLWithPath: joined))
    let recorded = try Recorded(joined) { $0.ladder = [Rung(side: 180), Rung(side: 120), Rung(side: 64)] }
    #expect(recorded.error == nil)
    #expect(recorded.runs.count == 2 && recorded.runs.first?.segments.count == 2)
    #expect(recorded.summary?.progress.refilled ?? 0 > 5)
    try expectAligned(recorded, ["120p", "64p"])
  }

  @Test func `leaves out what the picture does not have, and says so once`() throws {
    let recorded = try Recorded("testsrc2=s=320x180:r=25:d=0.4[out0]", format: "lavfi") {
      $0.ladder = [Rung(side: 1080), Rung(side: 720, bitRate: 300_000), Rung(side: 90)]
    }
    let played = try recorded.played()
    #expect(played.pictures.first.map { ($0.width, $0.height) == (320, 180) } == true)
    #expect(recorded.runs(of: "90p").count == 1 && recorded.runs(of: "720p").isEmpty)
    #expect(recorded.events.filter { $0.name == "ladder" }.count == 1)
  }

  @Test func `has a microphone beside it once, and the size that was asked for on top`() throws {
    let recorded = try Recorded("testsrc2=s=320x180:r=25:d=6[out0]", format: "lavfi") {
      $0.size = .init(width: 640, height: nil)
      $0.ladder = [Rung(side: 240), Rung(side: 90)]
      $0.microphone = .init(url: "sine=r=48000:d=6", format: "lavfi")
      $0.microphoneMode = .separate
    }
    #expect(recorded.error == nil)
    #expect(try recorded.played().pictures.first.map { ($0.width, $0.height) == (426, 240) } == true)
    #expect(recorded.runs(of: "90p").map(\.segments) == recorded.runs.map(\.segments))
    #expect(recorded.runs(of: "mic").first?.marker == "2.end")
  }

  @Test func `keeps to a weaker network together, each quality its part`() throws {
    func sizes(_ bitRate: Int64?) throws -> [Int64] {
      let noise = "nullsrc=s=320x180:r=25:d=4,geq=random(1)*255:128:128[out0]"
      let recorded = try Recorded(noise, format: "lavfi") {
        $0.segmentTicks = 180_000
        $0.ladder = [Rung(side: 180, bitRate: 2_000_000), Rung(side: 90, bitRate: 500_000)]
      } onSegment: { recorder, entry in
        if let bitRate, case .initSection = entry.entry { recorder.setVideoBitRate(bitRate) }
      }
      return try [recorded.runs, recorded.runs(of: "90p")].map { runs in
        let run = try #require(runs.first)
        let last = try #require(run.segments.last)
        let attributes = try FileManager.default.attributesOfItem(atPath: "\(run.path)/\(last)")
        return attributes[.size] as? Int64 ?? 0
      }
    }
    let (full, weak) = (try sizes(nil), try sizes(500_000))
    for (full, weak) in zip(full, weak) { #expect(weak * 3 < full && weak * 8 > full, "\(full) \(weak)") }
  }

  @Test func `ends with what was captured when one of its encoders cannot be opened`() throws {
    let recorded = try Recorded("testsrc2=s=320x180:r=25:d=1[out0]", format: "lavfi") {
      $0.ladder = [Rung(side: 180), Rung(side: 64)]
      $0.encoderOptions = [MediaOption("no_such_option", "1")]
    }
    #expect(recorded.error != nil)
    #expect(recorded.runs.isEmpty && recorded.runs(of: "64p").isEmpty, "no run without a picture")
  }
}

@Suite struct `Rungs of a ladder` {
  @Test(arguments: [
    ([1080, 480], 1080, [1080, 480]), ([1080, 480], 2160, [1080, 480]), ([1080, 480], 720, [720, 480]),
    // Near enough: an eighth more would be another picture of nearly the same size.
    ([1080, 480], 500, [480]), ([1080, 480], 550, [550, 480]), ([1080, 720, 480], 240, [240]), ([480], 480, [480]),
  ])
  func `are those the picture has, and never less than it has`(ladder: [Int], side: Int, expected: [Int]) {
    let fitting = Rung.fitting(ladder.map { Rung(side: $0) }, side: side)
    #expect(fitting.rungs.map(\.side) == expected)
    #expect(fitting.leftOut.map(\.side) == ladder.filter { $0 > side })
  }

  @Test func `what leads instead spends what the lowest left out was to`() {
    let ladder = [Rung(side: 1080, bitRate: 4_000_000), Rung(side: 720, bitRate: 2_000_000), Rung(side: 240)]
    #expect(Rung.fitting(ladder, side: 480).rungs == [Rung(side: 480, bitRate: 2_000_000), Rung(side: 240)])
  }
}
