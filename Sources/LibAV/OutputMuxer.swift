import CLibAV

/// Writes a whole file, or a stream, in any of libav's formats. Owns the `AVFormatContext`; a file that was not finished
/// is left as it is.
@safe package struct OutputMuxer: ~Copyable {
  private let raw: UnsafeMutablePointer<AVFormatContext>
  private let name: String
  private let opensFile: Bool
  private let timeBases: [RationalTime]
  private let interruption: Interruption?
  private let timeout: Duration?

  /// - Parameters:
  ///   - format: libav's name (`mp4`, `mpegts`, `flv`).
  ///   - url: a path or URL, which is created or replaced.
  ///   - options: for the muxer; one it does not know is an error.
  ///   - shown: how the URL is called in errors, where the usual way shows too much of it.
  ///   - interruption: ends calls that wait for a network.
  ///   - timeout: for opening and for each packet, where there is an interruption.
  package init(
    format: String, url: String, tracks: [FragmentTrack], options: [MediaOption] = [], called shown: String? = nil,
    interruption: Interruption? = nil, timeout: Duration? = nil
  ) throws(AVError) {
    let name = shown ?? InputName(url: url).description
    interruption?.arm(timeout)
    var context: UnsafeMutablePointer<AVFormatContext>?
    var result = unsafe avformat_alloc_output_context2(&context, nil, format, url)
    guard result >= 0, let context = unsafe context else {
      throw AVError(.openMuxer(format), code: result < 0 ? result : -12)
    }
    let opensFile = unsafe context.pointee.oformat.pointee.flags & AVFMT_NOFILE == 0
    do throws(AVError) {
      for track in tracks { try unsafe OutputMuxer.addStream(track, to: context) }
      if opensFile {
        if let interruption { unsafe context.pointee.interrupt_callback = interruption.callback }
        result = unsafe avio_open2(
          &context.pointee.pb, url, AVIO_FLAG_WRITE, &context.pointee.interrupt_callback, nil)
        guard result >= 0 else { throw AVError(.mux(name), code: interruption?.cause ?? result) }
      }
      var list = try OptionList(options)
      result = unsafe avformat_write_header(context, &list.raw)
      guard result >= 0 else { throw AVError(.openMuxer(format), code: result) }
      if let leftover = list.leftover {
        throw AVError(
          .option(name: leftover, subject: "the muxer \(format)"), code: segrec_AVERROR_OPTION_NOT_FOUND)
      }
    } catch {
      unsafe OutputMuxer.close(context, opensFile)
      throw error
    }
    timeBases = tracks.indices.map { index in
      unsafe RationalTime(context.pointee.streams[index]?.pointee.time_base ?? AVRational(num: 1, den: 90_000))
    }
    unsafe raw = context
    self.name = name
    self.opensFile = opensFile
    self.interruption = interruption
    self.timeout = timeout
  }

  deinit { unsafe OutputMuxer.close(raw, opensFile) }

  package func timeBase(of track: Int) -> RationalTime { timeBases[track] }

  /// Takes the packet, which is clear afterwards; its times are converted. Decode times must increase within the track.
  /// libav keeps packets back until each track has one (at most 10 s of media), to write them in the order of their times.
  package mutating func write(_ packet: inout Packet, track: Int) throws(AVError) {
    if packet.timeBase != timeBases[track] { packet.rescale(to: timeBases[track]) }
    packet.streamIndex = track
    interruption?.arm(timeout)
    let result = unsafe av_interleaved_write_frame(raw, packet.raw)
    guard result >= 0 else { throw AVError(.mux(name), code: interruption?.cause ?? result) }
  }

  /// Writes what is kept back and the end of the file, and closes it; nothing is synced to the disk.
  package consuming func finish() throws(AVError) {
    interruption?.arm(timeout)
    var result = unsafe av_write_trailer(raw)
    if opensFile {
      let closed = unsafe avio_closep(&raw.pointee.pb)
      if result >= 0 { result = closed }
    }
    guard result >= 0 else { throw AVError(.mux(name), code: result) }
  }

  private static func addStream(_ track: FragmentTrack, to context: UnsafeMutablePointer<AVFormatContext>)
    throws(AVError)
  {
    let stream = try unsafe makeStream(track, in: context)
    // Where the format has no tag of its own for the codec, libav picks one; a foreign tag would be refused.
    unsafe stream.pointee.codecpar.pointee.codec_tag = 0
    let isMP4 = unsafe String(cString: context.pointee.oformat.pointee.name) == "mp4"
    if isMP4 && track.parameters.codec == .hevc { unsafe stream.pointee.codecpar.pointee.codec_tag = hvc1Tag }
  }

  private static func close(_ raw: UnsafeMutablePointer<AVFormatContext>, _ opensFile: Bool) {
    if opensFile { _ = unsafe avio_closep(&raw.pointee.pb) }
    unsafe avformat_free_context(raw)
  }
}

// Sendable: one owner, and libav gives muxers no thread affinity.
extension OutputMuxer: @unchecked Sendable {}

/// `MKTAG('h', 'v', 'c', '1')`: Apple plays HEVC under this name only.
let hvc1Tag: UInt32 = 0x3163_7668

/// A stream of `context` for `track`: video counts in 90 kHz ticks, sound in samples (muxers may change that).
func makeStream(_ track: FragmentTrack, in context: UnsafeMutablePointer<AVFormatContext>) throws(AVError)
  -> UnsafeMutablePointer<AVStream>
{
  guard let stream = unsafe avformat_new_stream(context, nil) else { throw AVError(.allocate("a track"), code: -12) }
  let parameters = try track.parameters.announcingSBR()
  let result = withExtendedLifetime(parameters) {
    unsafe avcodec_parameters_copy(stream.pointee.codecpar, parameters.raw)
  }
  guard result >= 0 else { throw AVError(.allocate("a track"), code: result) }
  if track.parameters.kind == .video {
    unsafe stream.pointee.time_base = RationalTime.ticks.raw
    unsafe stream.pointee.sample_aspect_ratio = stream.pointee.codecpar.pointee.sample_aspect_ratio
    unsafe stream.pointee.avg_frame_rate = track.frameRate.raw
  } else {
    unsafe stream.pointee.time_base = AVRational(num: 1, den: Int32(max(1, track.parameters.sampleRate)))
  }
  return unsafe stream
}
