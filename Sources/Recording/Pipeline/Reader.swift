import HLS
import LibAV
import Platform
import Synchronization

/// The thread that reads one input: packets are placed on the timeline and given to the chains of their tracks.
// Sendable: made by one thread and then used by the one that it is handed to, only.
final class Reader: @unchecked Sendable {
  private let session: Session
  private let request: InputRequest
  private let interruption: Interruption
  private var input: MediaInput?
  private let name: InputName
  private let isLive: Bool
  private let hasNoDecodeTimes: Bool
  private let joinsClocks: Bool
  private let isProgramStream: Bool
  /// There is no other input, so a jump of the clock begins a run.
  private let isAlone: Bool
  /// Which of the recording's inputs it is.
  private let index: Int
  /// Follows what is read here.
  private let microphone: MicrophoneTrack?
  private let sources: [Source]
  private var timeline: Timeline
  /// Runs before those that the timeline counts.
  private var runBase = 0
  /// Where the run that is being read has to end, in ticks.
  private var limit: Int64?
  /// Media of the runs before, in ticks.
  private var consumed: Int64 = 0
  /// By how much the run's origin lies before this input's, in ticks: another input began earlier.
  private var shift: Int64 = 0
  private var startedRun: Int?
  private var pacedFrom: ContinuousClock.Instant?
  private var clock = ClockWatch()
  private var newcomers = Newcomers()
  private(set) var hasReachedLimit = false
  /// Reads the sound, where it is stored far from its picture.
  private var aside: SoundAside?
  /// The sound can be read by a demuxer of its own.
  private var canSplit: Bool
  /// The track of the packets read last, and their bytes.
  private var alone = (track: 0, bytes: 0)
  private var hasToldLate = false

  /// - Parameters:
  ///   - request: by which the input was opened, and will be again when it fails.
  ///   - sources: tracks of the input that are recorded, at least one.
  ///   - microphone: to be kept in step with the first of them.
  init(
    _ index: Int, input: consuming MediaInput, request: InputRequest, sources: [Source], session: Session,
    microphone: MicrophoneTrack?
  ) {
    let isAlone = session.configuration.inputs.count == 1
    self.index = index
    self.session = session
    self.microphone = microphone
    interruption = session.interruptions[index]
    self.request = request
    self.sources = sources
    self.isAlone = isAlone
    name = input.name
    isLive = input.isLive
    isProgramStream = input.formatName == "mpeg"
    hasNoDecodeTimes = input.formatName.hasPrefix("matroska")
    joinsClocks = input.joinsClocks
    // Streams whose clock may change have no order but that in which they are stored.
    canSplit = sources.count == 2 && input.isSeekable && !isLive && !joinsClocks
    if input.isLive { session.meter.add { $0.isLive = true } }
    timeline = Reader.timeline(sources, isLive: isLive, joinsClocks: joinsClocks, isAlone: isAlone)
    input.select(Set(sources.map(\.stream.index)))
    self.input = consume input
  }

  private static func timeline(_ sources: [Source], isLive: Bool, joinsClocks: Bool, isAlone: Bool) -> Timeline {
    var policy = isLive || joinsClocks ? Timeline.Policy.streamed : .stored
    policy.jumpsBeginRuns = isAlone
    // What is stored can be waited for.
    if !isLive { policy.keyPatience = .seconds(120) }
    return Timeline(tracks: sources.map { $0.timelineTrack }, policy: policy)
  }

  /// Reads until the input or the recording ends. All chains are finished then, whatever happens.
  func work() {
    do throws(RecordingError) {
      try readAndReopen()
    } catch {
      session.fail(error)
    }
    input = nil
    session.endLag()
    session.noteEnded(input: index)
    do throws(RecordingError) {
      try accompany()
    } catch {
      session.fail(error)
    }
    if !isAlone { session.keepStep(input: index, at: nil) }
    do throws(RecordingError) {
      try microphone?.finish(endingAt: startedRun.map { session.end(of: $0) } ?? 0)
    } catch {
      session.fail(error)
    }
    // Sound first: what it adds at its end is to be covered by the picture.
    for source in sources.sorted(by: { $0.stream.kind == .audio && $1.stream.kind != .audio }) {
      do throws(RecordingError) {
        try source.chain.finish()
      } catch {
        session.fail(error)
      }
    }
  }

