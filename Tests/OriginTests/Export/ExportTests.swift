import Foundation
import HLS
import LibAV
import Platform
import Storage
import Synchronization
import TestKit
import Testing

@testable import Origin

@Suite struct `Export` {
  @Test func `all segments of all runs become one file with its index in front`() throws {
    let scene = try ExportScene()
    try scene.record(ExportScene.run(0))
    try scene.record(ExportScene.run(1, after: 60_000))
    let summary = try scene.export()
    #expect(summary.runs == 2)
    #expect(summary.segments == 6)
    #expect(summary.tracks == 2)
    #expect(try scene.times(0) == (0..<150).map { Int64($0) * 3600 })
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: scene.output)))
    let moov = try #require(bytes.firstRange(of: Array("moov".utf8)))
    let mdat = try #require(bytes.firstRange(of: Array("mdat".utf8)))
    #expect(moov.lowerBound < mdat.lowerBound)
    #expect(summary.bytes == Int64(bytes.count))
    #expect(scene.directory.files().filter { $0.hasSuffix(".part") }.isEmpty)
  }

  @Test func `sound stays with its picture in every run`() throws {
    let scene = try ExportScene()
    try scene.record(ExportScene.run(0))
    try scene.record(ExportScene.run(1, after: 60_000))
    _ = try scene.export()
    let audio = try scene.times(1)
    #expect(audio.first.map { abs($0) <= 1920 } == true)
    // The second run's sound begins where its picture does: at 3 s.
    let second = try #require(audio.first { $0 >= 270_000 - 1920 })
    #expect(abs(second - 270_000) <= 1920)
    #expect(zip(audio, audio.dropFirst()).allSatisfy { $0 < $1 })
  }

  @Test func `another quality of the same is left out, another sound is not`() throws {
    let scene = try ExportScene()
    try scene.record(ExportScene.run(0))
    try scene.record(ExportScene.run(0), .init(width: 32), rendition: #require(RenditionName("32p")))
    try scene.record(ExportScene.run(0), .init(hasVideo: false), rendition: .mic)
    let summary = try scene.export()
    #expect(summary.tracks == 3 && summary.segments == 6)
    let video = try #require(try Media.stream(scene.output, "v"))
    #expect((video.width, video.frames) == (64, 75))
  }

  @Test func `a missing segment leaves its time empty, and is said`() throws {
    let scene = try ExportScene()
    try scene.record(ExportScene.run(0), skipping: [1])
    let events = Mutex<[Log.Event]>([])
    let summary = try scene.export(log: Log { event in events.withLock { $0.append(event) } })
    #expect(summary.missing == 1)
    let times = try scene.times(0)
    #expect(times.count == 50)
    #expect(times[25] == 180_000)
    #expect(events.withLock { $0.map(\.name) } == ["gap"])
  }

  @Test func `segments that were sent or refused belong to the recording too`() throws {
    let scene = try ExportScene()
    try scene.record(ExportScene.run(0))
    let name = try #require(RecordingName("lecture"))
    let runs = try scene.tree.runs(of: name)
    let key = try #require(runs.first)
    let segments = try scene.tree.segments(of: key)
    try scene.tree.move(EntryPath(key: key, entry: .segment(segments[0])), to: .sent)
    try scene.tree.move(EntryPath(key: key, entry: .segment(segments[1])), to: .refused)
    _ = try scene.export()
    #expect(try scene.times(0).count == 75)
  }

  @Test func `a microphone lies where it was heard`() throws {
    let scene = try ExportScene()
    try scene.record(ExportScene.run(0))
    try scene.record(
      ExportScene.run(1, after: 1_000), ExportScene.Media(hasVideo: false, seconds: 1), rendition: .mic)
    let summary = try scene.export()
    #expect(summary.tracks == 3)
    let mic = try scene.times(2)
    #expect(mic.first == 90_000)
  }

  @Test func `runs that differ are named, and can be exported apart`() throws {
    let scene = try ExportScene()
    let (small, large) = (ExportScene.run(0), ExportScene.run(1, after: 60_000))
    try scene.record(small)
    try scene.record(large, ExportScene.Media(width: 128))
    do {
      _ = try scene.export()
      Issue.record("exported")
    } catch let error as ExportError {
      guard case .incompatible(let text) = error else { throw error }
      #expect(text.contains("h264 64x64 in \(small)"))
      #expect(text.contains("h264 128x64 in \(large)"))
      #expect(text.hasSuffix("export them apart with --run"))
    }
    #expect(!FileManager.default.fileExists(atPath: scene.output))
    _ = try scene.export(runs: [large])
    #expect(try scene.streams().map(\.width).max() == 128)
  }

  @Test func `a run without sound is a silence in the track`() throws {
    let scene = try ExportScene()
    try scene.record(ExportScene.run(0))
    try scene.record(ExportScene.run(1, after: 60_000), ExportScene.Media(hasAudio: false))
    try scene.record(ExportScene.run(2, after: 120_000))
    _ = try scene.export()
    #expect(try scene.times(0).count == 225)
    let audio = try scene.times(1)
    #expect(!audio.contains { $0 > 275_000 && $0 < 535_000 })
    #expect(audio.contains { abs($0 - 540_000) <= 1920 })
  }

  @Test func `a file that is there already is not touched`() throws {
    let scene = try ExportScene()
    try scene.record(ExportScene.run(0))
    try Data("mine".utf8).write(to: URL(fileURLWithPath: scene.output))
    #expect(throws: ExportError.exists(path: scene.output)) { try scene.export() }
    #expect(try String(contentsOfFile: scene.output, encoding: .utf8) == "mine")
    #expect(try scene.export(replacing: true).segments == 3)
  }

  @Test func `what is not there is said`() throws {
    let scene = try ExportScene()
    let name = try #require(RecordingName("lecture"))
    #expect(throws: ExportError.nothing(name)) { try scene.export() }
    try scene.record(ExportScene.run(0))
    #expect(throws: ExportError.noSuchRun(ExportScene.run(9), name)) { try scene.export(runs: [ExportScene.run(9)]) }
  }

  @Test func `a stop leaves nothing behind`() throws {
    let scene = try ExportScene()
    try scene.record(ExportScene.run(0))
    let interruption = Interruption()
    let configuration = ExportConfiguration(recording: try #require(RecordingName("lecture")), path: scene.output)
    #expect(throws: ExportError.stopped) {
      try exportRecording(scene.tree, configuration, log: Log { _ in }, interruption: interruption) { _ in
        interruption.stop()
      }
    }
    #expect(scene.directory.files().allSatisfy { $0.hasPrefix("root/") })
  }
}

@Suite struct `Export timeline` {
  private func wall(_ milliseconds: Int64) -> WallClockTime { WallClockTime(milliseconds: milliseconds) }

  @Test func `what falls between two runs is left out, and what goes on after the last is kept`() {
    var timeline = ExportTimeline()
    #expect(timeline.place(0, after: wall(0)) == nil)
    #expect(timeline.begin(wallStart: wall(1_000)) == 0)
    timeline.extend(to: 180_000)
    timeline.finishRun()
    #expect(timeline.begin(wallStart: wall(10_000)) == 180_000)
    timeline.extend(to: 270_000)
    #expect(timeline.place(0, after: wall(500)) == nil)
    #expect(timeline.place(90_000, after: wall(500)) == 45_000)
    #expect(timeline.place(0, after: wall(5_000)) == nil)
    #expect(timeline.place(0, after: wall(10_000)) == 180_000)
    #expect(timeline.place(0, after: wall(12_000)) == 360_000)
  }
}
