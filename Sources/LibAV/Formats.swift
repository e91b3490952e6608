import CLibAV

/// `AVPixelFormat`.
package struct PixelFormat: Hashable, Sendable, CustomStringConvertible {
  let rawValue: Int32
  init(rawValue: Int32) { self.rawValue = rawValue }
  init(_ format: AVPixelFormat) { rawValue = format.rawValue }

  /// By libav's name (`yuv420p`); nil when there is none such.
  package init?(name: String) {
    let format = unsafe av_get_pix_fmt(name)
    guard format != AV_PIX_FMT_NONE else { return nil }
    self.init(format)
  }

  package static let yuv420p = PixelFormat(AV_PIX_FMT_YUV420P)
  package static let nv12 = PixelFormat(AV_PIX_FMT_NV12)

  var raw: AVPixelFormat { AVPixelFormat(rawValue) }
  package var description: String {
    guard let name = unsafe av_get_pix_fmt_name(raw) else { return "unknown" }
    return unsafe String(cString: name)
  }
}

/// `AVSampleFormat`.
package struct SampleFormat: Hashable, Sendable, CustomStringConvertible {
  let rawValue: Int32
  init(rawValue: Int32) { self.rawValue = rawValue }
  init(_ format: AVSampleFormat) { rawValue = format.rawValue }

  /// By libav's name (`fltp`, `s16`); nil when there is none such.
  package init?(name: String) {
    let format = unsafe av_get_sample_fmt(name)
    guard format != AV_SAMPLE_FMT_NONE else { return nil }
    self.init(format)
  }

  package static let s16 = SampleFormat(AV_SAMPLE_FMT_S16)
  package static let floatPlanar = SampleFormat(AV_SAMPLE_FMT_FLTP)

  var raw: AVSampleFormat { AVSampleFormat(rawValue) }
  package var bytesPerSample: Int { Int(av_get_bytes_per_sample(raw)) }
  package var description: String {
    guard let name = unsafe av_get_sample_fmt_name(raw) else { return "unknown" }
    return unsafe String(cString: name)
  }
}

/// A codec by libav's identity.
package struct CodecID: Hashable, Sendable, CustomStringConvertible {
  let rawValue: UInt32
  init(_ id: AVCodecID) { rawValue = id.rawValue }
  var raw: AVCodecID { AVCodecID(rawValue) }

  package static let h264 = CodecID(AV_CODEC_ID_H264)
  package static let hevc = CodecID(AV_CODEC_ID_HEVC)
  package static let av1 = CodecID(AV_CODEC_ID_AV1)
  package static let vp8 = CodecID(AV_CODEC_ID_VP8)
  package static let vp9 = CodecID(AV_CODEC_ID_VP9)
  package static let mpeg4 = CodecID(AV_CODEC_ID_MPEG4)
  package static let rawVideo = CodecID(AV_CODEC_ID_RAWVIDEO)
  package static let mjpeg = CodecID(AV_CODEC_ID_MJPEG)
  package static let aac = CodecID(AV_CODEC_ID_AAC)
  package static let mp3 = CodecID(AV_CODEC_ID_MP3)
  package static let opus = CodecID(AV_CODEC_ID_OPUS)
  package static let flac = CodecID(AV_CODEC_ID_FLAC)
  package static let alac = CodecID(AV_CODEC_ID_ALAC)
  package static let ac3 = CodecID(AV_CODEC_ID_AC3)
  package static let eac3 = CodecID(AV_CODEC_ID_EAC3)

  /// libav's short name: `h264`, `pcm_s16le`.
  package var description: String { unsafe String(cString: avcodec_get_name(raw)) }
}

package enum MediaKind: Hashable, Sendable {
  case video
  case audio
  /// Subtitles, data, attachments: nothing segrec records.
  case other

  init(_ type: AVMediaType) {
    switch type {
    case AVMEDIA_TYPE_VIDEO: self = .video
    case AVMEDIA_TYPE_AUDIO: self = .audio
    default: self = .other
    }
  }

  var raw: AVMediaType {
    switch self {
    case .video: AVMEDIA_TYPE_VIDEO
    case .audio: AVMEDIA_TYPE_AUDIO
    case .other: AVMEDIA_TYPE_DATA
    }
  }
}

/// Colour description (ITU-T H.273 code points, as libav numbers them); unspecified values stay so.
package struct ColorProperties: Hashable, Sendable {
  package var primaries: UInt32
  package var transfer: UInt32
  package var matrix: UInt32
  package var isFullRange: Bool
  package var isRangeKnown: Bool

  package static let unspecified = ColorProperties(
    primaries: AVCOL_PRI_UNSPECIFIED.rawValue, transfer: AVCOL_TRC_UNSPECIFIED.rawValue,
    matrix: AVCOL_SPC_UNSPECIFIED.rawValue, isFullRange: false, isRangeKnown: false)

  package init(primaries: UInt32, transfer: UInt32, matrix: UInt32, isFullRange: Bool, isRangeKnown: Bool) {
    self.primaries = primaries
    self.transfer = transfer
    self.matrix = matrix
    self.isFullRange = isFullRange
    self.isRangeKnown = isRangeKnown
  }

  init(
    _ primaries: AVColorPrimaries, _ transfer: AVColorTransferCharacteristic, _ matrix: AVColorSpace,
    _ range: AVColorRange
  ) {
    self.init(
      primaries: primaries.rawValue, transfer: transfer.rawValue, matrix: matrix.rawValue,
      isFullRange: range == AVCOL_RANGE_JPEG, isRangeKnown: range != AVCOL_RANGE_UNSPECIFIED)
  }

  var range: AVColorRange {
    isRangeKnown ? (isFullRange ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG) : AVCOL_RANGE_UNSPECIFIED
  }
}

/// The name libav gives a channel layout (`stereo`, `5.1`, `3 channels`), and back.
func describe(_ layout: AVChannelLayout) -> String {
  var layout = unsafe layout
  return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
    guard let base = buffer.baseAddress, unsafe av_channel_layout_describe(&layout, base, buffer.count) > 0 else {
      return "unknown"
    }
    return unsafe String(cString: base)
  }
}
