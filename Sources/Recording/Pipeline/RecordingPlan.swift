import HLS
import LibAV
import Platform
import Synchronization

/// The inputs, opened, and what is to become of their streams: decided before anything is written.
struct RecordingPlan {
  private(set) var readers: [Reader] = []
  private(set) var encoder: PictureEncoder?
  /// What the picture is encoded in: the first is `main`, each other one a rendition of its own. Empty: it is not.
  private var rungs: [Rung] = []
  /// Of the programme, in each of its renditions.
  private var trackCount = 0
  private(set) var microphone: Microphone?
  /// The microphone is a rendition of its own.
  private var hasMicrophoneRendition = false
  private(set) var tap: SpeechTap?

  init(_ session: Session) throws(RecordingError) {
    let configuration = session.configuration
    let mark = configuration.watermark.imagePath
    do throws(SystemError) {
      if let mark { _ = try FileDescriptor.open(forReading: mark) }
    } catch {
      throw RecordingError(.noInput, "--watermark: \(error)")
    }
    if let path = configuration.pcmTap { tap = try SpeechTap(path: path, log: session.log) }
    let isMixed = configuration.microphoneMode == .mix
    for (index, wanted) in configuration.inputs.enumerated() {
      let request = RecordingPlan.request(wanted, configuration)
      let input = try media { () throws(AVError) in
        try MediaInput(request, interruption: session.interruptions[index])
      }
      if index == 0, let wanted = configuration.microphone {
        microphone = try Microphone(
          RecordingPlan.request(wanted, configuration),
          interruption: session.interruptions[configuration.inputs.count], session: session)
      }
      RecordingPlan.tellRest(of: input, session.log)
      let isLast = index + 1 == configuration.inputs.count
      var sources: [Reader.Source] = []
      if index == 0, configuration.video != .none, let stream = input.bestVideo {
        sources.append(try picture(stream, input, session))
      }
      if isLast, configuration.audio != .none, let stream = input.bestAudio {
        sources.append(try sound(stream, session))
      }
      guard !sources.isEmpty else {
        let what = index == 1 ? "no sound" : configuration.video == .none ? "no sound" : "no picture"
        throw RecordingError(.badInput, "\(input.name) has \(what) to record")
      }
      var follower: MicrophoneTrack?
      if index == 0, let microphone, !isMixed || isLast && !sources.contains(where: { $0.stream.kind == .audio }) {
        follower = try beside(microphone, isMixed: isMixed, session)
      }
      readers.append(
        Reader(index, input: input, request: request, sources: sources, session: session, microphone: follower))
    }
  }

  /// The microphone as a track of its own: a rendition, or the programme's only sound.
  private mutating func beside(_ microphone: Microphone, isMixed: Bool, _ session: Session) throws(RecordingError)
    -> MicrophoneTrack
  {
    let track: SoundTrack
    if isMixed {
      track = try SoundTrack(track: trackCount, session: session, tap: tap)
      trackCount += 1
    } else {
      hasMicrophoneRendition = true
      track = try SoundTrack(track: 0, session: session, to: .microphone)
    }
    return MicrophoneTrack(session: session, microphone: microphone, track: track)
  }

  /// Says which streams of an input nobody looks at. One that begins late may take the place of another.
  private static func tellRest(of input: borrowing MediaInput, _ log: Log) {
    let used = [input.bestVideo?.index, input.bestAudio?.index]
    var parts: [String] = []
    var hint = ""
    for stream in input.streams where !used.contains(stream.index) && !stream.isLate {
      parts.append("stream \(stream.index) (\(stream.kind == .audio ? "sound, " : "")\(stream.codec))")
      if stream.kind == .audio, hint.isEmpty {
        hint =
          "; as a second sound track: --input-format lavfi --mic amovie=FILE:si=\(stream.index) --mic-mode separate"
      }
    }
    guard !parts.isEmpty else { return }
    log.info(
      "source", "\(input.name): not recorded: \(parts.joined(separator: ", "))\(hint)",
      ["input": .text(input.name.description)])
  }

