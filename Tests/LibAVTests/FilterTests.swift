import Foundation
import TestKit
import Testing

@testable import LibAV

@Suite struct `Filter graph` {
  @Test func `pictures are turned and brought to 4 by 2 by 0`() throws {
    var frame = try Frame.picture(
      width: 64, height: 32, format: try #require(PixelFormat(name: "yuv444p10le")), fill: [0, 0, 0])
    frame.pts = 7
    frame.timeBase = RationalTime(1, 25)
    var graph = try FilterGraph(
      input: FilterInput(of: frame, kind: .video), description: "transpose=clock,format=yuv420p")
    try graph.send(&frame)
    #expect(frame.isEmpty == true)
    #expect(try graph.receive(into: &frame) == .produced)
    #expect((frame.width, frame.height, frame.pixelFormat) == (32, 64, .yuv420p))
    #expect(frame.pts == 7)
    #expect((graph.outputWidth, graph.outputHeight) == (32, 64))
    #expect(try graph.receive(into: &frame) == .needsInput)
    try graph.drain()
    #expect(try graph.receive(into: &frame) == .ended)
  }

  @Test func `sound is resampled and cut to the encoder's frames`() throws {
    var frame = try Frame.silence(
      sampleCount: 4410, sampleRate: 44_100, format: try #require(SampleFormat(name: "s16")), channelLayout: "mono")
    frame.pts = 0
    var graph = try FilterGraph(
      input: FilterInput(of: frame, kind: .audio),
      description: "aresample=48000,aformat=sample_fmts=fltp:channel_layouts=stereo")
    graph.setFrameSize(1024)
    try graph.send(&frame)
    try graph.drain()
    var counts: [Int] = []
    while try graph.receive(into: &frame) == .produced {
      #expect((frame.sampleRate, frame.channels, frame.sampleFormat) == (48_000, 2, .floatPlanar))
      counts.append(frame.sampleCount)
    }
    #expect(counts.dropLast().allSatisfy { $0 == 1024 })
    #expect(abs(counts.reduce(0, +) - 4800) <= 1)
  }

  @Test func `two inputs become one`() throws {
    let frames = try (0..<2).map { _ in
      Owner(
        try Frame.silence(sampleCount: 1024, sampleRate: 48_000, format: .floatPlanar, channelLayout: "stereo"))
    }
    let form = FilterInput(of: frames[0].frame, kind: .audio)
    var graph = try FilterGraph(inputs: [form, form], description: "[in0][in1]amix=inputs=2[out]")
    for (index, owner) in frames.enumerated() {
      owner.frame.pts = 0
      try graph.send(&owner.frame, to: index)
    }
    try graph.drain(input: 0)
    try graph.drain(input: 1)
    var frame = try Frame()
    var samples = 0
    while try graph.receive(into: &frame) == .produced { samples += frame.sampleCount }
    #expect(samples == 1024)
  }

  private final class Owner {
    var frame: Frame
    init(_ frame: consuming Frame) { self.frame = frame }
  }

  @Test func `layouts without a name of their own are accepted`() throws {
    let input = FilterInput.audio(
      sampleRate: 48_000, format: .s16, channelLayout: "11 channels", timeBase: RationalTime(1, 48_000))
    let graph = try FilterGraph(input: input, description: "anull")
    #expect(graph.outputSampleRate == 48_000)
  }

  @Test func `a filter that is not there is named`() {
    let input = FilterInput.audio(
      sampleRate: 48_000, format: .s16, channelLayout: "mono", timeBase: RationalTime(1, 48_000))
    do {
      let graph = try FilterGraph(input: input, description: "nosuchfilter")
      Issue.record("made \(graph.description)")
    } catch {
      #expect("\(error)".hasPrefix("cannot set up the filter nosuchfilter: "))
    }
  }
}

@Suite struct `Bitstream filter` {
  @Test func `transport stream AAC gets its configuration from its frames`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("a.ts")
    try Scene(seconds: 1, hasVideo: false).write(to: path, format: "mpegts")
    var input = try MediaInput(InputRequest(url: path), interruption: Interruption())
    let stream = try require(input.bestAudio)
    let name = try require(BitstreamFilter.forFragments(stream.parameters))
    var filter = try BitstreamFilter(name, parameters: stream.parameters, timeBase: stream.timeBase)
    var packet = try Packet()
    #expect(try input.read(into: &packet) == true)
    let adtsBytes = packet.byteCount
    try filter.send(&packet)
    #expect(packet.isEmpty == true)
    #expect(try filter.receive(into: &packet) == .produced)
    #expect(packet.byteCount == adtsBytes - 7)
    // AAC-LC, 48 kHz, two channels (ISO/IEC 14496-3 §1.6.2.1).
    #expect(filter.parameters.extradata.prefix(2) == [0x11, 0x90])
    #expect(packet.timeBase == stream.timeBase)
  }

  @Test func `parameter sets that are only in the stream are found`() throws {
    let track = try Scene(seconds: 1, hasAudio: false, videoEncoder: "libx265").tracks()[0]
    let sets = track.parameters.extradata
    #expect(sets.prefix(4) == [0, 0, 0, 1])
    let bare = try track.parameters.replacing(extradata: [])
    let name = try require(BitstreamFilter.forFragments(bare))
    var filter = try BitstreamFilter(name, parameters: bare, timeBase: RationalTime(1, 25))
    var packet = try Packet()
    try packet.replaceBytes(sets + track.packets[0].packet.bytes)
    try filter.send(&packet)
    #expect(try filter.receive(into: &packet) == .produced)
    // Start codes may be written with three bytes or four; the parameter sets are these.
    #expect(nalUnits(filter.parameters.extradata) == nalUnits(sets))
    #expect(packet.byteCount <= track.packets[0].packet.byteCount)
  }

  @Test func `what fits is left alone`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("a.mp4")
    try Scene(seconds: 1).write(to: path, format: "mp4")
    let input = try MediaInput(InputRequest(url: path), interruption: Interruption())
    for stream in input.streams { #expect(BitstreamFilter.forFragments(stream.parameters) == nil) }
  }
}

/// NAL units of an Annex B byte stream, without start codes and trailing zeros.
private func nalUnits(_ bytes: [UInt8]) -> [[UInt8]] {
  var units: [[UInt8]] = []
  var rest = bytes[...]
  while let start = rest.firstRange(of: [0, 0, 1]) {
    rest = rest[start.upperBound...]
    var unit = Array(rest[..<(rest.firstRange(of: [0, 0, 1])?.lowerBound ?? rest.endIndex)])
    while unit.last == 0 { unit.removeLast() }
    units.append(unit)
  }
  return units
}

@Suite struct `Packet ownership` {
  @Test func `taking and sharing move no bytes`() throws {
    let track = try Scene(seconds: 1, hasAudio: false).tracks()[0]
    var first = try track.packets[0].packet.shared()
    let bytes = first.bytes
    let address = first.address
    var second = try Packet()
    second.take(from: &first)
    #expect(first.isEmpty == true)
    #expect(second.address == address)
    let third = try second.shared()
    #expect(third.address == address)
    second.clear()
    #expect(third.bytes == bytes)
    #expect(third.isKey == true)
  }

