import Foundation
import HLS
import LibAV
import Platform
import Recording
import Storage
import Synchronization
import TestKit

/// One recording made by a test, and what lies in the tree after it.
struct Recorded {
  struct Run {
    let path: String
    let segments: [SegmentName]
    let marker: String?
    let others: [String]

    var ticks: [Int64] { segments.map(\.ticks) }
    var files: [String] { ["init.mp4"] + segments.map(\.description) }
  }

  let summary: RecordingSummary?
  let error: RecordingError?
  let directory: TemporaryDirectory
  let runs: [Run]
  let events: [Log.Event]

  /// Records `inputs` into a new spool (or another one's), on this thread.
  init(
    _ inputs: String..., format: String? = nil, into directory: TemporaryDirectory? = nil,
    configure: (inout RecordingConfiguration) -> Void = { _ in },
    onSegment: @escaping @Sendable (Recorder, EntryPath) -> Void = { _, _ in }
  ) throws {
    let directory = try directory ?? TemporaryDirectory()
    var configuration = RecordingConfiguration(
      inputs: inputs.map { .init(url: $0, format: format) }, recording: RecordingName.test)
    configure(&configuration)
    let events = Mutex<[Log.Event]>([])
    let tree = try Tree(root: directory.file("spool"), create: true)
    let running = Mutex<Recorder?>(nil)
    let recorder = Recorder(
      configuration: configuration, tree: tree, log: Log { event in events.withLock { $0.append(event) } }
    ) { entry in
      if let recorder = running.withLock({ $0 }) { onSegment(recorder, entry) }
    }
    running.withLock { $0 = recorder }
    var summary: RecordingSummary?
    var failure: RecordingError?
    do throws(RecordingError) {
      summary = try recorder.run()
    } catch {
      failure = error
    }
    self.summary = summary
    self.error = failure
    self.directory = directory
    self.events = events.withLock { $0 }
    runs = Self.runs(in: directory.file("spool/test/main"))
  }

  /// The runs of another rendition than `main`.
  func runs(of rendition: String) -> [Run] { Self.runs(in: directory.file("spool/test/\(rendition)")) }

  private static func runs(in path: String) -> [Run] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: path))?.sorted() ?? []
    return names.map { name in
      let all = (try? FileManager.default.contentsOfDirectory(atPath: path + "/" + name))?.sorted() ?? []
      return Run(
        path: path + "/" + name, segments: all.compactMap { SegmentName($0) }.sorted(),
        marker: all.first { MarkerName($0) != nil },
        others: all.filter { SegmentName($0) == nil && MarkerName($0) == nil && $0 != "init.mp4" })
    }
  }

  /// What a player sees of a run, or of one of its segments.
  func played(run: Int = 0, segment: Int? = nil) throws -> Played {
    guard run < runs.count else { throw CocoaError(.fileNoSuchFile) }
    return try played(runs[run], segment: segment)
  }

  func played(_ run: Run, segment: Int? = nil) throws -> Played {
    guard segment ?? 0 < run.segments.count else { throw CocoaError(.fileNoSuchFile) }
    let files = segment.map { ["init.mp4", run.segments[$0].description] } ?? run.files
    var bytes = Data()
    for file in files { bytes += try Data(contentsOf: URL(fileURLWithPath: run.path + "/" + file)) }
    let path = directory.file("played-\(UUID().uuidString).mp4")
    try bytes.write(to: URL(fileURLWithPath: path))
    return try Played(path)
  }
}

extension RecordingName {
  static let test = RecordingName("test") ?? .main
}

/// A file, decoded: times in seconds.
struct Played {
  struct Picture {
    let time: Double
    let isKey: Bool
    /// 0...255, the mean of the picture.
    let brightness: Double
    let width: Int
    let height: Int
    let format: String
    let color: ColorProperties
  }
  var pictures: [Picture] = []
  /// Coded samples of each kind: presentation time and duration.
  var videoPackets: [(time: Double, decodeTime: Double, duration: Double, isKey: Bool)] = []
  var soundPackets: [(time: Double, duration: Double)] = []
  /// Time of the first sample louder than 0.1, and of the last.
  var firstLoud: Double?
  var lastLoud: Double?
  var soundStart: Double?
  var soundEnd: Double = 0
  var soundRate = 0
  var soundCodec: String?
  var videoCodec: String?
  var channels = 0
  var firstBright: Double? { pictures.first { $0.brightness > 128 }?.time }

