import CLibAV

/// What video and audio encoders have in common: one `AVCodecContext` for encoding. Freed with `avcodec_free_context`.
@safe struct EncoderContext: ~Copyable {
  let raw: UnsafeMutablePointer<AVCodecContext>
  let name: String
  let codec: UnsafePointer<AVCodec>

  init(encoder name: String, kind: MediaKind) throws(AVError) {
    guard let codec = unsafe avcodec_find_encoder_by_name(name) else {
      throw AVError(.openEncoder(name), code: segrec_AVERROR_ENCODER_NOT_FOUND)
    }
    guard unsafe MediaKind(codec.pointee.type) == kind else {
      throw AVError(
        .openEncoder(name), code: segrec_AVERROR_ENCODER_NOT_FOUND,
        detail: "it encodes no \(kind == .video ? "video" : "audio")")
    }
    guard let raw = unsafe avcodec_alloc_context3(codec) else { throw AVError(.allocate("an encoder"), code: -12) }
    unsafe self.raw = raw
    unsafe self.codec = codec
    self.name = name
    // The init section carries the parameter sets.
    unsafe raw.pointee.flags |= AV_CODEC_FLAG_GLOBAL_HEADER
  }

  deinit {
    var raw: UnsafeMutablePointer<AVCodecContext>? = unsafe raw
    unsafe avcodec_free_context(&raw)
  }

  func open(_ options: [MediaOption]) throws(AVError) {
    var list = try OptionList(options)
    let result = unsafe avcodec_open2(raw, codec, &list.raw)
    guard result >= 0 else { throw AVError(.openEncoder(name), code: result) }
    if let leftover = list.leftover {
      throw AVError(.option(name: leftover, subject: "the encoder \(name)"), code: segrec_AVERROR_OPTION_NOT_FOUND)
    }
  }

  func send(_ frame: UnsafePointer<AVFrame>?) throws(AVError) {
    let result = unsafe avcodec_send_frame(raw, frame)
    guard result >= 0 || (unsafe frame == nil) && result == segrec_AVERROR_EOF else {
      throw AVError(.encode(name), code: result)
    }
  }

  func receive(into packet: inout Packet) throws(AVError) -> CodingStep {
    let result = unsafe avcodec_receive_packet(raw, packet.raw)
    guard let step = codingStep(result) else { throw AVError(.encode(name), code: result) }
    if step == .produced { packet.timeBase = unsafe RationalTime(raw.pointee.time_base) }
    return step
  }
}
