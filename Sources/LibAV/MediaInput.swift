import CLibAV
import Glibc

/// What to open and how.
package struct InputRequest: Sendable {
  /// Anything libav opens: a path, a URL, a device name; `-` is standard input.
  package var url: String
  /// A demuxer or device by name (`x11grab`, `v4l2`, `alsa`, `pulse`, `lavfi`); nil lets libav find out.
  package var format: String?
  /// For the demuxer and its protocol. One that neither knows is an error.
  package var options: [MediaOption]
  /// For opening and probing together.
  package var openTimeout: Duration? = .seconds(30)
  /// For one read; nil waits for ever.
  package var readTimeout: Duration?
  /// It is opened again when it ends: a stream over HTTP without an end counts as live then.
  package var comesBack = false
  /// Pictures are wanted as they are stored, and are not decoded.
  package var isCopied = false
  /// What `-` stands for.
  package var standardInput: Int32 = 0

  package init(url: String, format: String? = nil, options: [MediaOption] = []) {
    self.url = url
    self.format = format
    self.options = options
  }
}

/// Owns one demuxer (`AVFormatContext`): a file, a URL, a device or a pipe. Closed with `avformat_close_input`. Used by one
/// thread at a time; only `Interruption` may be used from another meanwhile.
@safe package struct MediaInput: ~Copyable {
  package let name: InputName
  /// Names of the demuxer, comma separated (`mov,mp4,m4a,3gp,3g2,mj2`).
  package let formatName: String
  package let streams: [StreamInfo]
  /// Best video and best audio stream (`av_find_best_stream`; the audio that belongs to the video is preferred). Cover art
  /// is no video.
  package private(set) var bestVideo: StreamInfo?
  package let bestAudio: StreamInfo?
  /// True where time does not wait for the reader: devices and real-time protocols. Frames not taken in time are lost.
  package let isLive: Bool
  /// Duration of the whole input in microseconds; nil when unknown.
  package let duration: Int64?
  /// First time in the input in microseconds; nil when unknown.
  package let startTime: Int64?
  /// It can be read from any place: a file, not a pipe.
  package var isSeekable: Bool { unsafe raw.pointee.pb?.pointee.seekable ?? 0 != 0 }
  /// Wall-clock time of time zero in microseconds since 1970 where a live input tells it (RTCP, device clocks); else nil.
  package var startWallClock: Int64? {
    let value = unsafe optionalTime(raw.pointee.start_time_realtime)
    return value == 0 || value == Int64.min + 1 ? nil : value
  }

  private let raw: UnsafeMutablePointer<AVFormatContext>
  let interruption: Interruption
  private let readTimeout: Duration?
  /// Payloads lie in buffers that the device wants back, and that are gone when it is closed (V4L2's streaming I/O).
  private let lendsPayloads: Bool
  private let isDevice: Bool
  private let port: InputPort?
  /// Packets that were read to learn from them, in order.
  var ahead: [ReadAhead] = []
  /// The first times are guesses.
  var settles: Bool
  var deviceClock = DeviceClock()
  /// What was read to find out what there is began to come then.
  let opened: ContinuousClock.Instant
  /// Microseconds by which the wall clock was set since a device is read, and which its times do not show.
  package var wallClockShift: Int64 { deviceClock.shift }

  final class ReadAhead {
    var packet: Packet
    init(_ packet: consuming Packet) { self.packet = packet }
  }

  /// Opens and probes. Errors: `AVError.kind` tells absent, forbidden, damaged, empty, unsupported and unreachable apart.
  ///
  /// - Parameter source: read in place of `request.url`, which then only names it; no format is guessed from the name.
  package init(_ request: InputRequest, source: (any ByteSource)? = nil, interruption: Interruption) throws(AVError) {
    _ = MediaLibrary.devices
    let name = InputName(url: request.url)
    let port: InputPort?
    if let source {
      port = try InputPort(source)
    } else if request.url == "-" {
      port = try InputPort(DescriptorSource(descriptor: request.standardInput, interruption: interruption))
    } else {
      port = nil
    }
    interruption.arm(request.openTimeout)
    _ = MediaLog.takeComplaint()
    var opened = ContinuousClock.now
    let raw = try unsafe MediaInput.open(request, name, interruption, port, &opened)
    let streams: [StreamInfo]
    do throws(AVError) {
      streams = try unsafe MediaInput.streams(of: raw, name)
    } catch {
      unsafe MediaInput.close(raw)
      throw error
    }
    self.streams = streams
    self.opened = opened
    bestVideo = unsafe MediaInput.best(.video, relatedTo: -1, in: raw, streams)
    bestAudio = unsafe MediaInput.best(.audio, relatedTo: bestVideo?.index ?? -1, in: raw, streams)
    unsafe self.raw = raw
    self.name = name
    self.interruption = interruption
    self.port = port
    readTimeout = request.readTimeout
    formatName = unsafe MediaInput.name(of: raw)
    isLive = unsafe LiveInput.isLive(raw, request)
    settles = formatName == "pulse"
    lendsPayloads = formatName.hasSuffix("v4l2")
    isDevice = unsafe LiveInput.isDevice(raw.pointee.iformat)
    let duration = unsafe optionalTime(raw.pointee.duration)
    self.duration = duration.flatMap { $0 > 0 ? $0 : nil }
    startTime = unsafe optionalTime(raw.pointee.start_time)
    interruption.arm(nil)
    // Most of what was read to find out is free by now, and the allocator would keep it: some MB for the whole recording.
    malloc_trim(0)
    if formatName.hasPrefix("matroska") { measureRate() }
  }

  /// Matroska's header tells how long pictures last, whatever the times of its blocks are.
  private mutating func measureRate() {
    guard let video = bestVideo else { return }
    var times: [Int64] = []
    do throws(AVError) {
      while times.count < 12, ahead.count < 500 {
        let next = ReadAhead(try Packet())
        guard try readNext(into: &next.packet) else { break }
        if next.packet.streamIndex == video.index, let time = next.packet.pts { times.append(time) }
        ahead.append(next)
      }
    } catch {
      // Whoever reads on will see it again.
    }
    bestVideo?.measure(times)
  }

  deinit { unsafe MediaInput.close(raw) }

  /// Has libav skip packets of all other streams that begin with the input, which saves parsing them where the container allows.
  package mutating func select(_ indices: Set<Int>) {
    for index in unsafe 0..<Int(raw.pointee.nb_streams) {
      let isWanted = indices.contains(index) || index < streams.count && streams[index].isLate
      unsafe raw.pointee.streams[index]?.pointee.discard = isWanted ? AVDISCARD_DEFAULT : AVDISCARD_ALL
    }
  }

  /// A stream that does not begin with the input; nil for one that does. Often no more is known of it than its codec.
  package func newcomer(_ index: Int) throws(AVError) -> StreamInfo? {
    guard index >= streams.count || streams[index].isLate, unsafe index < Int(raw.pointee.nb_streams),
      let stream = unsafe raw.pointee.streams[index]
    else { return nil }
    return try unsafe StreamInfo(stream, of: raw)
  }

  /// Fills `packet` with the next one, in the order of the input, its times in the time base of its stream.
  ///
  /// - Returns: false at the end of the input.
  package mutating func read(into packet: inout Packet) throws(AVError) -> Bool {
    if settles { try settle() }
    guard !ahead.isEmpty else { return try readNext(into: &packet) }
    packet.take(from: &ahead.removeFirst().packet)
    return true
  }

  mutating func readNext(into packet: inout Packet) throws(AVError) -> Bool {
    while true {
      // Else the frame that a parser had kept, and gives away now, would begin the wait anew.
      if readTimeout != nil, !interruption.hasCutShort { interruption.arm(readTimeout) }
      let result = unsafe av_read_frame(raw, packet.raw)
      if result >= 0 {
        let index = packet.streamIndex
        guard index >= 0, unsafe index < Int(raw.pointee.nb_streams) else { continue }
        if let stream = unsafe raw.pointee.streams[index] {
          packet.timeBase = unsafe RationalTime(stream.pointee.time_base)
        }
        if lendsPayloads { try packet.copyPayload() }
        if isDevice { unshift(&packet) }
        return true
      }
      if interruption.isStopped { throw AVError(.read(input: name.description), code: segrec_AVERROR_EXIT) }
      if result == segrec_AVERROR_EOF {
        // Demuxers report an I/O error of their source as its end; the I/O context remembers.
        let cause = unsafe raw.pointee.pb?.pointee.error ?? 0
        guard cause < 0, cause != segrec_AVERROR_EOF else { return false }
        throw DeviceAdvice.error(.read(input: name.description), readFailure(cause))
      }
      // A device without a frame yet.
      if result == segrec_AVERROR_EAGAIN && interruption.cause == nil {
        av_usleep(1_000)
        continue
      }
      throw DeviceAdvice.error(.read(input: name.description), readFailure(result))
    }
  }

  /// An I/O context remembers that it was interrupted, also after the deadline has been set anew.
  private func readFailure(_ code: Int32) -> Int32 {
    interruption.cause ?? (code == segrec_AVERROR_EXIT ? -ETIMEDOUT : code)
  }

  private static func open(
    _ request: InputRequest, _ name: InputName, _ interruption: Interruption, _ port: InputPort?,
    _ time: inout ContinuousClock.Instant
  ) throws(AVError) -> UnsafeMutablePointer<AVFormatContext> {
    let operation = AVError.Operation.open(input: name.description)
    var format: UnsafePointer<AVInputFormat>?
    if let wanted = request.format {
      unsafe format = av_find_input_format(wanted)
      guard unsafe format != nil else {
        throw AVError(operation, code: segrec_AVERROR_DEMUXER_NOT_FOUND, detail: "unknown input format \(wanted)")
      }
    }
    guard let fresh = unsafe avformat_alloc_context() else {
      throw AVError(.allocate("an input"), code: -ENOMEM)
    }
    unsafe fresh.pointee.interrupt_callback = interruption.callback
    if let port { unsafe fresh.pointee.pb = port.context }
    var context: UnsafeMutablePointer<AVFormatContext>? = unsafe fresh
    var options = try OptionList(request.options, adding: defaults(for: request))
    // Frees the context on failure, but not an I/O context of ours.
    let opened = unsafe avformat_open_input(&context, port == nil ? request.url : nil, format, &options.raw)
    time = .now
    guard opened >= 0, let context = unsafe context else {
      throw DeviceAdvice.error(operation, interruption.cause ?? opened, format: request.format)
    }
    if let leftover = options.leftover {
      unsafe close(context)
      throw AVError(.option(name: leftover, subject: name.description), code: segrec_AVERROR_OPTION_NOT_FOUND)
    }
    if request.isCopied, unsafe needsNoParsing(context) {
      unsafe context.pointee.flags |= AVFMT_FLAG_NOPARSE | AVFMT_FLAG_NOFILLIN
      if unsafe tellsAll(context) {
        unsafe nameLayouts(context)
        return unsafe context
      }
    }
    // What can be opened again may be looked at quickly first.
    let isQuick = request.isCopied && port == nil
    let probed = unsafe probe(context, isQuick: isQuick)
    guard probed >= 0, interruption.cause == nil else {
      unsafe close(context)
      throw DeviceAdvice.error(operation, interruption.cause ?? probed, format: request.format)
    }
    if isQuick, unsafe streams(in: context).contains(where: { unsafe isUntold($0, in: context) }) {
      unsafe close(context)
      var patient = request
      patient.isCopied = false
      return try unsafe open(patient, name, interruption, port, &time)
    }
    return unsafe context
  }

  /// An I/O context of ours stays (`AVFMT_FLAG_CUSTOM_IO`, which libav sets by itself); its port frees it.
  private static func close(_ raw: UnsafeMutablePointer<AVFormatContext>) {
    var raw: UnsafeMutablePointer<AVFormatContext>? = unsafe raw
    unsafe avformat_close_input(&raw)
  }

  /// All streams; throws where none is a film or sound.
  private static func streams(of raw: UnsafeMutablePointer<AVFormatContext>, _ name: InputName) throws(AVError)
    -> [StreamInfo]
  {
    var streams: [StreamInfo] = []
    for index in unsafe 0..<Int(raw.pointee.nb_streams) {
      guard let stream = unsafe raw.pointee.streams[index] else { continue }
      streams.append(try unsafe StreamInfo(stream, of: raw))
    }
    guard streams.contains(where: { $0.kind != .other && !$0.isAttachedPicture }) else {
      throw AVError(.open(input: name.description), code: segrec_AVERROR_STREAM_NOT_FOUND)
    }
    return streams
  }

  private static func best(
    _ kind: MediaKind, relatedTo related: Int, in raw: UnsafeMutablePointer<AVFormatContext>, _ streams: [StreamInfo]
  ) -> StreamInfo? {
    let index = unsafe av_find_best_stream(raw, kind.raw, -1, Int32(related), nil, 0)
    return streams.first { $0.index == Int(index) && !$0.isAttachedPicture }
  }
}

// Sendable: one owner; libav's demuxers have no thread affinity.
extension MediaInput: @unchecked Sendable {}
