import CLibAV

/// Settings of a video encoder.
package struct VideoEncoderSettings: Sendable {
  /// libav's name: `libx264`, `libx265`, `libsvtav1`, `h264_vaapi` …
  package var encoder: String
  /// Pixels, even for 4:2:0.
  package var width: Int
  package var height: Int
  package var pixelFormat: PixelFormat = .yuv420p
  package var sampleAspect = RationalTime(1, 1)
  package var color: ColorProperties = .unspecified
  /// Unit of frame and packet times.
  package var timeBase: RationalTime = .ticks
  /// Nominal, for rate control and for the stream's header; frames may come irregularly.
  package var frameRate: RationalTime
  /// Bits per second.
  package var bitRate: Int64
  /// Most frames between two key frames. Key frames are otherwise made on request only.
  package var maximumGOP: Int
  /// Slices coded in parallel where the encoder can (libx264): they add no delay and no frames in memory.
  package var threads: Int = 1
  /// Encoder's own options, over those this module sets.
  package var options: [MediaOption] = []

  package init(
    encoder: String = "libx264", width: Int, height: Int, frameRate: RationalTime, bitRate: Int64, maximumGOP: Int
  ) {
    self.encoder = encoder
    self.width = width
    self.height = height
    self.frameRate = frameRate
    self.bitRate = bitRate
    self.maximumGOP = maximumGOP
  }

  /// Motion by quarters of a pixel costs three more planes for each picture kept, 14 MB at 1080p. Where pixels are that
  /// small it gains little: 0.1 dB of SSIM on a screen at equal size.
  private var memorySavings: String { width * height > 1_000_000 ? ":subme=0:weightp=0" : "" }

  /// Low delay, little memory: no lookahead, no B-frames, no frame threads; a requested key frame is an IDR.
  var lowDelayOptions: [MediaOption] {
    switch encoder {
    case "libx264", "libx264rgb":
      [
        MediaOption("preset", "veryfast"), MediaOption("tune", "zerolatency"), MediaOption("forced-idr", "1"),
        MediaOption("refs", "1"), MediaOption("sc_threshold", "0"),
        MediaOption(
          "x264-params",
          "rc-lookahead=0:sync-lookahead=0:bframes=0:mbtree=0:open-gop=0:sliced-threads=1\(memorySavings)"),
      ]
    case "libx265":
      [
        MediaOption("preset", "ultrafast"), MediaOption("forced-idr", "1"),
        MediaOption(
          "x265-params",
          "log-level=error:bframes=0:rc-lookahead=0:lookahead-slices=0:frame-threads=1:pools=\(max(1, threads))"
            + ":ref=1:scenecut=0:open-gop=0:repeat-headers=0:info=0"),
      ]
    case "libsvtav1":
      [
        MediaOption("preset", "10"), MediaOption("la_depth", "0"),
        MediaOption("svtav1-params", "pred-struct=1:lp=\(max(1, threads)):scd=0"),
      ]
    case "libaom-av1":
      [
        MediaOption("usage", "realtime"), MediaOption("cpu-used", "8"), MediaOption("lag-in-frames", "0"),
        MediaOption("row-mt", threads > 1 ? "1" : "0"),
      ]
    case "libvpx", "libvpx-vp9":
      [MediaOption("deadline", "realtime"), MediaOption("cpu-used", "8"), MediaOption("lag-in-frames", "0")]
    case "h264_nvenc", "hevc_nvenc", "av1_nvenc":
      [
        MediaOption("preset", "p3"), MediaOption("tune", "ull"), MediaOption("forced-idr", "1"),
        MediaOption("delay", "0"), MediaOption("zerolatency", "1"), MediaOption("rc", "cbr"),
      ]
    case "h264_qsv", "hevc_qsv":
      [MediaOption("forced_idr", "1"), MediaOption("async_depth", "1"), MediaOption("look_ahead", "0")]
    case "h264_vaapi", "hevc_vaapi":
      [MediaOption("async_depth", "1")]
    default: []
    }
  }
}

