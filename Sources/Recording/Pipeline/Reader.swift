import HLS
import LibAV
import Platform
import Synchronization

/// The thread that reads one input: packets are placed on the timeline and given to the chains of their tracks.
// Sendable: made by one thread and then used by the one that it is handed to, only.
final class Reader: @unchecked Sendable {
  let session: Session
  private let request: InputRequest
  private let interruption: Interruption
  var input: MediaInput?
  let name: InputName
  let isLive: Bool
  let hasNoDecodeTimes: Bool
  private let joinsClocks: Bool
  private let isProgramStream: Bool
  private let isTransportStream: Bool
  /// There is no other input, so a jump of the clock begins a run.
  let isAlone: Bool
  /// Which of the recording's inputs it is.
  let index: Int
  /// Follows what is read here.
  let microphone: MicrophoneTrack?
  let sources: [Source]
  var timeline: Timeline
  /// Runs before those that the timeline counts.
  var runBase = 0
  /// Where the run that is being read has to end, in ticks.
  var limit: Int64?
  /// Media of the runs before, in ticks.
  var consumed: Int64 = 0
  /// By how much the run's origin lies before this input's, in ticks: another input began earlier.
  var shift: Int64 = 0
  /// What it was when the run began, and what of it is for a clock that is not the picture's.
  var firstShift: Int64 = 0
  var slew = ClockSlew(tolerance: 15)
  var startedRun: Int?
  /// Presentation less decode time of the first packet of the run's first track.
  var decodeDelay: Int64?
  var pacedFrom: ContinuousClock.Instant?
  var clock = ClockWatch()
  private var newcomers = Newcomers()
  var hasReachedLimit = false
  /// Reads the sound, where it is stored far from its picture.
  private var aside: SoundAside?
  /// The sound can be read by a demuxer of its own.
  private var canSplit: Bool
  /// The track of the packets read last, and their bytes.
  private var alone = (track: 0, bytes: 0)
  var hasToldLate = false

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
    isTransportStream = input.formatName == "mpegts"
    hasNoDecodeTimes = input.formatName.hasPrefix("matroska")
    joinsClocks = input.joinsClocks
    // Streams whose clock may change have no order but that in which they are stored.
    canSplit = sources.count == 2 && input.isSeekable && !isLive && !joinsClocks
    if input.isLive { session.meter.add { $0.isLive = true } }
    timeline = Reader.timeline(sources, isLive: isLive, joinsClocks: joinsClocks, isAlone: isAlone)
    input.select(Set(sources.map(\.stream.index)))
    self.input = consume input
  }

  static func timeline(_ sources: [Source], isLive: Bool, joinsClocks: Bool, isAlone: Bool) -> Timeline {
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

  func read() throws(RecordingError) {
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

  func take(_ packet: inout Packet, _ track: Int) throws(RecordingError) {
    if isTransportStream, isLive, try sources[track].isForeign(packet) { return packet.clear() }
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
  func split() -> Bool {
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
}
