import CLibAV

/// Settings of an audio encoder.
package struct AudioEncoderSettings: Sendable {
  /// libav's name; `aac` is its own AAC-LC encoder.
  package var encoder: String = "aac"
  /// Hz.
  package var sampleRate: Int = 48_000
  /// libav's name: `mono`, `stereo`, `5.1`.
  package var channelLayout: String = "stereo"
  /// Bits per second.
  package var bitRate: Int64 = 128_000
  package var options: [MediaOption] = []

  package init() {}
}

/// Owns one audio encoder. Frames must hold exactly `frameSize` samples each, but for the last; a `FilterGraph` cuts them
/// so (`setFrameSize`). Times are in 1/sample rate. The first packet lies `initialPadding` samples before the first frame:
/// priming that the decoder will turn into silence.
@safe package struct AudioEncoder: ~Copyable {
  package let settings: AudioEncoderSettings
  package let parameters: CodecParameters
  /// Samples per frame; 0 when any number will do.
  package let frameSize: Int
  /// Samples of priming.
  package let initialPadding: Int
  package let sampleFormat: SampleFormat
  package let timeBase: RationalTime
  private let context: EncoderContext

  package init(_ settings: AudioEncoderSettings) throws(AVError) {
    let context = try EncoderContext(encoder: settings.encoder, kind: .audio)
    let raw = unsafe context.raw
    unsafe raw.pointee.sample_rate = Int32(settings.sampleRate)
    unsafe raw.pointee.time_base = AVRational(num: 1, den: Int32(settings.sampleRate))
    unsafe raw.pointee.bit_rate = settings.bitRate
    unsafe raw.pointee.thread_count = 1
    unsafe raw.pointee.sample_fmt = context.codec.pointee.sample_fmts?.pointee ?? AV_SAMPLE_FMT_FLTP
    let result = unsafe av_channel_layout_from_string(&raw.pointee.ch_layout, settings.channelLayout)
    guard result >= 0 else {
      throw AVError(.openEncoder(settings.encoder), code: result, detail: "no layout \(settings.channelLayout)")
    }
    try context.open(settings.options)
    let parameters = try unsafe CodecParameters(context: raw)
    self.parameters = parameters
    frameSize = unsafe Int(raw.pointee.frame_size)
    initialPadding = unsafe Int(raw.pointee.initial_padding)
    sampleFormat = unsafe SampleFormat(raw.pointee.sample_fmt)
    timeBase = unsafe RationalTime(raw.pointee.time_base)
    self.settings = settings
    self.context = context
  }

  package mutating func send(_ frame: borrowing Frame) throws(AVError) { try unsafe context.send(frame.raw) }
  package mutating func drain() throws(AVError) { try unsafe context.send(nil) }
  package mutating func receive(into packet: inout Packet) throws(AVError) -> CodingStep {
    try context.receive(into: &packet)
  }
}

// Sendable: one owner, and libav gives codecs no thread affinity.
extension AudioEncoder: @unchecked Sendable {}
