import CLibAV
import Glibc

/// Owns one `AVFrame`: one picture, or some samples. Freed with `av_frame_free`; the data is counted by libav.
@safe package struct Frame: ~Copyable {
  let raw: UnsafeMutablePointer<AVFrame>

  package init() throws(AVError) {
    guard let raw = unsafe av_frame_alloc() else { throw AVError(.allocate("a frame"), code: -12) }
    unsafe self.raw = raw
  }

  deinit {
    var raw: UnsafeMutablePointer<AVFrame>? = unsafe raw
    unsafe av_frame_free(&raw)
  }

  /// Presentation time in `timeBase`; nil when unknown.
  package var pts: Int64? {
    get { unsafe optionalTime(raw.pointee.pts) }
    set { unsafe raw.pointee.pts = rawTime(newValue) }
  }

  /// The decoder's best guess where `pts` is missing or wrong (`best_effort_timestamp`), in `timeBase`.
  package var bestTime: Int64? { unsafe optionalTime(raw.pointee.best_effort_timestamp) ?? pts }

  /// In `timeBase`; 0 when unknown.
  package var duration: Int64 {
    get { unsafe raw.pointee.pkt_duration }
    set { unsafe raw.pointee.pkt_duration = newValue }
  }

  package var timeBase: RationalTime {
    get { unsafe RationalTime(raw.pointee.time_base) }
    set { unsafe raw.pointee.time_base = newValue.raw }
  }

  /// Converts `pts` and `duration` to `timeBase`, nearest.
  package mutating func rescale(to timeBase: RationalTime) {
    let old = self.timeBase
    if let pts { self.pts = old.convert(pts, to: timeBase) }
    duration = old.convert(duration, to: timeBase)
    self.timeBase = timeBase
  }

  package var width: Int { unsafe Int(raw.pointee.width) }
  package var height: Int { unsafe Int(raw.pointee.height) }
  package var pixelFormat: PixelFormat { unsafe PixelFormat(rawValue: raw.pointee.format) }
  package var sampleAspect: RationalTime { unsafe RationalTime(raw.pointee.sample_aspect_ratio) }
  package var isInterlaced: Bool { unsafe raw.pointee.interlaced_frame != 0 }
  /// How it is turned for display, where the bitstream says so (H.264 §D.1.27, H.265 §D.2.17).
  package var rotation: Rotation? {
    let data = unsafe av_frame_get_side_data(raw, AV_FRAME_DATA_DISPLAYMATRIX)
    return unsafe Rotation(data?.pointee.data, size: data?.pointee.size ?? 0)
  }
  package var isKey: Bool { unsafe raw.pointee.key_frame != 0 }
  /// Its bits made no sense to the decoder. That what it refers to was missing does not count.
  package var isDamaged: Bool { unsafe raw.pointee.decode_error_flags & ~FF_DECODE_ERROR_MISSING_REFERENCE != 0 }
  package var color: ColorProperties {
    unsafe ColorProperties(
      raw.pointee.color_primaries, raw.pointee.color_trc, raw.pointee.colorspace, raw.pointee.color_range)
  }

  package var sampleCount: Int { unsafe Int(raw.pointee.nb_samples) }
  package var sampleRate: Int { unsafe Int(raw.pointee.sample_rate) }
  package var channels: Int { unsafe Int(raw.pointee.ch_layout.nb_channels) }
  package var channelLayout: String { unsafe describe(raw.pointee.ch_layout) }
  package var sampleFormat: SampleFormat { unsafe SampleFormat(rawValue: raw.pointee.format) }

  /// Gives channels without an order the usual one of their number, where there is one: filters cannot mix without.
  mutating func guessChannelLayout() {
    guard unsafe raw.pointee.nb_samples > 0, unsafe raw.pointee.ch_layout.order == AV_CHANNEL_ORDER_UNSPEC else {
      return
    }
    let count = unsafe raw.pointee.ch_layout.nb_channels
    unsafe av_channel_layout_default(&raw.pointee.ch_layout, count)
  }

  /// True when there is neither picture nor sound in it.
  package var isEmpty: Bool { unsafe raw.pointee.buf.0 == nil }

  /// Asks the encoder for an IDR picture here; without it the encoder chooses the type.
  package mutating func requestKeyframe(_ wanted: Bool) {
    unsafe raw.pointee.pict_type = wanted ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE
  }

  package mutating func clear() { unsafe av_frame_unref(raw) }

  /// Takes everything `other` holds and leaves it clear. No pixels are copied.
  package mutating func take(from other: inout Frame) {
    unsafe av_frame_unref(raw)
    unsafe av_frame_move_ref(raw, other.raw)
  }

  /// Shares the data of `other` and copies its properties.
  package mutating func share(_ other: borrowing Frame) throws(AVError) {
    unsafe av_frame_unref(raw)
    let result = unsafe av_frame_ref(raw, other.raw)
    guard result >= 0 else { throw AVError(.allocate("a frame"), code: result) }
  }

  /// A new owner of the same data.
  package func shared() throws(AVError) -> Frame {
    var copy = try Frame()
    try copy.share(self)
    return copy
  }

  /// Calls `body` with the bytes of one plane: rows of `stride` bytes for a picture (rows of padding included), samples
  /// for sound. Valid only during the call; nil when there is no such plane.
  package func withPlane<R, E: Error>(_ index: Int, _ body: (RawSpan, _ stride: Int) throws(E) -> R) throws(E) -> R? {
    guard index >= 0, index < 8, let data = unsafe raw.pointee.extended_data?[index] else { return nil }
    let stride: Int
    let count: Int
    if unsafe raw.pointee.nb_samples > 0 {
      let planar = av_sample_fmt_is_planar(sampleFormat.raw) != 0
      guard planar ? index < channels : index == 0 else { return nil }
      stride = sampleFormat.bytesPerSample * (planar ? 1 : channels)
      count = stride * sampleCount
    } else {
      stride = unsafe Int(raw.pointee.lineSizes[index])
      guard stride > 0 else { return nil }
      count = stride * rows(ofPlane: index)
    }
    return try body(unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(start: data, count: count)), stride)
  }

  /// True when both are pictures of the same form and show the same, byte for byte.
  package func hasSamePicture(as other: borrowing Frame) -> Bool {
    guard width == other.width, height == other.height, pixelFormat == other.pixelFormat, width > 0 else {
      return false
    }
    for plane in 0..<4 {
      guard let a = unsafe raw.pointee.extended_data?[plane], let b = unsafe other.raw.pointee.extended_data?[plane]
      else { return plane > 0 }
      let count = Int(av_image_get_linesize(pixelFormat.raw, Int32(width), Int32(plane)))
      let strides = unsafe (Int(raw.pointee.lineSizes[plane]), Int(other.raw.pointee.lineSizes[plane]))
      guard count > 0 else { return plane > 0 }
      let rows = rows(ofPlane: plane)
      if strides.0 == count, strides.1 == count {
        if unsafe memcmp(a, b, count * rows) != 0 { return false }
        continue
      }
      for row in 0..<rows where unsafe memcmp(a + row * strides.0, b + row * strides.1, count) != 0 { return false }
    }
    return true
  }

  private func rows(ofPlane index: Int) -> Int {
    guard index == 1 || index == 2, let description = unsafe av_pix_fmt_desc_get(pixelFormat.raw) else { return height }
    let shift = unsafe Int(description.pointee.log2_chroma_h)
    return (height + (1 << shift) - 1) >> shift
  }

  /// A silent stretch of `sampleCount` samples (at least 1).
  package static func silence(sampleCount: Int, sampleRate: Int, format: SampleFormat, channelLayout: String)
    throws(AVError) -> Frame
  {
    let frame = try Frame()
    unsafe frame.raw.pointee.nb_samples = Int32(sampleCount)
    unsafe frame.raw.pointee.sample_rate = Int32(sampleRate)
    unsafe frame.raw.pointee.format = format.rawValue
    var result = unsafe av_channel_layout_from_string(&frame.raw.pointee.ch_layout, channelLayout)
    guard result >= 0 else { throw AVError(.allocate("\(channelLayout) samples"), code: result) }
    result = unsafe av_frame_get_buffer(frame.raw, 0)
    guard result >= 0 else { throw AVError(.allocate("samples"), code: result) }
    _ = unsafe av_samples_set_silence(
      frame.raw.pointee.extended_data, 0, Int32(sampleCount), frame.raw.pointee.ch_layout.nb_channels, format.raw)
    unsafe frame.raw.pointee.time_base = AVRational(num: 1, den: Int32(sampleRate))
    return frame
  }

  /// A picture of one colour per plane (for 4:2:0 black: `[16, 128, 128]`).
  package static func picture(width: Int, height: Int, format: PixelFormat, fill: [UInt8]) throws(AVError) -> Frame {
    let frame = try Frame()
    unsafe frame.raw.pointee.width = Int32(width)
    unsafe frame.raw.pointee.height = Int32(height)
    unsafe frame.raw.pointee.format = format.rawValue
    let result = unsafe av_frame_get_buffer(frame.raw, 0)
    guard result >= 0 else { throw AVError(.allocate("a \(width)x\(height) picture"), code: result) }
    for (index, value) in fill.enumerated() where index < 4 {
      guard let data = unsafe frame.raw.pointee.extended_data?[index] else { continue }
      unsafe data.update(repeating: value, count: Int(frame.raw.pointee.lineSizes[index]) * frame.rows(ofPlane: index))
    }
    return frame
  }
}

// Sendable: one owner, and libav gives frames no thread affinity.
extension Frame: @unchecked Sendable {}

extension AVFrame {
  /// Line sizes are a C array, which Swift sees as a tuple.
  fileprivate var lineSizes: [Int32] {
    unsafe [linesize.0, linesize.1, linesize.2, linesize.3, linesize.4, linesize.5, linesize.6, linesize.7]
  }
}
