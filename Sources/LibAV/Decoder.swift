import CLibAV

/// Owns one decoder (`AVCodecContext`). Freed with `avcodec_free_context`. After each `send`, call `receive` until it says
/// `.needsInput`; then `send` never has to be repeated.
@safe package struct Decoder: ~Copyable {
  package let name: String
  private let raw: UnsafeMutablePointer<AVCodecContext>
  private let timeBase: RationalTime

  /// - Parameters:
  ///   - threads: 1 is the default because each further frame thread keeps frames of its own in memory.
  package init(stream: StreamInfo, threads: Int = 1) throws(AVError) {
    try self.init(parameters: stream.parameters, timeBase: stream.timeBase, threads: threads)
  }

  /// - Parameters:
  ///   - isStrict: damage is not concealed: `send` or `receive` throws at the packet that has it (`AV_EF_EXPLODE`).
  ///   - hasPixels: false where only the coded form is of interest. Of H.264 and H.265, frames have no picture then, but
  ///     all else: what the bits mean does not depend on pixels. Nothing is logged then.
  package init(
    parameters: CodecParameters, timeBase: RationalTime, threads: Int = 1, isStrict: Bool = false,
    hasPixels: Bool = true
  ) throws(AVError) {
    let name = parameters.codec.description
    guard let codec = unsafe avcodec_find_decoder(parameters.codec.raw) else {
      throw AVError(.openDecoder(name), code: segrec_AVERROR_DECODER_NOT_FOUND)
    }
    guard let raw = unsafe avcodec_alloc_context3(codec) else {
      throw AVError(.allocate("a decoder"), code: -12)
    }
    var result = unsafe avcodec_parameters_to_context(raw, parameters.raw)
    if result >= 0 {
      unsafe raw.pointee.pkt_timebase = timeBase.raw
      unsafe raw.pointee.thread_count = Int32(max(1, threads))
      if isStrict { unsafe raw.pointee.err_recognition |= AV_EF_EXPLODE | AV_EF_CRCCHECK | AV_EF_BITSTREAM }
      if !hasPixels, [.h264, .hevc].contains(parameters.codec) {
        unsafe raw.pointee.get_buffer2 = { unsafe lendOneRow($0, $1, $2) }
        unsafe raw.pointee.thread_type = FF_THREAD_SLICE
        // What is wrong is for the caller to tell.
        unsafe raw.pointee.log_level_offset = 100
        unsafe raw.pointee.skip_loop_filter = AVDISCARD_ALL
      }
      result = unsafe avcodec_open2(raw, codec, nil)
    }
    guard result >= 0 else {
      var raw: UnsafeMutablePointer<AVCodecContext>? = unsafe raw
      unsafe avcodec_free_context(&raw)
      throw AVError(.openDecoder(name), code: result)
    }
    self.name = name
    self.timeBase = timeBase
    unsafe self.raw = raw
  }

  /// Frames it holds back for reordering, as far as the codec configuration or the pictures so far tell (`has_b_frames`).
  package var reorderDepth: Int { unsafe Int(raw.pointee.has_b_frames) }

  /// The stream as the decoder knows it: more than was given, after a frame.
  package func parameters() throws(AVError) -> CodecParameters { try unsafe CodecParameters(context: raw) }

  deinit {
    var raw: UnsafeMutablePointer<AVCodecContext>? = unsafe raw
    unsafe avcodec_free_context(&raw)
  }

  /// Damaged input throws (`.invalidData`); the decoder can go on with the next packet.
  package mutating func send(_ packet: borrowing Packet) throws(AVError) {
    // An empty packet would mean the end to libav.
    guard !packet.isEmpty else { return }
    let result = unsafe avcodec_send_packet(raw, packet.raw)
    guard result >= 0 else { throw AVError(.decode(name), code: result) }
  }

  /// No more packets; what is held back for reordering comes out until `.ended`.
  package mutating func drain() throws(AVError) {
    let result = unsafe avcodec_send_packet(raw, nil)
    guard result >= 0 || result == segrec_AVERROR_EOF else { throw AVError(.decode(name), code: result) }
  }

  /// Forgets what is held back and accepts packets again: after a jump in time or a drain.
  package mutating func flush() { unsafe avcodec_flush_buffers(raw) }

  /// Fills `frame`; its times are in the time base given at the start, `pts` being the best guess where the stream is
  /// silent about it.
  package mutating func receive(into frame: inout Frame) throws(AVError) -> CodingStep {
    let result = unsafe avcodec_receive_frame(raw, frame.raw)
    guard let step = codingStep(result) else { throw AVError(.decode(name), code: result) }
    if step == .produced {
      frame.pts = frame.bestTime
      frame.timeBase = timeBase
      frame.guessChannelLayout()
    }
    return step
  }
}

// Sendable: one owner, and libav gives codecs no thread affinity.
extension Decoder: @unchecked Sendable {}

/// Gives a picture the memory of one row, in which all its rows lie one over the other: 3 MB less for each at 1080p.
private func lendOneRow(
  _ context: UnsafeMutablePointer<AVCodecContext>?, _ frame: UnsafeMutablePointer<AVFrame>?, _ flags: Int32
) -> Int32 {
  // Prediction reads and writes blocks, and some pixels beside them, of two bytes at most.
  let margin = 512
  guard let frame = unsafe frame, let row = unsafe av_buffer_allocz(2 * (Int(frame.pointee.width) + 2 * margin)) else {
    return -12
  }
  unsafe frame.pointee.buf.0 = row
  let start = unsafe row.pointee.data + 2 * margin
  unsafe frame.pointee.data = (start, start, start, nil, nil, nil, nil, nil)
  unsafe frame.pointee.linesize = (0, 0, 0, 0, 0, 0, 0, 0)
  return 0
}
