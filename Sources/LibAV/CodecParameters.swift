import CLibAV

/// Owns one `AVCodecParameters`, never changed once shared: what a decoder, muxer or bitstream filter must know about a
/// stream. Freed with `avcodec_parameters_free`.
@safe package final class CodecParameters: Sendable {
  // Sendable: written only before the owner is published.
  nonisolated(unsafe) let raw: UnsafeMutablePointer<AVCodecParameters>

  /// A copy of `source`, changed by `edit` before anybody else sees it.
  init(
    copying source: UnsafePointer<AVCodecParameters>,
    edit: (UnsafeMutablePointer<AVCodecParameters>) -> Void = { _ in }
  ) throws(AVError) {
    guard let raw = unsafe avcodec_parameters_alloc() else {
      throw AVError(.allocate("codec parameters"), code: -12)
    }
    unsafe self.raw = raw
    let result = unsafe avcodec_parameters_copy(raw, source)
    guard result >= 0 else { throw AVError(.allocate("codec parameters"), code: result) }
    unsafe edit(raw)
  }

  init(context: UnsafePointer<AVCodecContext>) throws(AVError) {
    guard let raw = unsafe avcodec_parameters_alloc() else {
      throw AVError(.allocate("codec parameters"), code: -12)
    }
    unsafe self.raw = raw
    let result = unsafe avcodec_parameters_from_context(raw, context)
    guard result >= 0 else { throw AVError(.allocate("codec parameters"), code: result) }
  }

  deinit {
    var raw: UnsafeMutablePointer<AVCodecParameters>? = unsafe raw
    unsafe avcodec_parameters_free(&raw)
  }

  package var kind: MediaKind { unsafe MediaKind(raw.pointee.codec_type) }
  package var codec: CodecID { unsafe CodecID(raw.pointee.codec_id) }
  package var width: Int { unsafe Int(raw.pointee.width) }
  package var height: Int { unsafe Int(raw.pointee.height) }
  package var pixelFormat: PixelFormat { unsafe PixelFormat(rawValue: raw.pointee.format) }
  package var sampleAspect: RationalTime { unsafe RationalTime(raw.pointee.sample_aspect_ratio) }
  package var color: ColorProperties {
    unsafe ColorProperties(
      raw.pointee.color_primaries, raw.pointee.color_trc, raw.pointee.color_space, raw.pointee.color_range)
  }
  package var sampleRate: Int { unsafe Int(raw.pointee.sample_rate) }
  package var channels: Int { unsafe Int(raw.pointee.ch_layout.nb_channels) }
  package var channelLayout: String { unsafe describe(raw.pointee.ch_layout) }
  package var sampleFormat: SampleFormat { unsafe SampleFormat(rawValue: raw.pointee.format) }
  /// The size, or the sample rate, is known; other streams have none.
  package var isMeasured: Bool { kind == .other || width > 0 || sampleRate > 0 }
  /// Samples per coded frame; 0 when it varies or is unknown.
  package var frameSize: Int { unsafe Int(raw.pointee.frame_size) }
  /// Samples of priming before the first real one.
  package var initialPadding: Int { unsafe Int(raw.pointee.initial_padding) }
  /// Bits per second; 0 when unknown.
  package var bitRate: Int64 { unsafe raw.pointee.bit_rate }
  package var profile: Int { unsafe Int(raw.pointee.profile) }
  /// Frames a decoder may hold back for reordering (`video_delay`).
  package var reorderDepth: Int { unsafe Int(raw.pointee.video_delay) }

  package var extradata: [UInt8] {
    guard let data = unsafe raw.pointee.extradata else { return [] }
    return unsafe Array(UnsafeBufferPointer(start: data, count: Int(raw.pointee.extradata_size)))
  }

  /// The same stream with other codec configuration bytes.
  package func replacing(extradata bytes: [UInt8]) throws(AVError) -> CodecParameters {
    let padding = Int(AV_INPUT_BUFFER_PADDING_SIZE)
    guard let copy = unsafe av_mallocz(bytes.count + padding) else {
      throw AVError(.allocate("extradata"), code: -12)
    }
    unsafe copy.copyMemory(from: bytes, byteCount: bytes.count)
    return try unsafe CodecParameters(copying: raw) { parameters in
      unsafe av_free(parameters.pointee.extradata)
      unsafe parameters.pointee.extradata = copy.assumingMemoryBound(to: UInt8.self)
      unsafe parameters.pointee.extradata_size = Int32(bytes.count)
    }
  }
}
