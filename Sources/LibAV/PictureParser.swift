import CLibAV

/// Owns one of libav's parsers (`AVCodecParserContext`), which reads the headers of coded pictures without decoding them:
/// H.264 and HEVC. Freed with `av_parser_close`.
@safe package struct PictureParser: ~Copyable {
  private let parser: UnsafeMutablePointer<AVCodecParserContext>
  private let context: UnsafeMutablePointer<AVCodecContext>

  package init(parameters: CodecParameters) throws(AVError) {
    guard let context = unsafe avcodec_alloc_context3(nil) else { throw AVError(.allocate("a parser"), code: -12) }
    let result = unsafe avcodec_parameters_to_context(context, parameters.raw)
    guard result >= 0, let parser = unsafe av_parser_init(Int32(bitPattern: parameters.codec.rawValue)) else {
      var raw: UnsafeMutablePointer<AVCodecContext>? = unsafe context
      unsafe avcodec_free_context(&raw)
      throw AVError(.allocate("a parser of \(parameters.codec)"), code: result < 0 ? result : -12)
    }
    unsafe parser.pointee.flags |= PARSER_FLAG_COMPLETE_FRAMES
    unsafe self.parser = parser
    unsafe self.context = context
  }

  deinit {
    unsafe av_parser_close(parser)
    var raw: UnsafeMutablePointer<AVCodecContext>? = unsafe context
    unsafe avcodec_free_context(&raw)
  }

  /// The picture order count of the picture in `packet` (ITU-T H.264 §8.2.1, H.265 §8.3.1): pictures are shown in its
  /// order; it begins anew with each IDR picture. Nil when the packet has no header that can be read.
  package mutating func pictureOrderCount(of packet: borrowing Packet) -> Int? {
    var data: UnsafeMutablePointer<UInt8>?
    var size: Int32 = 0
    unsafe parser.pointee.output_picture_number = Int32.min
    _ = unsafe av_parser_parse2(
      parser, context, &data, &size, packet.raw.pointee.data, packet.raw.pointee.size, segrec_AV_NOPTS_VALUE,
      segrec_AV_NOPTS_VALUE, 0)
    let count = unsafe parser.pointee.output_picture_number
    return count == Int32.min ? nil : Int(count)
  }
}

// Sendable: one owner, and libav gives parsers no thread affinity.
extension PictureParser: @unchecked Sendable {}