/// Owns one video encoder. After each `send`, call `receive` until `.needsInput`.
@safe package struct VideoEncoder: ~Copyable {
  package let settings: VideoEncoderSettings
  /// With the parameter sets in `extradata`.
  package let parameters: CodecParameters
  package var timeBase: RationalTime { settings.timeBase }
  private let context: EncoderContext
  private let upload: HardwareUpload?

  /// True when this libav has the encoder; a device it needs may still be absent.
  package static func isKnown(_ encoder: String) -> Bool { unsafe avcodec_find_encoder_by_name(encoder) != nil }

  /// False for encoders that make key frames at `maximumGOP` only, whatever a frame asks for: SVT-AV1 as libav 5.1 drives
  /// it. libaom, x264 and x265 obey.
  package static func obeysKeyframeRequests(_ encoder: String) -> Bool { encoder != "libsvtav1" }

  /// The 8-bit 4:2:0 format in memory to feed `encoder` with; nil when it takes none.
  package static func inputFormat(of encoder: String) -> PixelFormat? {
    guard let codec = unsafe avcodec_find_encoder_by_name(encoder) else { return nil }
    guard var format = unsafe codec.pointee.pix_fmts else { return .yuv420p }
    var formats: [PixelFormat] = []
    while unsafe format.pointee != AV_PIX_FMT_NONE {
      unsafe formats.append(PixelFormat(format.pointee))
      unsafe format += 1
    }
    if formats.contains(.yuv420p) { return .yuv420p }
    return formats.contains(.nv12) || formats.contains(PixelFormat(AV_PIX_FMT_VAAPI)) ? .nv12 : nil
  }

  /// Opening throws where the encoder, its device or one of its options is absent: the caller may fall back to software.
  package init(_ settings: VideoEncoderSettings) throws(AVError) {
    let context = try EncoderContext(encoder: settings.encoder, kind: .video)
    let raw = unsafe context.raw
    unsafe raw.pointee.width = Int32(settings.width)
    unsafe raw.pointee.height = Int32(settings.height)
    unsafe raw.pointee.pix_fmt = settings.pixelFormat.raw
    unsafe raw.pointee.sample_aspect_ratio = settings.sampleAspect.raw
    unsafe raw.pointee.time_base = settings.timeBase.raw
    unsafe raw.pointee.framerate = settings.frameRate.raw
    unsafe raw.pointee.bit_rate = settings.bitRate
    // SVT-AV1 refuses a ceiling beside a target.
    if settings.encoder != "libsvtav1" {
      unsafe raw.pointee.rc_max_rate = settings.bitRate
      unsafe raw.pointee.rc_buffer_size = Int32(clamping: settings.bitRate)
    }
    unsafe raw.pointee.gop_size = Int32(settings.maximumGOP)
    unsafe raw.pointee.max_b_frames = 0
    unsafe raw.pointee.thread_count = Int32(max(1, settings.threads))
    unsafe raw.pointee.thread_type = FF_THREAD_SLICE
    unsafe raw.pointee.flags |= Int32(bitPattern: AV_CODEC_FLAG_CLOSED_GOP)
    unsafe raw.pointee.color_primaries = AVColorPrimaries(settings.color.primaries)
    unsafe raw.pointee.color_trc = AVColorTransferCharacteristic(settings.color.transfer)
    unsafe raw.pointee.colorspace = AVColorSpace(settings.color.matrix)
    unsafe raw.pointee.color_range = settings.color.range
    let upload =
      settings.encoder.hasSuffix("_vaapi")
      ? try unsafe HardwareUpload(for: raw, encoder: settings.encoder) : nil
    var options = settings.lowDelayOptions
    options.removeAll { option in settings.options.contains { $0.name == option.name } }
    try context.open(options + settings.options)
    let parameters = try unsafe CodecParameters(context: raw)
    self.parameters = parameters
    self.upload = upload
    self.settings = settings
    self.context = context
  }

  /// Encodes `frame`, of the size and format of the settings, times in `timeBase` and increasing.
  package mutating func send(_ frame: borrowing Frame) throws(AVError) {
    guard let upload else { return try unsafe context.send(frame.raw) }
    let uploaded = try upload.upload(frame)
    try unsafe context.send(uploaded.raw)
  }

  package mutating func drain() throws(AVError) { try unsafe context.send(nil) }

  package mutating func receive(into packet: inout Packet) throws(AVError) -> CodingStep {
    try context.receive(into: &packet)
  }

  /// Changes the bit rate from the next frame on, without new parameter sets. Works with libx264, which compares
  /// `bit_rate` and the VBV with each frame (`x264_encoder_reconfig`); others keep theirs.
  ///
  /// - Returns: whether the encoder follows.
  package mutating func setBitRate(_ bitsPerSecond: Int64) -> Bool {
    guard settings.encoder == "libx264" else { return false }
    unsafe context.raw.pointee.bit_rate = bitsPerSecond
    unsafe context.raw.pointee.rc_max_rate = bitsPerSecond
    unsafe context.raw.pointee.rc_buffer_size = Int32(clamping: bitsPerSecond)
    return true
  }
}

// Sendable: one owner, and libav gives codecs no thread affinity.
extension VideoEncoder: @unchecked Sendable {}