  private static func request(_ wanted: RecordingConfiguration.Input, _ configuration: RecordingConfiguration)
    -> InputRequest
  {
    var request = InputRequest(url: wanted.url, format: wanted.format, options: wanted.options)
    // A screen is asked for as many pictures as are recorded: of 30 a second 25 cannot be chosen evenly.
    if let format = wanted.format, ["x11grab", "kmsgrab"].contains(format),
      !wanted.options.contains(where: { $0.name == "framerate" })
    {
      let rate = configuration.maximumFrameRate ?? screenRate
      request.options.append(MediaOption("framerate", "\(rate.numerator)/\(rate.denominator)"))
    }
    request.standardInput = configuration.standardInput
    request.isCopied = configuration.video == .copy || configuration.video == .auto
    request.readTimeout = configuration.inputTimeout
    request.comesBack = configuration.reconnects
    // Who wants to know soon that nothing comes wants it while the input is being opened as well.
    if let timeout = configuration.inputTimeout, timeout < .seconds(10) {
      request.openTimeout = max(timeout, .seconds(2))
    }
    return request
  }

  private mutating func picture(
    _ stream: StreamInfo, _ input: borrowing MediaInput, _ session: Session
  ) throws(RecordingError) -> Reader.Source {
    let track = trackCount
    trackCount += 1
    let configuration = session.configuration
    var codec = RecordingConfiguration.VideoCodec.h264
    if case .encode(let wanted) = configuration.video {
      codec = wanted
    } else {
      let isForced = configuration.video == .copy
      let turning = CopyableCodecs.turning(of: stream)
      let refusal =
        CopyableCodecs.refusal(of: stream) ?? (isForced ? nil : turning)
        ?? (configuration.changesPictures ? "the picture is to be changed" : nil)
      if let turning, isForced { session.log.warning("source", "\(turning); --video h264 turns it") }
      guard let refusal else {
        return try Reader.Source(stream: stream, chain: CopyChain(track: track, stream: stream, session: session))
      }
      if isForced { throw RecordingError(.badInput, "--video copy: \(refusal)") }
      session.log.info("source", "\(refusal): it is encoded as h264")
    }
    let name = RecordingPlan.encoder(configuration, codec, session.log)
    guard let format = VideoEncoder.inputFormat(of: name) else {
      throw RecordingError(.usage, "--encoder \(name) takes no 8-bit 4:2:0 pictures")
    }
    try chooseRungs(stream, session)
    let plan = PictureEncoder.Plan(
      track: track, encoder: name, frameRate: stream.peakFrameRate,
      cap: RecordingPlan.cap(configuration.maximumFrameRate, stream, input), isLive: input.isLive,
      mostFrames: input.isLive ? PictureEncoder.mostFrames(width: stream.width, height: stream.height) : 3,
      rungs: rungs)
    let encoder = try PictureEncoder(plan, session: session)
    self.encoder = encoder
    let chain = try PictureChain(
      stream: stream, session: session, encoder: encoder, isLive: input.isLive, outputFormat: format,
      side: rungs[0].side)
    return try Reader.Source(stream: stream, chain: chain)
  }

  private mutating func chooseRungs(_ stream: StreamInfo, _ session: Session) throws(RecordingError) {
    let configuration = session.configuration
    let shown = PictureFilter(
      width: stream.width, height: stream.height, sampleAspect: stream.sampleAspect, rotation: stream.rotation,
      isInterlaced: false, format: .yuv420p, color: .unspecified, outputFormat: .yuv420p
    ).outputSize(configuration.size)
    if stream.width > 0 { try RecordingPlan.check(configuration, shown) }
    guard !configuration.ladder.isEmpty else {
      rungs = [Rung(side: .max, bitRate: configuration.videoBitRate)]
      return
    }
    // Where the container does not tell, what is asked for is taken.
    let side = stream.width > 0 ? min(shown.width, shown.height) : .max
    let fitting = Rung.fitting(configuration.ladder, side: side)
    rungs = fitting.rungs
    rungs[0].bitRate = rungs[0].bitRate ?? configuration.videoBitRate
    session.rungCount.store(rungs.count, ordering: .relaxed)
    if !fitting.leftOut.isEmpty {
      let names = { (rungs: [Rung]) in rungs.map { "\($0.side)p" }.joined(separator: ", ") }
      session.log.warning(
        "ladder",
        "--ladder: the picture is \(shown.width)x\(shown.height), so \(names(fitting.leftOut)) is left out; recording \(names(rungs))",
        ["width": .init(shown.width), "height": .init(shown.height), "rungs": .init(rungs.count)])
    }
  }