  private func readAndReopen() throws(RecordingError) {
    var backoff = Backoff()
    while true {
      let began = ContinuousClock.now
      var failure: RecordingError?
      do throws(RecordingError) {
        try read()
      } catch {
        failure = error
      }
      do throws(RecordingError) {
        try leaveRun()
      } catch {
        failure = failure ?? error
      }
      guard isLive, session.configuration.reconnects, !session.isStopping, !hasReachedLimit,
        failure?.isPassing ?? true
      else {
        if let failure { throw failure }
        return
      }
      session.log.warning(
        "source", "\(failure?.message ?? "\(name) has ended"); opening it again",
        ["input": .text(name.description)])
      input = nil
      for source in sources { try source.chain.endRun() }
      guard try reopen(&backoff, lasted: ContinuousClock.now - began) else { return }
    }
  }

  /// Passes on what waits for more of the run, which is over.
  private func leaveRun() throws(RecordingError) {
    defer {
      session.meter.add { $0.repaired += Int64(timeline.repairs) }
      if let run = startedRun {
        for source in sources { session.noteEnd(min(source.end, limit ?? .max), of: run) }
      }
    }
    for track in sources.indices {
      sources[track].clock?.finish()
      try passOnClocked(track)
    }
    try handle(timeline.finish())
  }

  private func beginTimeline() {
    runBase += timeline.run + 1
    session.beginRun(runBase)
    timeline = Reader.timeline(sources, isLive: isLive, joinsClocks: joinsClocks, isAlone: isAlone)
  }

  /// A packet of a stream that is not recorded. It may be one that takes the place of one that is.
  private func meet(_ packet: inout Packet) throws(RecordingError) {
    let index = packet.streamIndex
    guard let stream = try media({ () throws(AVError) in try input?.newcomer(index) }),
      sources.contains(where: { $0.stream.kind == stream.kind })
    else { return packet.clear() }
    guard try newcomers.keep(&packet, of: stream) else { return }
    session.log.warning(
      "source", "\(name) goes on in other tracks, \(stream.kind) as \(stream.codec); a new run begins",
      ["input": .text(name.description)])
    try leaveRun()
    for source in sources { try source.chain.endRun() }
    for source in sources { try source.reopen(newcomers.stream(source.stream.kind) ?? source.stream) }
    input?.select(Set(sources.map(\.stream.index)))
    beginTimeline()
    for kept in newcomers.take() {
      if let track = sources.firstIndex(where: { $0.stream.index == kept.packet.streamIndex }) {
        try take(&kept.packet, track)
      }
    }
  }

  /// Opens the input anew, with waits in between; false when the recording is to end.
  private func reopen(_ backoff: inout Backoff, lasted: Duration) throws(RecordingError) -> Bool {
    var lasted = lasted
    while true {
      session.pause(backoff.wait(afterLasting: lasted, jitter: Double.random(in: 0..<1)))
      lasted = .zero
      guard !session.isStopping else { return false }
      do throws(AVError) {
        var fresh = try MediaInput(request, interruption: interruption)
        guard sources.allSatisfy({ fresh.best($0.stream.kind) != nil }) else { continue }
        for source in sources {
          if let stream = fresh.best(source.stream.kind) {
            do throws(RecordingError) {
              try source.reopen(stream)
            } catch {
              throw AVError(.open(input: name.description), code: -22, detail: error.message)
            }
          }
        }
        fresh.select(Set(sources.map(\.stream.index)))
        beginTimeline()
        input = consume fresh
        session.log.info("source", "\(name) is back", ["input": .text(name.description)])
        return true
      } catch {
        if error.kind == .stopped { return false }
      }
    }
  }

  private func read() throws(RecordingError) {
    var packet = try media { () throws(AVError) in try Packet() }
    while !session.isStopping && !hasReachedLimit {
      do throws(AVError) {
        guard try readNext(into: &packet) else { return }
      } catch {
        if error.kind == .stopped { return }
        throw RecordingError(error)
      }
      let index = packet.streamIndex
      guard let track = sources.firstIndex(where: { $0.stream.index == index }), !packet.isEmpty else {
        try meet(&packet)
        continue
      }
      newcomers.forget(sources[track].stream.kind)
      sources[track].count += 1
      alone = track == alone.track ? (track, alone.bytes + packet.byteCount) : (track, 0)
      // What waits for the other track is kept in memory.
      if alone.bytes > 3_000_000 { _ = split() }
      try take(&packet, track)
    }
  }

  private func take(_ packet: inout Packet, _ track: Int) throws(RecordingError) {
    if try sources[track].needsClock(packet, lacksSome: isProgramStream) {
      try sources[track].clock?.take(&packet, lengthSize: (sources[track].chain as? CopyChain)?.lengthSize)
      try passOnClocked(track)
    } else {
      try prepare(&packet, track)
    }
  }