  @Test func `unknown times stay unknown when rescaled`() throws {
    var packet = try Packet()
    packet.timeBase = RationalTime(1, 1000)
    packet.pts = 40
    packet.dts = nil
    packet.rescale(to: .ticks)
    #expect(packet.pts == 3600)
    #expect(packet.dts == nil)
    #expect(packet.timeBase == .ticks)
  }
}

extension Packet {
  var bytes: [UInt8] { withBytes { span in span.withUnsafeBytes { Array($0) } } }
  var address: UInt { withBytes { span in span.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } } }
}

@Suite struct `Rational time` {
  @Test func `conversion is exact beyond 64 bits and rounds as asked`() {
    #expect(RationalTime(1, 48_000).convert(1024, to: .ticks) == 1920)
    #expect(RationalTime(1001, 30_000).convert(1, to: .ticks) == 3003)
    #expect(RationalTime(1, 44_100).convert(1024, to: .ticks, rounding: .down) == 2089)
    #expect(RationalTime(1, 44_100).convert(1024, to: .ticks, rounding: .up) == 2090)
    #expect(RationalTime.microseconds.convert(Int64(1) << 60, to: RationalTime(1, 1_000_000)) == Int64(1) << 60)
  }
}

@Suite(.serialized) struct `Media log` {
  @Test func `libav's lines arrive with level and source, up to the level asked for`() throws {
    let lines = Lines()
    MediaLog.register(.error) { lines.append($0) }
    let directory = try TemporaryDirectory()
    try write([UInt8](repeating: 0, count: 64), to: directory.file("a.mp4"))
    #expect(throws: AVError.self) {
      let input = try MediaInput(
        InputRequest(url: directory.file("a.mp4"), format: "mp4"), interruption: Interruption())
      _ = input.streams
    }
    MediaLog.register(.error, sink: nil)
    let said = lines.all
    #expect(
      said.contains { $0.text.contains("moov atom not found") && $0.source.contains("mov") && $0.level == .error })
    #expect(said.allSatisfy { $0.level == .error && !$0.text.contains("\n") })
  }

  /// On little stack, so that a call that grows deeper each time ends the test.
  @Test func `the three-thousandth line arrives like the first`() throws {
    let lines = Lines()
    MediaLog.register(.error) { lines.append($0) }
    let directory = try TemporaryDirectory()
    let path = directory.file("a.mp4")
    try write([UInt8](repeating: 0, count: 64), to: path)
    let done = DispatchSemaphore(value: 0)
    let thread = Thread {
      for _ in 0..<3_000 {
        #expect(throws: AVError.self) {
          let input = try MediaInput(InputRequest(url: path, format: "mp4"), interruption: Interruption())
          _ = input.streams
        }
      }
      done.signal()
    }
    thread.stackSize = 256 << 10
    thread.start()
    done.wait()
    MediaLog.register(.error, sink: nil)
    #expect(lines.all.count { $0.text.contains("moov atom not found") } >= 3_000)
  }

  @Test(arguments: [("NULL", "libav"), ("", "libav"), ("h264", "h264")])
  func `an object that libav has no name for is called libav`(name: String, source: String) {
    #expect(MediaLog.source(named: name) == source)
  }

  private final class Lines: @unchecked Sendable {
    private let lock = NSLock()
    private var lines: [MediaLog.Line] = []
    func append(_ line: MediaLog.Line) { lock.withLock { lines.append(line) } }
    var all: [MediaLog.Line] { lock.withLock { lines } }
  }

  @Test(arguments: ["fltp", "s16"])
  func `sound that is split is the same sound`(format: String) throws {
    let input = FilterInput.audio(
      sampleRate: 48_000, format: .floatPlanar, channelLayout: "stereo", timeBase: RationalTime(1, 48_000))
    var graph = try FilterGraph(input: input, description: "volume=0.5,aformat=sample_fmts=\(format)")
    var frame = try Frame.silence(sampleCount: 3000, sampleRate: 48_000, format: .floatPlanar, channelLayout: "stereo")
    for channel in 0..<2 {
      try frame.add((0..<3000).map { Float($0 * (channel + 1)) / 8192 }, times: 1, toChannel: channel)
    }
    frame.pts = 500
    try graph.send(&frame)
    var whole = try Frame()
    try #require(try graph.receive(into: &whole) == .produced)
    func bytes(_ frame: borrowing Frame) -> [[UInt8]] {
      (0..<2).compactMap { plane in
        frame.withPlane(plane) { bytes, _ in bytes.withUnsafeBytes { Array($0) } }
      }
    }
    let all = bytes(whole)
    let head = try whole.split(after: 1024)
    #expect((head.sampleCount, head.pts) == (1024, 500))
    #expect((whole.sampleCount, whole.pts) == (1976, 1524))
    #expect(zip(bytes(head), bytes(whole)).map { $0 + $1 } == all)
  }
}
