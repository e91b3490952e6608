import LibAV
import TestKit
import Testing

@Suite struct `Video encoder` {
  @Test func `a requested key frame is an IDR there and nowhere else`() throws {
    let scene = Scene(seconds: 4, hasAudio: false, gop: 1_000)
    var encoder = try VideoEncoder(scene.videoSettings)
    var packets: [Scene.Held] = []
    var index = 0
    try scene.eachPicture { frame in
      frame.requestKeyframe(index == 37 || index == 60)
      index += 1
      try encoder.send(frame)
      try Scene.collect(&packets) { packet in try encoder.receive(into: &packet) }
      // No lookahead and no reordering: each picture is there at once.
      #expect(packets.count == index)
    }
    let keys = packets.enumerated().filter { $0.element.packet.isKey }.map(\.offset)
    #expect(keys == [0, 37, 60])
    for key in keys {
      let types = nalTypes(packets[key].packet)
      #expect(types.contains(5))
    }
  }

  /// Types of the NAL units of an Annex B access unit.
  private func nalTypes(_ packet: borrowing Packet) -> Set<UInt8> {
    packet.withBytes { span in
      span.withUnsafeBytes { bytes in
        var types: Set<UInt8> = []
        for offset in 0..<max(0, bytes.count - 3)
        where bytes[offset] == 0 && bytes[offset + 1] == 0 && bytes[offset + 2] == 1 {
          types.insert(bytes[offset + 3] & 0x1F)
        }
        return types
      }
    }
  }

  @Test func `the bit rate changes in flight, with the same parameter sets`() throws {
    var scene = Scene(seconds: 8, width: 640, height: 360, hasAudio: false, gop: 50)
    scene.frameRate = 25
    var settings = scene.videoSettings
    settings.bitRate = 2_000_000
    var encoder = try VideoEncoder(settings)
    let before = encoder.parameters.extradata
    var packets: [Scene.Held] = []
    var index = 0
    try scene.eachPicture { frame in
      if index == 100 {
        let isFollowing = encoder.setBitRate(300_000)
        #expect(isFollowing)
      }
      index += 1
      try encoder.send(frame)
      try Scene.collect(&packets) { packet in try encoder.receive(into: &packet) }
    }
    let high = packets[50..<100].reduce(0) { $0 + $1.packet.byteCount }
    let low = packets[150..<200].reduce(0) { $0 + $1.packet.byteCount }
    #expect(low * 3 < high)
    #expect(Double(low) * 8 / 2 < 450_000)
    #expect(encoder.parameters.extradata == before)
  }

  @Test func `an encoder that is not there is named`() {
    var settings = Scene().videoSettings
    settings.encoder = "libnothing"
    do {
      let encoder = try VideoEncoder(settings)
      Issue.record("opened \(encoder.settings.encoder)")
    } catch {
      #expect(error.kind == .unsupported)
      #expect("\(error)".hasPrefix("cannot open the encoder libnothing: "))
    }
  }

  @Test func `an option it does not know is named`() {
    var settings = Scene().videoSettings
    settings.options = [MediaOption("frobnicate", "1")]
    do {
      let encoder = try VideoEncoder(settings)
      Issue.record("opened \(encoder.settings.encoder)")
    } catch {
      #expect("\(error)" == "the encoder libx264 does not know the option frobnicate")
    }
  }

  @Test(arguments: ["h264_vaapi", "h264_nvenc", "h264_qsv"])
  func `hardware that is absent throws, so that the caller can fall back`(name: String) throws {
    guard VideoEncoder.isKnown(name), let format = VideoEncoder.inputFormat(of: name) else { return }
    var settings = Scene().videoSettings
    settings.encoder = name
    settings.pixelFormat = format
    do {
      var encoder = try VideoEncoder(settings)
      try encoder.drain()
    } catch {
      #expect("\(error)".hasPrefix("cannot open the encoder \(name): "))
    }
  }

