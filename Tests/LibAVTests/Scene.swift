import LibAV

/// Real media made on the spot: libav's test pattern and tone, encoded by the encoders under test.
struct Scene {
  var seconds = 4
  var width = 160
  var height = 90
  var frameRate: Int32 = 25
  var hasVideo = true
  var hasAudio = true
  /// Pictures between key frames.
  var gop = 25
  var bFrames = false
  var videoEncoder = "libx264"
  var audioEncoder = "aac"

  /// Holds packets, which cannot stand in an array themselves.
  final class Held {
    var packet: Packet
    init(_ packet: consuming Packet) { self.packet = packet }
    func take(into other: inout Packet) { other.take(from: &packet) }
  }

  struct Track {
    let parameters: CodecParameters
    let frameRate: RationalTime
    let packets: [Held]
  }

  /// Video (if any) first, then audio.
  func tracks() throws -> [Track] {
    var tracks: [Track] = []
    if hasVideo { tracks.append(try encodeVideo()) }
    if hasAudio { tracks.append(try encodeAudio()) }
    return tracks
  }

  /// Writes a file of the given libav format.
  func write(to path: String, format: String) throws {
    let tracks = try tracks()
    var muxer = try OutputMuxer(
      format: format, url: path,
      tracks: tracks.map { FragmentTrack(parameters: $0.parameters, frameRate: $0.frameRate) })
    try Scene.interleave(tracks) { packet, track throws in try muxer.write(&packet, track: track) }
    try muxer.finish()
  }

  /// The tracks of a file, as its container has them.
  static func tracks(in path: String) throws -> [Track] {
    var input = try MediaInput(InputRequest(url: path), interruption: Interruption())
    let streams = try [require(input.bestVideo), require(input.bestAudio)]
    var packets = streams.map { _ in [Held]() }
    var packet = try Packet()
    while try input.read(into: &packet) {
      guard let index = streams.firstIndex(where: { $0.index == packet.streamIndex }) else { continue }
      packets[index].append(Held(try packet.shared()))
    }
    return zip(streams, packets).map { Track(parameters: $0.parameters, frameRate: $0.frameRate, packets: $1) }
  }

  /// Calls `body` with shares of all packets in the order of their decode times.
  static func interleave(_ tracks: [Track], _ body: (inout Packet, Int) throws -> Void) throws {
    var next = tracks.map { _ in 0 }
    while true {
      var chosen: (track: Int, time: Int64)?
      for (index, track) in tracks.enumerated() where next[index] < track.packets.count {
        let packet = track.packets[next[index]].packet.times
        let time = packet.timeBase.convert(packet.dts, to: .ticks)
        if chosen.map({ time < $0.time }) ?? true { chosen = (index, time) }
      }
      guard let chosen else { return }
      var packet = try tracks[chosen.track].packets[next[chosen.track]].packet.shared()
      next[chosen.track] += 1
      try body(&packet, chosen.track)
    }
  }

  var videoSettings: VideoEncoderSettings {
    var settings = VideoEncoderSettings(
      encoder: videoEncoder, width: width, height: height, frameRate: RationalTime(frameRate, 1), bitRate: 200_000,
      maximumGOP: gop)
    settings.timeBase = RationalTime(1, frameRate)
    if bFrames {
      settings.options = [
        MediaOption("bf", "3"), MediaOption("tune", "film"),
        MediaOption("x264-params", "b-pyramid=normal:rc-lookahead=10:open-gop=0:scenecut=0"),
      ]
    }
    return settings
  }

  /// Calls `body` with each picture of the pattern, in 4:2:0, times in 1/frameRate from 0.
  func eachPicture(_ body: (inout Frame) throws -> Void) throws {
    let source = "testsrc2=size=\(width)x\(height):rate=\(frameRate):duration=\(seconds),format=yuv420p"
    var input = try MediaInput(InputRequest(url: source, format: "lavfi"), interruption: Interruption())
    let stream = try require(input.bestVideo)
    var decoder = try Decoder(stream: stream)
    var packet = try Packet()
    var frame = try Frame()
    while try input.read(into: &packet) {
      try decoder.send(packet)
      while try decoder.receive(into: &frame) == .produced {
        frame.rescale(to: RationalTime(1, frameRate))
        frame.requestKeyframe(false)
        try body(&frame)
      }
    }
  }

  private func encodeVideo() throws -> Track {
    var encoder = try VideoEncoder(videoSettings)
    var packets: [Held] = []
    try eachPicture { frame in
      try encoder.send(frame)
      try Scene.collect(&packets) { packet in try encoder.receive(into: &packet) }
    }
    try encoder.drain()
    try Scene.collect(&packets) { packet in try encoder.receive(into: &packet) }
    return Track(parameters: encoder.parameters, frameRate: RationalTime(frameRate, 1), packets: packets)
  }

  private func encodeAudio() throws -> Track {
    var settings = AudioEncoderSettings()
    settings.encoder = audioEncoder
    var encoder = try AudioEncoder(settings)
    let source = "sine=frequency=440:sample_rate=48000:duration=\(seconds)"
    var input = try MediaInput(InputRequest(url: source, format: "lavfi"), interruption: Interruption())
    var decoder = try Decoder(stream: try require(input.bestAudio))
    var graph: Graph?
    var packet = try Packet()
    var frame = try Frame()
    var packets: [Held] = []
    while try input.read(into: &packet) {
      try decoder.send(packet)
      while try decoder.receive(into: &frame) == .produced {
        if graph == nil {
          let format = "aformat=sample_fmts=\(encoder.sampleFormat):channel_layouts=stereo:sample_rates=48000"
          graph = Graph(try FilterGraph(input: FilterInput(of: frame, kind: .audio), description: format))
          graph?.graph.setFrameSize(encoder.frameSize)
        }
        try graph?.graph.send(&frame)
      }
    }
    try graph?.graph.drain()
    while try graph?.graph.receive(into: &frame) == .produced {
      try encoder.send(frame)
      try Scene.collect(&packets) { packet in try encoder.receive(into: &packet) }
    }
    try encoder.drain()
    try Scene.collect(&packets) { packet in try encoder.receive(into: &packet) }
    return Track(parameters: encoder.parameters, frameRate: RationalTime(0, 0), packets: packets)
  }

  private final class Graph {
    var graph: FilterGraph
    init(_ graph: consuming FilterGraph) { self.graph = graph }
  }

  static func collect(_ packets: inout [Held], _ receive: (inout Packet) throws -> CodingStep) throws {
    while true {
      var packet = try Packet()
      guard try receive(&packet) == .produced else { return }
      packets.append(Held(packet))
    }
  }
}

struct Missing: Error {}

func require<T>(_ value: T?) throws -> T {
  guard let value else { throw Missing() }
  return value
}

extension Packet {
  var times: (dts: Int64, timeBase: RationalTime) { (dts ?? .min, timeBase) }
}