  private func readNext(into packet: inout Packet) throws(AVError) -> Bool {
    if let aside { return try aside.read(into: &packet, beside: &input) }
    return try input?.read(into: &packet) ?? false
  }

  /// Has the sound read by a demuxer of its own from now on; false where it is, or cannot be.
  private func split() -> Bool {
    guard canSplit, let sound = sources.first(where: { $0.stream.kind == .audio }) else { return false }
    canSplit = false
    do throws(AVError) {
      aside = try SoundAside(request, interruption: interruption, stream: sound.stream.index, after: sound.count)
      input?.select(Set(sources.filter { $0 !== sound }.map(\.stream.index)))
      return true
    } catch {
      return false
    }
  }

  // MARK: Before the timeline

  private func passOnClocked(_ track: Int) throws(RecordingError) {
    guard let clock = sources[track].clock else { return }
    var packet = try media { () throws(AVError) in try Packet() }
    while clock.next(into: &packet) { try prepare(&packet, track) }
  }

  private func prepare(_ packet: inout Packet, _ track: Int) throws(RecordingError) {
    let source = sources[track]
    let hasChanged = try source.changesForm(packet)
    guard source.filter != nil else {
      if hasChanged { return try place(&packet, track, changedTo: measure(source.parameters, packet)) }
      if source.chain is CopyChain, let extradata = packet.newExtradata, extradata != source.parameters.extradata {
        return try place(
          &packet, track,
          changedTo: media { () throws(AVError) in try source.parameters.replacing(extradata: extradata) })
      }
      return try place(&packet, track)
    }
    do throws(AVError) {
      try source.filter?.send(&packet)
    } catch {
      return try noteDamage(error)
    }
    while true {
      do throws(AVError) {
        guard try source.filter?.receive(into: &packet) == .produced else { return }
      } catch {
        return try noteDamage(error)
      }
      let parameters = source.filter?.parameters ?? source.parameters
      try place(&packet, track, changedTo: parameters === source.told ? nil : parameters)
    }
  }

  /// A packet that cannot be used is counted; those that follow may be whole.
  private func noteDamage(_ error: AVError) throws(RecordingError) {
    guard error.kind == .invalidData else { throw RecordingError(error) }
    session.meter.add { $0.damaged += 1 }
    warn()
  }

  /// Damage rarely keeps to one track.
  private func warn() { for source in sources { (source.chain as? CopyChain)?.warn() } }

  /// - Parameter changed: what the packets are from this one on, when they were something else before.
  private func place(_ packet: inout Packet, _ track: Int, changedTo changed: CodecParameters? = nil)
    throws(RecordingError)
  {
    let source = sources[track]
    if packet.isCorrupt { warn() }
    var parameters: CodecParameters?
    let isKnown = source.parameters.isMeasured
    if let changed = changed ?? (isKnown || !(source.chain is CopyChain) ? nil : source.parameters) {
      parameters = isKnown && changed.extradata == source.parameters.extradata ? changed : measure(changed, packet)
      if let parameters {
        source.told = changed
        source.parameters = parameters
      }
    }
    let stream = source.stream
    var times = SourceTimes(pts: packet.pts, dts: packet.dts, duration: packet.duration, isKey: isStart(packet, source))
    if stream.kind == .video {
      // AVI tells the duration of a field; Matroska tells no decode times, and libav's guesses leap where pictures are rare.
      if times.pts == nil || stream.tellsWrongDurations { times.duration = 0 }
      if times.pts != nil, hasNoDecodeTimes { times.dts = nil }
      if times.dts == nil, !source.hasPackets { timeline.deepen(track, to: source.reorderDepth(packet)) }
    }
    if let skipped = packet.skippedSamples, stream.sampleRate > 0 {
      times.skipped = RationalTime(1, Int32(stream.sampleRate)).convert(Int64(skipped.front), to: stream.timeBase)
    }
    if isLive {
      times.arrival = ContinuousClock.now - session.started
      // Of what is copied no decoder tells that it has become something else.
      if source.groups.haveEnded, source.chain is CopyChain {
        throw RecordingError(
          .unavailable, "\(source.groups.missing) pictures have come as \(stream.codec) without a key frame")
      }
    }
    let beginsRun = parameters != nil && source.hasPackets || times.isKey && mustBeginRun(source)
    source.hasPackets = true
    let answers = beginsRun ? timeline.placeInNextRun(times, track: track) : timeline.place(times, track: track)
    // Nearly always the answer is about this packet and no other.
    if parameters == nil, source.waiting.isEmpty, answers.count == 1, answers[0].track == track {
      try settle(&packet, answers[0])
      packet.clear()
      return lookAtLimit()
    }
    var taken = try media { () throws(AVError) in try Packet() }
    taken.take(from: &packet)
    let waiting = Waiting(taken)
    waiting.parameters = parameters
    source.waiting.append(waiting)
    try handle(answers)
  }