  @Test(arguments: ["libx264", "libx265", "libsvtav1", "libaom-av1", "libvpx-vp9"])
  func `each software encoder takes a key frame where asked, and its pictures decode`(name: String) throws {
    guard VideoEncoder.isKnown(name) else { return }
    let directory = try TemporaryDirectory()
    let path = directory.file("a.mp4")
    let scene = Scene(seconds: 2, hasAudio: false, gop: 1_000, videoEncoder: name)
    var encoder = try VideoEncoder(scene.videoSettings)
    var packets: [Scene.Held] = []
    var index = 0
    try scene.eachPicture { frame in
      frame.requestKeyframe(index == 0 || index == 30)
      index += 1
      try encoder.send(frame)
      try Scene.collect(&packets) { packet in try encoder.receive(into: &packet) }
    }
    try encoder.drain()
    try Scene.collect(&packets) { packet in try encoder.receive(into: &packet) }
    let keys = packets.filter { $0.packet.isKey }.map { $0.packet.pts }
    #expect(keys == (VideoEncoder.obeysKeyframeRequests(name) ? [0, 30] : [0]))
    var muxer = try OutputMuxer(
      format: "mp4", url: path, tracks: [FragmentTrack(parameters: encoder.parameters, frameRate: RationalTime(25, 1))])
    for held in packets { try muxer.write(&held.packet, track: 0) }
    try muxer.finish()
    #expect(try countDecoded(path).pictures == 50)
  }
}

@Suite struct `Audio encoder` {
  @Test func `AAC begins with its priming, and says how much`() throws {
    let encoder = try AudioEncoder(AudioEncoderSettings())
    #expect((encoder.frameSize, encoder.initialPadding) == (1024, 1024))
    #expect(encoder.sampleFormat == .floatPlanar)
    let track = try Scene(seconds: 1, hasVideo: false).tracks()[0]
    #expect(track.packets.first?.packet.pts == -1024)
    #expect(track.packets.count == 48)
    #expect(track.parameters.extradata.isEmpty == false)
  }

  @Test func `a layout that is not one is refused`() {
    var settings = AudioEncoderSettings()
    settings.channelLayout = "octophonic-ish"
    // By us, with its name: libav would say no more than "Invalid argument".
    let error = #expect(throws: AVError.self) {
      let encoder = try AudioEncoder(settings)
      _ = encoder.frameSize
    }
    #expect(error?.detail == "no layout octophonic-ish")
  }
}

@Suite struct `Decoding` {
  @Test func `damage does not end decoding`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("a.mkv")
    try Scene(seconds: 4, hasAudio: false).write(to: path, format: "matroska")
    var input = try MediaInput(InputRequest(url: path), interruption: Interruption())
    var decoder = try Decoder(stream: try require(input.bestVideo))
    var packet = try Packet()
    var frame = try Frame()
    var pictures = 0
    var index = 0
    while try input.read(into: &packet) {
      if index == 30 {
        let (pts, timeBase) = (packet.pts, packet.timeBase)
        try packet.replaceBytes([UInt8](repeating: 0xFF, count: 500))
        packet.pts = pts
        packet.timeBase = timeBase
      }
      index += 1
      do { try decoder.send(packet) } catch { #expect(error.kind == .invalidData) }
      while try decoder.receive(into: &frame) == .produced { pictures += 1 }
    }
    try decoder.drain()
    while try decoder.receive(into: &frame) == .produced { pictures += 1 }
    #expect(pictures >= 99)
  }

  @Test func `after a flush it takes packets again`() throws {
    let track = try Scene(seconds: 1, hasAudio: false).tracks()[0]
    var decoder = try Decoder(parameters: track.parameters, timeBase: RationalTime(1, 25))
    var frame = try Frame()
    for _ in 0..<2 {
      var pictures = 0
      for held in track.packets {
        try decoder.send(held.packet)
        while try decoder.receive(into: &frame) == .produced { pictures += 1 }
      }
      try decoder.drain()
      while try decoder.receive(into: &frame) == .produced { pictures += 1 }
      #expect(pictures == 25)
      #expect(try decoder.receive(into: &frame) == .ended)
      decoder.flush()
    }
  }
}