  init(_ path: String) throws {
    var input = try MediaInput(InputRequest(url: path), interruption: Interruption())
    let video = input.bestVideo
    let audio = input.bestAudio
    videoCodec = video?.codec.description
    soundCodec = audio?.codec.description
    var packet = try Packet()
    let chains = (try video.map { try Chain($0) }, try audio.map { try Chain($0) })
    while try input.read(into: &packet) {
      let seconds = packet.timeBase.value
      if packet.streamIndex == video?.index {
        videoPackets.append(
          (
            Double(packet.pts ?? 0) * seconds, Double(packet.dts ?? 0) * seconds, Double(packet.duration) * seconds,
            packet.isKey
          ))
        try chains.0?.send(packet) { see($0) }
      } else if packet.streamIndex == audio?.index {
        soundPackets.append((Double(packet.pts ?? 0) * seconds, Double(packet.duration) * seconds))
        try chains.1?.send(packet) { hear($0) }
      }
    }
    try chains.0?.drain { see($0) }
    try chains.1?.drain { hear($0) }
  }

  private final class Chain {
    var decoder: Decoder
    var frame: Frame
    init(_ stream: StreamInfo) throws {
      decoder = try Decoder(stream: stream)
      frame = try Frame()
    }
    func send(_ packet: borrowing Packet, _ body: (borrowing Frame) -> Void) throws {
      try decoder.send(packet)
      while try decoder.receive(into: &frame) == .produced { body(frame) }
    }
    func drain(_ body: (borrowing Frame) -> Void) throws {
      try decoder.drain()
      while try decoder.receive(into: &frame) == .produced { body(frame) }
    }
  }

  private mutating func see(_ frame: borrowing Frame) {
    let width = frame.width
    let height = frame.height
    let sum = frame.withPlane(0) { bytes, stride -> Int in
      var sum = 0
      for y in 0..<height {
        for x in 0..<width { sum += Int(unsafe bytes.unsafeLoad(fromByteOffset: y * stride + x, as: UInt8.self)) }
      }
      return sum
    }
    pictures.append(
      Picture(
        time: Double(frame.pts ?? 0) * frame.timeBase.value, isKey: frame.isKey,
        brightness: Double(sum ?? 0) / Double(width * height), width: width, height: height,
        format: frame.pixelFormat.description, color: frame.color))
  }

  private mutating func hear(_ frame: borrowing Frame) {
    let start = Double(frame.pts ?? 0) * frame.timeBase.value
    let rate = Double(frame.sampleRate)
    soundRate = frame.sampleRate
    channels = frame.channels
    soundStart = soundStart ?? start
    soundEnd = start + Double(frame.sampleCount) / rate
    frame.withPlane(0) { bytes, _ in
      for index in 0..<frame.sampleCount {
        let sample = unsafe bytes.unsafeLoad(fromByteOffset: index * 4, as: Float.self)
        if abs(sample) > 0.1 {
          firstLoud = firstLoud ?? start + Double(index) / rate
          lastLoud = start + Double(index) / rate
        }
      }
    }
  }
}

/// Descriptions for libav's `lavfi` input.
enum Generated {
  /// Black, and white from 2.0 to 2.4 s; silent, with a tone of 1 kHz at the same time.
  static func flash(seconds: Int, rate: String = "25", size: String = "160x90", sampleRate: Int = 44_100) -> String {
    "color=c=black:s=\(size):r=\(rate):d=\(seconds),drawbox=c=white:t=fill:enable='between(t,1.999,2.39)'[out0];"
      + "aevalsrc=exprs='if(between(t,2,2.4),0.8*sin(2*PI*1000*t),0)':s=\(sampleRate):d=\(seconds)[out1]"
  }

  /// Makes a file of a `lavfi` description with ffmpeg.
  static func file(_ name: String, in directory: TemporaryDirectory, _ description: String, _ arguments: [String])
    throws
    -> String
  {
    let path = directory.file(name)
    let graph = description.split(separator: ";").map(String.init)
    var command = ["-v", "error", "-nostdin", "-y"]
    for part in graph {
      let label = part.hasSuffix("[out0]") || part.hasSuffix("[out1]") ? String(part.dropLast(6)) : part
      command += ["-f", "lavfi", "-i", label]
    }
    try Program.tool("ffmpeg", command + arguments + [path])
    return path
  }
}
