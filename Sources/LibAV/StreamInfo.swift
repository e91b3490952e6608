import CLibAV

/// What an input says about one of its streams.
package struct StreamInfo: Sendable {
  package let index: Int
  package let kind: MediaKind
  package let codec: CodecID
  package let parameters: CodecParameters
  /// Unit of this stream's packet times.
  package let timeBase: RationalTime
  /// Average and lowest-common frame rates (`avg_frame_rate`, `r_frame_rate`); not known (0/0) for sound and some video.
  package let averageFrameRate: RationalTime
  package private(set) var baseFrameRate: RationalTime
  /// The rate to assume for video: libav's guess from both, or unknown.
  package private(set) var frameRate: RationalTime
  /// The header tells a lower rate than the pictures have, and with it that each lasts too long.
  package private(set) var tellsWrongDurations = false
  /// The container stores how long each packet lasts (MP4): what sound decodes to beyond that is padding.
  package let tellsPadding: Bool
  /// Pixel shape; 1/1 where nothing is said.
  package let sampleAspect: RationalTime
  package let rotation: Rotation
  /// First time of the stream and its duration in `timeBase`; nil when unknown.
  package let startTime: Int64?
  package let duration: Int64?
  /// A still picture that comes with audio (cover art): no film.
  package let isAttachedPicture: Bool

  /// It had nothing to learn from where the input begins.
  package var isLate: Bool { !parameters.isMeasured }
  package var width: Int { parameters.width }
  package var height: Int { parameters.height }
  package var sampleRate: Int { parameters.sampleRate }
  package var channels: Int { parameters.channels }
  package var initialPadding: Int { parameters.initialPadding }
  package var extradata: [UInt8] { parameters.extradata }

  /// Corrects the rates by the presentation times of pictures, in any order.
  mutating func measure(_ times: [Int64]) {
    let told = max(frameRate.value, baseFrameRate.value)
    guard told > 0 else { return }
    let sorted = times.sorted()
    let steps = zip(sorted.dropFirst(), sorted).map { $0 - $1 }.filter { $0 > 0 }
    guard let shortest = steps.min(), Double(shortest) * timeBase.value * told < 0.67 else { return }
    // Coarse clocks make steps that differ by one.
    let usual = steps.filter { $0 <= shortest + 1 }
    frameRate = RationalTime(
      Int32(clamping: Int64(usual.count) * Int64(timeBase.denominator)),
      Int32(clamping: usual.reduce(0, +) * Int64(timeBase.numerator)))
    baseFrameRate = frameRate
    tellsWrongDurations = true
  }

  init(_ stream: UnsafeMutablePointer<AVStream>, of context: UnsafeMutablePointer<AVFormatContext>) throws(AVError) {
    guard let source = unsafe stream.pointee.codecpar else {
      throw AVError(.allocate("codec parameters"), code: segrec_AVERROR_INVALIDDATA)
    }
    index = unsafe Int(stream.pointee.index)
    let aspect = unsafe RationalTime(av_guess_sample_aspect_ratio(context, stream, nil))
    // What the container says counts, and only the codec's is kept with its parameters.
    parameters = try unsafe CodecParameters(copying: source) { copy in
      if aspect.isKnown { unsafe copy.pointee.sample_aspect_ratio = aspect.raw }
    }
    kind = parameters.kind
    codec = parameters.codec
    timeBase = unsafe RationalTime(stream.pointee.time_base)
    averageFrameRate = unsafe RationalTime(stream.pointee.avg_frame_rate)
    baseFrameRate = unsafe RationalTime(stream.pointee.r_frame_rate)
    frameRate = kind == .video ? unsafe RationalTime(av_guess_frame_rate(context, stream, nil)) : RationalTime(0, 0)
    tellsPadding = unsafe MediaInput.name(of: context).hasPrefix("mov")
    sampleAspect = aspect.isKnown ? aspect : RationalTime(1, 1)
    startTime = unsafe optionalTime(stream.pointee.start_time)
    duration = unsafe optionalTime(stream.pointee.duration)
    isAttachedPicture = unsafe stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC != 0
    var size = 0
    let matrix = unsafe av_stream_get_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, &size)
    rotation = unsafe Rotation(matrix, size: size) ?? .none
  }
}
