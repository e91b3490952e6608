import CLibAV

/// How much of an input is read and decoded to learn what it consists of.
extension MediaInput {
  typealias Context = UnsafeMutablePointer<AVFormatContext>
  typealias Stream = UnsafeMutablePointer<AVStream>

  /// What a live input has to show its format in, in bytes: a transport stream is kept in memory for so long, to go back.
  private static let liveProbe = 1_000_000
  /// The same for its tracks.
  private static let mostProbed = 5_000_000

  /// Probing is bounded in bytes for all (the packets seen meanwhile wait in memory) and in time for live inputs.
  static func defaults(for request: InputRequest) -> [MediaOption] {
    let isRealTime = LiveInput.isRealTime(scheme: request.url)
    var defaults = [MediaOption("probesize", "\(isRealTime ? liveProbe : mostProbed)")]
    if isRealTime {
      defaults += [MediaOption("analyzeduration", "1500000")]
      // Datagrams that wait to be read, in packets of 188 bytes: 2.5 s of 6 Mb/s, where libav would take 7 and in time touch
      // all of it: 5.4 MB. More waits behind the reader.
      if request.url.lowercased().hasPrefix("udp:") { defaults += [MediaOption("fifo_size", "10000")] }
    } else if request.format == nil, request.url != "-" {
      // A track of a file may begin late.
      defaults += [MediaOption("analyzeduration", "60000000")]
    }
    // 50 ms of stereo. PulseAudio would choose seconds, for which the picture then waits: 10 MB at 1080p.
    if request.format == "pulse" { defaults += [MediaOption("fragment_size", "9600")] }
    return defaults
  }

  /// Looks at the first packets for what the header does not tell (`avformat_find_stream_info`).
  ///
  /// - Parameter isQuick: the pictures are copied. libav would decode seven of H.264 to learn how many are reordered, for
  ///   8 MB more at 1080p than copying takes later. Packets of a transport stream say both when they are decoded and when
  ///   they are shown, and in Matroska the header often says it, so of them one picture will do. FLV would be another, but
  ///   libav knows of no track of it before it has read on, and takes options for known ones only.
  static func probe(_ raw: Context, isQuick: Bool) -> Int32 {
    if unsafe raw.pointee.probesize == Int64(liveProbe) { unsafe raw.pointee.probesize = Int64(mostProbed) }
    let streams = unsafe streams(in: raw)
    var options = unsafe [OpaquePointer?](repeating: nil, count: streams.count)
    defer { for index in unsafe options.indices { unsafe av_dict_free(&options[index]) } }
    if isQuick, unsafe name(of: raw) == "mpegts" || isMatroska(raw) {
      for index in unsafe streams.indices where unsafe codec(of: streams[index]) == .h264 {
        unsafe av_dict_set(&options[index], "skip_frame", "nokey", 0)
      }
    }
    return unsafe avformat_find_stream_info(raw, &options)
  }

  /// A film of H.264 of which one picture does not tell enough: there was none that decoding starts at (periodic intra
  /// refresh), or packets say only when they are shown, and nothing says how many pictures are reordered.
  static func isUntold(_ stream: Stream, in raw: Context) -> Bool {
    guard unsafe codec(of: stream) == .h264 else { return false }
    let parameters = unsafe stream.pointee.codecpar.pointee
    // Baseline has no B-frames.
    let isInOrder = unsafe parameters.video_delay > 0 || parameters.profile & 0xFF == FF_PROFILE_H264_BASELINE
    return unsafe parameters.width == 0 || isMatroska(raw) && !isInOrder
  }

  /// MP4 tells where its packets begin, their times and the codec configuration. libav would read each of them all the
  /// same, for what only a decoder wants to know: a tenth of what copying a file costs.
  static func needsNoParsing(_ raw: Context) -> Bool {
    guard unsafe name(of: raw).hasPrefix("mov,mp4") else { return false }
    return unsafe streams(in: raw).allSatisfy { stream in
      let parameters = unsafe stream.pointee.codecpar.pointee
      return switch unsafe codec(of: stream) {
      // Without the box that holds it, or with start codes in the packets, the configuration is in the packets.
      case .h264, .hevc: unsafe parameters.extradata_size > 0 && parameters.extradata[0] == 1
      case .aac: unsafe parameters.extradata_size > 0
      default: false
      }
    }
  }

  /// The header has the rate, the reordering and the times of all pictures, and sound whose rate no decoder would double
  /// (SBR that is not announced has a core of 24 kHz at most): nothing has to be decoded for them.
  static func tellsAll(_ raw: Context) -> Bool {
    unsafe streams(in: raw).allSatisfy { stream in
      guard unsafe avformat_index_get_entries_count(stream) > 1 else { return false }
      let parameters = unsafe stream.pointee.codecpar.pointee
      return switch unsafe codec(of: stream) {
      case .h264: unsafe RationalTime(stream.pointee.avg_frame_rate).isKnown
      case .aac: unsafe parameters.sample_rate > 24_000 && (1...2).contains(parameters.ch_layout.nb_channels)
      default: false
      }
    }
  }

  /// MP4 tells only how many channels there are.
  static func nameLayouts(_ raw: Context) {
    let streams = unsafe streams(in: raw)
    for index in unsafe streams.indices {
      guard let parameters = unsafe streams[index].pointee.codecpar else { continue }
      let count = unsafe parameters.pointee.ch_layout.nb_channels
      if count > 0 { unsafe av_channel_layout_default(&parameters.pointee.ch_layout, count) }
    }
  }

  static func streams(in raw: Context) -> [Stream] {
    unsafe (0..<Int(raw.pointee.nb_streams)).compactMap { unsafe raw.pointee.streams[$0] }
  }

  private static func isMatroska(_ raw: Context) -> Bool { unsafe name(of: raw).hasPrefix("matroska") }

  static func name(of raw: Context) -> String { unsafe String(cString: raw.pointee.iformat.pointee.name) }

  private static func codec(of stream: Stream) -> CodecID { unsafe CodecID(stream.pointee.codecpar.pointee.codec_id) }
}
