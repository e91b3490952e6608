import HLS
import LibAV
import Platform

/// From a place on the timeline to the chain of the track.
extension Reader {
  func handle(_ answers: [Timeline.Answer]) throws(RecordingError) {
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
  func settle(_ packet: inout Packet, _ answer: Timeline.Answer) throws(RecordingError) {
    let source = sources[answer.track]
    guard case .placed(var times) = answer.placement else { return packet.clear() }
    times.run += runBase
    if times.run != startedRun { try start(times.run) }
    let timeBase = packet.timeBase
    if isLive, answer.track == 0, index == 0 || source.chain is SoundChain { noteClock(packet, times) }
    if shift != 0 { times = times.moved(by: RationalTime.ticks.convert(shift, to: timeBase)) }
    // As the source has it: the timeline lets no picture be decoded long before it is shown, but it is read by then.
    let ahead = packet.pts.flatMap { pts in packet.dts.map { pts - $0 } } ?? 0
    source.decoded = timeBase.convert(min(times.dts, times.pts - ahead), to: .ticks)
    packet.pts = times.pts
    packet.dts = times.dts
    packet.duration = times.duration
    source.end = max(source.end, timeBase.convert(times.pts + times.duration, to: .ticks))
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

  func lookAtLimit() {
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
    decodeDelay = nil
    limit = session.setConsumed(consumed, before: run)
    if isLive || run == 0 {
      let time = originTime()
      session.setStart(of: run, time)
      if isLive, !isAlone, let first = session.start(of: run) {
        shift = (time.milliseconds - first.milliseconds) * 90
        firstShift = shift
        slew = ClockSlew(tolerance: 15)
      }
    }
    if let leap = timeline.leap {
      session.log.warning(
        "source", "\(name): the clock leaps by \(Double(leap / 100_000) / 10) s; a new run begins",
        ["input": .text(name.description), "seconds": .number(Double(leap) / 1_000_000)])
    }
    if timeline.leftOut > 100_000 {
      session.log.warning(
        "source",
        "\(name): \(Double(timeline.leftOut / 100_000) / 10) s of sound before the picture are left out",
        ["input": .text(name.description), "seconds": .number(Double(timeline.leftOut) / 1_000_000)])
    }
    // A live picture is shown on until it is told, and what comes of the new run may be long in being decoded.
    if isLive { for source in sources { try (source.chain as? PictureChain)?.endRun() } }
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
    let waited = input?.waited(at: origin.timeBase.convert(origin.time, to: .microseconds)) ?? .zero
    return wallClock(ofSource: origin.time, origin.timeBase, waited: waited)
  }

  /// Devices stamp with the wall clock, and times are without what it was set by.
  private func wallClock(ofSource time: Int64, _ timeBase: RationalTime, waited: Duration = .zero) -> WallClockTime {
    session.wallClock(
      ofSource: time + RationalTime.microseconds.convert(input?.wallClockShift ?? 0, to: timeBase), timeBase,
      waited: waited)
  }

  /// Dates follow the wall clock, by the pace at which packets are decoded. Sound of another input follows the picture.
  private func noteClock(_ packet: borrowing Packet, _ times: PlacedTimes) {
    guard let start = session.start(of: times.run), let source = packet.dts ?? packet.pts else { return }
    let delay = decodeDelay ?? times.pts - times.dts
    decodeDelay = delay
    let media = packet.timeBase.convert(times.dts + delay, to: .microseconds) / 1000
    let ahead = wallClock(ofSource: source, packet.timeBase).milliseconds - start.milliseconds - media
    guard index > 0 else { return session.noteClock(ahead: ahead, in: times.run) }
    shift = firstShift + slew.follow(ahead: ahead - firstShift / 90 - session.clockAhead, at: media) * 90
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
  func accompany() throws(RecordingError) {
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
