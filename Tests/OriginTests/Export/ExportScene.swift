import Foundation
import HLS
import LibAV
import Platform
import Storage
import TestKit
import Testing

@testable import Origin

/// A tree of real segments: libav's pattern and tone, one second of media per segment.
final class ExportScene {
  let directory: TemporaryDirectory
  let tree: Tree
  static let start = WallClockTime(milliseconds: 1_796_000_000_000)

  init() throws {
    directory = try TemporaryDirectory()
    tree = try Tree(root: directory.file("root"), create: true)
  }

  static func run(_ number: Int = 0, after milliseconds: Int64 = 0) -> RunName {
    RunName(start: WallClockTime(milliseconds: start.milliseconds + milliseconds), suffix: UInt16(number))
  }

  struct Media {
    var width = 64
    var hasVideo = true
    var hasAudio = true
    var seconds = 3
  }

  /// Records a run; segments whose numbers are in `skipped` never arrive.
  func record(
    _ run: RunName, _ media: Media = Media(), rendition: RenditionName = .main, skipping skipped: Set<Int> = []
  ) throws {
    let recording = try #require(RecordingName("lecture"))
    let key = RunKey(recording: recording, rendition: rendition, run: run)
    let tracks = try encode(media)
    var muxer = try FragmentMuxer(
      tracks: tracks.map {
        FragmentTrack(parameters: $0.parameters, frameRate: $0.isVideo ? RationalTime(25, 1) : RationalTime(0, 0))
      })
    let initSection = muxer.initSection
    try put(EntryPath(key: key, entry: .initSection), try #require(initSection))
    var sequence = 0
    func flush() throws {
      var bytes: [UInt8] = []
      try muxer.flushChunk { span in span.withUnsafeBytes { bytes.append(contentsOf: $0) } }
      if !skipped.contains(sequence) {
        let name = SegmentName(
          sequence: sequence, start: run.start.advanced(byTicks: Int64(sequence) * 90_000), ticks: 90_000)
        try put(EntryPath(key: key, entry: .segment(name)), bytes)
      }
      sequence += 1
    }
    var next = tracks.map { _ in 0 }
    for second in 0..<media.seconds {
      let limit = Int64(second + 1) * 90_000
      for (index, track) in tracks.enumerated() {
        while next[index] < track.packets.count {
          let held = track.packets[next[index]]
          // The first packet of the next second is written too, so that the one before it is flushed.
          let isBeyond = held.ticks >= limit
          var packet = try held.packet.shared()
          try muxer.write(&packet, track: index)
          next[index] += 1
          if isBeyond { break }
        }
      }
      if second == media.seconds - 1 { try muxer.releaseHeld() }
      try flush()
    }
  }

  private func put(_ path: EntryPath, _ bytes: [UInt8]) throws {
    var file = try tree.receive(path)
    try bytes.withUnsafeBytes { try file.append(RawSpan(_unsafeBytes: $0)) }
    _ = try file.commit()
  }

  private final class Held {
    let packet: Packet
    init(_ packet: consuming Packet) { self.packet = packet }
    var ticks: Int64 { packet.timeBase.convert(packet.dts ?? 0, to: .ticks) }
  }

  private struct Track {
    let parameters: CodecParameters
    let isVideo: Bool
    let packets: [Held]
  }

  private func encode(_ media: Media) throws -> [Track] {
    var tracks: [Track] = []
    if media.hasVideo {
      var encoder = try VideoEncoder(
        VideoEncoderSettings(
          width: media.width, height: 64, frameRate: RationalTime(25, 1), bitRate: 100_000, maximumGOP: 25))
      var packets: [Held] = []
      for index in 0..<media.seconds * 25 {
        var frame = try Frame.picture(width: media.width, height: 64, format: .yuv420p, fill: [UInt8(index), 128, 128])
        frame.pts = Int64(index) * 3600
        try encoder.send(frame)
        packets.append(try received { packet in try encoder.receive(into: &packet) })
      }
      tracks.append(Track(parameters: encoder.parameters, isVideo: true, packets: packets))
    }
    if media.hasAudio {
      var encoder = try AudioEncoder(AudioEncoderSettings())
      var packets: [Held] = []
      for index in 0..<media.seconds * 48_000 / 1024 {
        var frame = try Frame.silence(
          sampleCount: 1024, sampleRate: 48_000, format: .floatPlanar, channelLayout: "stereo")
        frame.pts = Int64(index) * 1024 + 1024
        try encoder.send(frame)
        var packet = try Packet()
        while try encoder.receive(into: &packet) == .produced { packets.append(Held(try packet.shared())) }
      }
      tracks.append(Track(parameters: encoder.parameters, isVideo: false, packets: packets))
    }
    return tracks
  }

  private func received(_ receive: (inout Packet) throws -> CodingStep) throws -> Held {
    var packet = try Packet()
    guard try receive(&packet) == .produced else { throw CocoaError(.coderReadCorrupt) }
    return Held(packet)
  }

  var output: String { directory.file("out.mp4") }

  func export(runs: Set<RunName>? = nil, replacing: Bool = false, log: Log = Log { _ in }) throws -> ExportSummary {
    var configuration = ExportConfiguration(recording: try #require(RecordingName("lecture")), path: output)
    configuration.runs = runs
    configuration.replacesExisting = replacing
    return try exportRecording(tree, configuration, log: log, interruption: Interruption())
  }

  /// Presentation times of all packets of a stream in 90 kHz ticks, ascending.
  func times(_ stream: Int) throws -> [Int64] {
    var input = try MediaInput(InputRequest(url: output), interruption: Interruption())
    var packet = try Packet()
    var times: [Int64] = []
    while try input.read(into: &packet) {
      if packet.streamIndex == stream, let pts = packet.pts { times.append(packet.timeBase.convert(pts, to: .ticks)) }
    }
    return times.sorted()
  }

  func streams() throws -> [StreamInfo] {
    try MediaInput(InputRequest(url: output), interruption: Interruption()).streams
  }
}