  /// Whether the next run has to begin although nothing is wrong with the track itself: another input was opened anew, or
  /// the wall clock was set.
  private func mustBeginRun(_ source: Source) -> Bool {
    guard timeline.isOpen else { return false }
    if session.lowestRun > runBase + timeline.run {
      runBase = session.lowestRun - timeline.run - 1
      return true
    }
    guard isLive, isAlone, source === sources[0] else { return false }
    let hasStepped = clock.hasStepped(wall: WallClock.now(), monotonic: ContinuousClock.now - session.started)
    if hasStepped { session.log.warning("clock", "the wall clock was set; a new run begins with the new time") }
    return hasStepped
  }

  /// Codec configuration that came with a packet, completed by the size or sample rate it means; nil when it makes no
  /// sense.
  private func measure(_ parameters: CodecParameters, _ packet: borrowing Packet) -> CodecParameters? {
    do throws(AVError) {
      var decoder = try Decoder(parameters: parameters, timeBase: packet.timeBase)
      var frame = try Frame()
      try decoder.send(packet)
      try decoder.drain()
      guard try decoder.receive(into: &frame) == .produced else { return nil }
      return try decoder.parameters()
    } catch {
      session.meter.add { $0.damaged += 1 }
      return nil
    }
  }

  /// Whether decoding can begin with the packet, as far as one can tell.
  private func isStart(_ packet: borrowing Packet, _ source: Source) -> Bool {
    guard source.stream.kind == .video else { return true }
    if let copy = source.chain as? CopyChain {
      let kind = copy.kind(of: packet)
      source.groups.note(isKey: kind == .start || kind == .openStart)
      switch kind {
      case .start: return true
      case .openStart:
        // Some streams have no better place to start at than this.
        source.openStarts += 1
        return source.stream.codec == .hevc || source.openStarts > 2
      case .skippedLeading, .other: return false
      }
    }
    source.groups.note(isKey: packet.isKey)
    // Key frames that come no more, or that nobody marks: the decoder may know.
    return packet.isKey || source.groups.isOverdue
  }

  // MARK: After the timeline

  private func handle(_ answers: [Timeline.Answer]) throws(RecordingError) {
    for answer in answers {
      let source = sources[answer.track]
      guard !source.waiting.isEmpty else { continue }
      let waiting = source.waiting.removeFirst()
      if let parameters = waiting.parameters { (source.chain as? CopyChain)?.setParameters(parameters) }
      try settle(&waiting.packet, answer)
    }
    lookAtLimit()
  }

  /// Passes a packet on to where the timeline has placed it.
  private func settle(_ packet: inout Packet, _ answer: Timeline.Answer) throws(RecordingError) {
    let source = sources[answer.track]
    guard case .placed(var times) = answer.placement else { return packet.clear() }
    times.run += runBase
    if times.run != startedRun { try start(times.run) }
    let timeBase = packet.timeBase
    if shift != 0 { times = times.moved(by: RationalTime.ticks.convert(shift, to: timeBase)) }
    // As the source has it: the timeline lets no picture be decoded long before it is shown, but it is read by then.
    let ahead = packet.pts.flatMap { pts in packet.dts.map { pts - $0 } } ?? 0
    source.decoded = timeBase.convert(min(times.dts, times.pts - ahead), to: .ticks)
    packet.pts = times.pts
    packet.dts = times.dts
    packet.duration = times.duration
    source.end = timeBase.convert(times.pts + times.duration, to: .ticks)
    if source.filled > 0, source.end < source.filled, !hasToldLate {
      hasToldLate = true
      session.log.warning(
        "source", "\(name): a track comes too late behind the other; silence, or the last picture, is in its place",
        ["input": .text(name.description)])
    }
    if session.configuration.isPaced { pace(timeBase.convert(times.dts, to: .ticks)) }
    try source.chain.take(&packet, times)
    try keepUp(with: answer.track)
  }

  private func lookAtLimit() {
    if let limit {
      hasReachedLimit = sources.allSatisfy { $0.end >= limit } || sources.contains { $0.end >= limit + 180_000 }
    }
  }

