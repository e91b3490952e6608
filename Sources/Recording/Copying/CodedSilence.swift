import LibAV

/// Silence as packets that a copied sound track can have in place of what its source lacks: players stop where a track
/// does. Encoded once; every packet is the same.
final class CodedSilence {
  /// What one packet lasts, in ticks.
  let ticks: Int64
  private var packet: Packet

  /// Nil where no encoder is there, or its packets would not fit the track's init section.
  init?(like parameters: CodecParameters) {
    do throws(AVError) {
      if parameters.codec == .flac {
        guard let frame = silentFLACFrame(parameters.extradata), parameters.sampleRate > 0 else { return nil }
        packet = try Packet()
        try packet.replaceBytes(frame.bytes)
        ticks = RationalTime(1, Int32(parameters.sampleRate)).convert(Int64(frame.samples), to: .ticks)
        return
      }
      guard let settings = Self.settings(parameters) else { return nil }
      var encoder = try AudioEncoder(settings)
      let count = encoder.frameSize > 0 ? encoder.frameSize : 1024
      var packet = try Packet()
      var last = try Packet()
      // The first ones differ: priming, and what an encoder has to get used to.
      for index in 0..<8 {
        var frame = try Frame.silence(
          sampleCount: count, sampleRate: settings.sampleRate, format: encoder.sampleFormat,
          channelLayout: settings.channelLayout)
        frame.pts = Int64(index * count)
        try encoder.send(frame)
        while try encoder.receive(into: &packet) == .produced { last.take(from: &packet) }
      }
      guard !last.isEmpty else { return nil }
      self.packet = last
      ticks = encoder.timeBase.convert(Int64(count), to: .ticks)
    } catch {
      return nil
    }
  }

  /// A packet that begins at `ticks` of the run.
  func packet(at ticks: Int64) throws(RecordingError) -> Packet {
    var copy = try media { () throws(AVError) in try packet.shared() }
    copy.timeBase = .ticks
    copy.pts = ticks
    copy.dts = ticks
    copy.duration = self.ticks
    copy.isKey = true
    return copy
  }

  private static func settings(_ parameters: CodecParameters) -> AudioEncoderSettings? {
    var settings = AudioEncoderSettings()
    settings.sampleRate = parameters.sampleRate
    settings.channelLayout = parameters.channelLayout
    if parameters.bitRate > 0 { settings.bitRate = parameters.bitRate }
    switch parameters.codec {
    case .aac:
      // AudioSpecificConfig (ISO/IEC 14496-3 §1.6.2.1): the object type, the index of the rate, the channels. HE-AAC is
      // silent with AAC-LC of its core.
      let config = parameters.extradata
      guard config.count >= 2, [2, 5, 29].contains(config[0] >> 3) else { return nil }
      let rates = [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350]
      let index = Int(config[0] & 7) << 1 | Int(config[1] >> 7)
      let layouts = ["", "mono", "stereo", "3.0", "4.0", "5.0", "5.1", "7.1(wide)"]
      let channels = Int(config[1] >> 3 & 15)
      guard index < rates.count, (1..<layouts.count).contains(channels) else { return nil }
      settings.sampleRate = rates[index]
      settings.channelLayout = layouts[channels]
    case .ac3: settings.encoder = "ac3"
    case .eac3: settings.encoder = "eac3"
    case .mp3: settings.encoder = "libmp3lame"
    case .opus where parameters.channels <= 2:
      settings.encoder = "libopus"
      settings.sampleRate = 48_000
    default: return nil
    }
    return settings
  }
}