  /// What was asked for has to go with the picture.
  private static func check(
    _ configuration: RecordingConfiguration, _ size: (width: Int, height: Int)
  ) throws(RecordingError) {
    let shown = "\(size.width)x\(size.height)"
    if configuration.size != nil, max(size.width, size.height) > RecordingConfiguration.longestSide {
      throw RecordingError(
        .usage, "--size makes this picture \(shown); at most \(RecordingConfiguration.longestSide) on each side")
    }
    let margin = configuration.watermark.margin
    if !configuration.watermark.isEmpty, margin >= min(size.width, size.height) {
      throw RecordingError(.usage, "--watermark: a margin of \(margin) pixels leaves nothing of a picture of \(shown)")
    }
  }

  /// The renditions that are to be written, that of the whole programme first: names, what they consist of, and tracks.
  func renditions(_ session: Session) -> [(name: RenditionName, items: HandoffQueue<TrackItem>, tracks: Int)] {
    var renditions = [(name: session.configuration.rendition, items: session.outputs[0], tracks: trackCount)]
    for (index, rung) in rungs.enumerated().dropFirst() {
      renditions.append((rung.rendition, session.outputs[index], trackCount))
    }
    if hasMicrophoneRendition, let items = session.outputs.last { renditions.append((.mic, items, 1)) }
    return renditions
  }

  /// The encoder that was asked for, or the software encoder where that one is for hardware that is not there.
  private static func encoder(
    _ configuration: RecordingConfiguration, _ codec: RecordingConfiguration.VideoCodec, _ log: Log
  ) -> String {
    let software = codec.softwareEncoder
    guard let named = configuration.encoder, named != software else { return software }
    guard ["_vaapi", "_nvenc", "_qsv", "_v4l2m2m", "_amf", "_omx"].contains(where: { named.hasSuffix($0) }) else {
      return named
    }
    do throws(AVError) {
      var settings = VideoEncoderSettings.usual(
        encoder: named, width: 640, height: 360, frameRate: RationalTime(25, 1), segmentTicks: 450_000)
      settings.pixelFormat = VideoEncoder.inputFormat(of: named) ?? .nv12
      _ = try VideoEncoder(settings)
      return named
    } catch {
      log.warning(
        "encoder", "\(error); encoding with \(software) instead",
        ["encoder": .text(software), "wanted": .text(named)])
      return software
    }
  }

  private mutating func sound(_ stream: StreamInfo, _ session: Session) throws(RecordingError)
    -> Reader.Source
  {
    let track = trackCount
    trackCount += 1
    let configuration = session.configuration
    let mixed = configuration.microphoneMode == .mix ? microphone : nil
    if configuration.audio != .aac {
      guard
        let refusal = CopyableCodecs.refusal(of: stream)
          ?? (mixed != nil || tap != nil ? "the sound is to be mixed or listened to" : nil)
      else {
        return try Reader.Source(stream: stream, chain: CopyChain(track: track, stream: stream, session: session))
      }
      if configuration.audio == .copy { throw RecordingError(.badInput, "--audio copy: \(refusal)") }
      session.log.info("source", "\(refusal): it is encoded as aac")
    }
    let made = try SoundTrack(track: track, session: session, microphone: mixed, tap: tap)
    return try Reader.Source(stream: stream, chain: SoundChain(stream: stream, session: session, track: made))
  }

  /// The steady rate of frames: live sources get one always, files where the limit is below their own rate.
  private static func cap(_ maximum: RationalTime?, _ stream: StreamInfo, _ input: borrowing MediaInput)
    -> RationalTime?
  {
    let own = stream.peakFrameRate
    if let maximum {
      return input.isLive || own.value > maximum.value ? (own.value < maximum.value ? own : maximum) : nil
    }
    guard input.isLive else { return nil }
    let isScreen = ["x11grab", "kmsgrab", "gdigrab", "avfoundation"].contains { input.formatName.hasPrefix($0) }
    return isScreen && own.value > screenRate.value ? screenRate : own
  }

  /// Frames per second of a screen where nobody says otherwise.
  private static let screenRate = RationalTime(25, 1)
}