  private func start(_ run: Int) throws(RecordingError) {
    let read = sources.map(\.end).max() ?? 0
    // The last picture may have been shown for longer, while the source was away.
    let end = startedRun.map { max(read, session.end(of: $0)) } ?? 0
    if let startedRun { session.noteEnd(min(read, limit ?? .max), of: startedRun) }
    consumed += end
    startedRun = run
    limit = session.setConsumed(consumed, before: run)
    if isLive || run == 0 {
      let time = originTime()
      session.setStart(of: run, time)
      if isLive, !isAlone, let first = session.start(of: run) {
        shift = (time.milliseconds - first.milliseconds) * 90
      }
    }
    if timeline.leftOut > 100_000 {
      session.log.warning(
        "source",
        "\(name): \(Double(timeline.leftOut / 100_000) / 10) s of sound before the picture are left out",
        ["input": .text(name.description), "seconds": .number(Double(timeline.leftOut) / 1_000_000)])
    }
    for source in sources {
      source.end = 0
      source.filled = 0
      // Sound is there from the first tick, if need be as silence.
      try (source.chain as? SoundChain)?.begin(run)
    }
    try microphone?.begin(run, endingAt: end)
  }

  /// The wall-clock time that the run's origin stands for.
  private func originTime() -> WallClockTime {
    guard isLive, let origin = timeline.origin else { return WallClockTime(milliseconds: WallClock.now()) }
    return session.wallClock(ofSource: origin.time, origin.timeBase)
  }

  /// What others have to do with the time that a track has come to. Sound that stays away is filled in and a picture is
  /// shown on, so that segments have not to wait for them. A live picture looks after itself, by the clock.
  private func keepUp(with track: Int) throws(RecordingError) {
    if track == 0 {
      try microphone?.advance(to: min(sources[0].end, limit ?? .max))
      if !isAlone && !isLive { session.keepStep(input: index, at: consumed + sources[0].end) }
    }
    let lag = min(sources[track].decoded - (isLive ? 90_000 : 900_000), limit ?? .max)
    guard lag > 0 else { return }
    for source in sources where source !== sources[track] && source.end < lag {
      if split() { return }
      source.filled = lag
      if sources[track].stream.kind == .video {
        try (source.chain as? SoundChain)?.fill(to: lag)
        if let startedRun { try (source.chain as? CopyChain)?.fill(to: lag, of: startedRun) }
      }
      if let picture = source.chain as? PictureChain, !isLive, source.end < lag { try picture.fill(to: lag) }
    }
  }

  /// While another input goes on, the last picture of this one is shown on and its sound is silence, as if all were one.
  private func accompany() throws(RecordingError) {
    guard !isAlone, !isLive, startedRun != nil, !hasReachedLimit else { return }
    var shown = sources.map(\.end).max() ?? 0
    while let time = session.position(after: consumed + shown + 45_000, butOf: index) {
      let end = min(time - consumed, limit ?? .max)
      guard end > shown else { return }
      shown = end
      for source in sources {
        try (source.chain as? SoundChain)?.fill(to: end)
        try (source.chain as? PictureChain)?.fill(to: end, hasEnded: true)
      }
      session.noteAccompanied(input: index, to: consumed + end)
    }
  }

  private func pace(_ time: Int64) {
    let now = ContinuousClock.now
    let due = (pacedFrom ?? now) + .microseconds(RationalTime.ticks.convert(time, to: .microseconds))
    if pacedFrom == nil { pacedFrom = now }
    if due > now { session.pause(due - now) }
  }
}

extension MediaInput {
  func best(_ kind: MediaKind) -> StreamInfo? { kind == .video ? bestVideo : bestAudio }

  /// Formats whose clock may change from one packet to the next without notice.
  var joinsClocks: Bool {
    ["mpegts", "mpeg", "mpegtsraw", "flv", "live_flv", "hls"].contains {
      formatName.split(separator: ",").contains($0[...])
    }
  }
}

extension StreamInfo {
  /// A frame rate that can be worked with, whatever the container claims.
  var usualFrameRate: RationalTime {
    for rate in [frameRate, averageFrameRate, baseFrameRate] where rate.isKnown && (1...240).contains(rate.value) {
      return rate
    }
    return RationalTime(25, 1)
  }

  /// The rate at which frames follow one another where they do: of a variable rate, the higher.
  var peakFrameRate: RationalTime {
    let usual = usualFrameRate
    guard baseFrameRate.isKnown, (1...120).contains(baseFrameRate.value), baseFrameRate.value > usual.value else {
      return usual
    }
    return baseFrameRate
  }
}
