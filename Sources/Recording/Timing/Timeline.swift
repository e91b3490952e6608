package import LibAV

/// One timeline for all tracks of an input: the source's packet times come in, times that a segment can use come out.
/// Pure: nothing is read or waited for.
///
/// - The first presentation time of a run is 0 for all tracks together; times of a track stay in its own time base, so
///   nothing is rounded twice.
/// - 33-bit and 32-bit counters are unwrapped; times that a few packets got wrong are put right from their neighbours.
/// - Where the clock itself jumps (more than three packets agree, and the other tracks jump too), the next run begins.
///   A track alone that leaps forward has a hole, and one that leaps back is moved on to where it was.
/// - Decode times strictly increase.
///
/// A packet is answered at once or held until its neighbours tell what to make of it, so each call returns what became of
/// the *oldest* packets of any track that had no answer yet; callers keep their packets in one queue per track.
package struct Timeline: Sendable {
  package struct Policy: Equatable, Sendable {
    /// A hole up to this is a hole whatever the other tracks do. Containers with an index are to be trusted; transport
    /// streams and live sources join clocks without notice.
    package var maximumHole: Duration
    /// A step back up to this is repaired packet by packet: coarse clocks and careless muxers make such steps.
    package var maximumStepBack: Duration = .milliseconds(500)
    /// A track alone that leaps further than this has a wrong clock, not a hole.
    package var maximumLoneHole: Duration = .seconds(60)
    /// Packets that must agree on a new clock.
    package var agreement: Int = 4
    /// A jump begins a new run; else (several inputs, whose clocks have nothing in common) the track is moved on to where
    /// it was.
    package var jumpsBeginRuns: Bool = true
    /// How long a run waits for a track that has not begun, in media time.
    package var patience: Duration = .seconds(2)
    /// The same for a track that has to begin at a key frame.
    package var keyPatience: Duration = .seconds(12)
    /// Sound that begins before the picture is kept up to this much: the first picture is shown from the start.
    package var maximumLeadIn: Duration = .seconds(120)
    /// Where the picture is copied, sound before it that is worth a still picture: key frames are a second or so apart.
    package var minimumLeadIn: Duration = .seconds(1)
    /// Once a track has jumped, the others have this much media time to do so too.
    package var jumpPatience: Duration = .milliseconds(1500)

    package init(maximumHole: Duration) { self.maximumHole = maximumHole }

    /// Containers whose times are stored with the media.
    package static let stored = Policy(maximumHole: .seconds(60))
    /// Transport streams and all that is live.
    package static let streamed = Policy(maximumHole: .seconds(1))
  }

  package struct Answer: Equatable, Sendable {
    package let track: Int
    package let placement: Placement

    package init(track: Int, placement: Placement) {
      self.track = track
      self.placement = placement
    }
  }

  /// Times put right so far, for telling: outliers, steps back, and tracks moved.
  package private(set) var repairs = 0
  /// The run that packets are being placed in, or that begins next while `isOpen` is false.
  package private(set) var run = 0
  /// The origin is known.
  package private(set) var isOpen = false

  private let policy: Policy
  private var tracks: [TimelineTrackState]
  /// Where the next run begins although no clock jumps.
  private var split: (time: Int64, timeBase: RationalTime)?

  package init(tracks: [TimelineTrack], policy: Policy) {
    self.policy = policy
    self.tracks = tracks.map(TimelineTrackState.init)
  }

  /// Sound before the run's origin that has no place in it, in microseconds.
  package private(set) var leftOut: Int64 = 0

  /// By how much the clock leapt before the run, in microseconds; nil where it began for another reason.
  package private(set) var leap: Int64?

  /// The source's time that the run's origin stands for; nil before the first run.
  package private(set) var origin: (time: Int64, timeBase: RationalTime)?

  /// A track's pictures are reordered by more frames than its header told, if by more.
  package mutating func deepen(_ track: Int, to depth: Int) { tracks[track].deepen(to: Int64(depth)) }

  /// Takes the times of the next packet of `track`, in the order of the input.
  package mutating func place(_ times: SourceTimes, track index: Int) -> [Answer] {
    guard !tracks[index].hasEnded else { return [Answer(track: index, placement: .dropped)] }
    let packet = tracks[index].normalize(times)
    if !isOpen {
      if tracks[index].info.startsAtKey && tracks[index].held.isEmpty && !packet.isKey {
        return [Answer(track: index, placement: .dropped)]
      }
      tracks[index].held.append(packet)
      return openIfReady()
    }
    if tracks[index].hasJumped {
      if split == nil, tracks[index].isBack(with: packet) {
        tracks[index].hasJumped = false
        return moveOn(index) + [accept(packet, index)] + settleJump()
      }
      tracks[index].held.append(packet)
      return settleJump()
    }
    if let split, packet.pts >= split.timeBase.convert(split.time, to: tracks[index].info.timeBase) {
      return leave(with: packet, index)
    }
    if tracks[index].mustBegin {
      if !packet.isKey { return [Answer(track: index, placement: .dropped)] }
      // The run was begun without it, and the tracks of a run do not change.
      if policy.jumpsBeginRuns, tracks.count > 1 { return begin(with: packet, index) }
    }
    if tracks[index].held.isEmpty { tracks[index].comeBack(with: packet) }
    if tracks[index].held.isEmpty, tracks[index].fits(packet, policy) {
      let answer = [accept(packet, index)]
      return tracks.contains(where: \.hasJumped) ? answer + settleJump() : answer
    }
    return doubt(packet, index)
  }

  /// Like `place`, for a packet with which the next run has to begin because the track's format changes. What the other
  /// tracks present from then on belongs to that run as well.
  package mutating func placeInNextRun(_ times: SourceTimes, track index: Int) -> [Answer] {
    guard isOpen, !tracks[index].hasEnded, !tracks[index].hasJumped else { return place(times, track: index) }
    return begin(with: tracks[index].normalize(times), index)
  }

  private mutating func begin(with packet: HeldTimes, _ index: Int) -> [Answer] {
    split = split ?? (packet.pts, tracks[index].info.timeBase)
    return leave(with: packet, index)
  }

  private mutating func leave(with packet: HeldTimes, _ index: Int) -> [Answer] {
    let answers = moveOn(index)
    tracks[index].held = [packet]
    tracks[index].hasJumped = true
    return answers + settleJump()
  }

  /// No more packets of `track` will come; what can be answered now is.
  package mutating func finish(track index: Int) -> [Answer] {
    guard !tracks[index].hasEnded else { return [] }
    tracks[index].hasEnded = true
    guard isOpen else { return openIfReady() }
    var answers: [Answer] = []
    if !tracks[index].hasJumped { answers = moveOn(index) }
    return answers + settleJump()
  }

  /// No more packets at all.
  package mutating func finish() -> [Answer] {
    var answers: [Answer] = []
    for index in tracks.indices { answers += finish(track: index) }
    if !isOpen { answers += open() }
    return answers
  }

  // MARK: Beginning a run

  private mutating func openIfReady() -> [Answer] {
    let dropped = dropUndecodable()
    let waiting = tracks.filter { !$0.hasEnded && $0.firstShown == nil }
    if waiting.isEmpty { return tracks.allSatisfy(\.held.isEmpty) ? dropped : dropped + open() }
    let patience = waiting.contains { $0.info.startsAtKey } ? policy.keyPatience : policy.patience
    return tracks.contains { $0.heldSpan > patience || $0.held.count > 8_000 } ? dropped + open() : dropped
  }

  /// A run does not begin with pictures that refer to what was before it.
  private mutating func dropUndecodable() -> [Answer] {
    var answers: [Answer] = []
    for index in tracks.indices where tracks[index].info.startsAtKey {
      while let first = tracks[index].held.first, !first.isKey {
        tracks[index].held.removeFirst()
        answers.append(Answer(track: index, placement: .dropped))
      }
    }
    return answers
  }

  private mutating func open() -> [Answer] {
    var answers = dropUndecodable()
    guard let origin = findOrigin() else { return answers }
    self.origin = origin
    isOpen = true
    leftOut = tracks.map { $0.isAhead(of: origin) }.max() ?? 0
    for index in tracks.indices {
      tracks[index].begin(at: origin.timeBase.convert(origin.time, to: tracks[index].info.timeBase))
      let held = tracks[index].held
      tracks[index].held = []
      for packet in held {
        if tracks[index].held.isEmpty, tracks[index].fits(packet, policy) {
          answers.append(accept(packet, index))
        } else {
          answers += doubt(packet, index)
        }
      }
    }
    return answers
  }

  /// Where presentation begins: with the copied picture, if little is heard before it, else with what is heard or seen first.
  private func findOrigin() -> (time: Int64, timeBase: RationalTime)? {
    var earliest: (microseconds: Int64, time: Int64, timeBase: RationalTime)?
    var picture: (microseconds: Int64, time: Int64, timeBase: RationalTime)?
    var frame = Duration.zero
    var isCopied = false
    for track in tracks {
      guard let first = track.firstShown else { continue }
      let time = first.pts + first.skipped
      let candidate = (track.microseconds(time), time, track.info.timeBase)
      if track.info.startsAtKey {
        picture = candidate
        isCopied = track.info.setsOrigin
        frame = .microseconds(track.microseconds(track.info.usualDuration))
      }
      if earliest.map({ candidate.0 < $0.microseconds }) ?? true { earliest = candidate }
    }
    guard let earliest else { return nil }
    if let picture {
      let leadIn = min(.microseconds(picture.microseconds - earliest.microseconds), policy.maximumLeadIn)
      if isCopied && leadIn <= policy.minimumLeadIn { return (picture.time, picture.timeBase) }
      // In whole frames: so frames stay on the grid of segments, for the price of a few milliseconds of sound.
      let frames = frame > .zero ? leadIn.microseconds / frame.microseconds : 0
      if leadIn > .zero {
        let kept = RationalTime.microseconds.convert(frames * frame.microseconds, to: picture.timeBase)
        return (picture.time - kept, picture.timeBase)
      }
    }
    return (earliest.time, earliest.timeBase)
  }

  // MARK: Within a run

  private mutating func accept(_ packet: HeldTimes, _ index: Int) -> Answer {
    let placed = tracks[index].place(packet, run: run)
    if placed.wasRepaired { repairs += 1 }
    return Answer(track: index, placement: placed.placement)
  }

  private mutating func doubt(_ packet: HeldTimes, _ index: Int) -> [Answer] {
    if tracks[index].fits(packet, policy) {
      // What was doubtful was wrong: the clock is where it was.
      return moveOn(index) + [accept(packet, index)] + settleJump()
    }
    tracks[index].held.append(packet)
    let agreeing = tracks[index].agreeingSuffix(policy)
    if agreeing >= policy.agreement {
      let answers = moveOn(index, keeping: agreeing)
      tracks[index].hasJumped = true
      return answers + settleJump()
    }
    // Nothing agrees with anything: the oldest goes on where the track was.
    return tracks[index].held.count > 4 * policy.agreement ? moveOn(index, keeping: tracks[index].held.count - 1) : []
  }

  /// Places held packets, but for the last `keeping`, one after another where the track was.
  private mutating func moveOn(_ index: Int, keeping: Int = 0) -> [Answer] {
    var answers: [Answer] = []
    while tracks[index].held.count > keeping {
      var packet = tracks[index].held.removeFirst()
      if let expected = tracks[index].expected {
        let shift = expected - packet.dts
        packet.dts += shift
        packet.pts += shift
      }
      repairs += 1
      answers.append(accept(packet, index))
    }
    return answers
  }

  /// Decides about tracks whose clock jumped: all of them begin a new run, one alone has a hole or a wrong clock.
  private mutating func settleJump() -> [Answer] {
    let jumped = tracks.indices.filter { tracks[$0].hasJumped }
    guard let first = jumped.first else { return [] }
    let staying = tracks.indices.filter { !tracks[$0].hasJumped && !tracks[$0].hasEnded }
    let isAlone = split == nil && staying.contains { tracks[$0].hasPassed(tracks[first], by: policy.jumpPatience) }
    let isTired = jumped.contains { tracks[$0].heldSpan > .seconds(5) || tracks[$0].held.count > 2_000 }
    guard staying.isEmpty || isAlone || isTired else { return [] }
    if !isAlone && (policy.jumpsBeginRuns || split != nil) {
      // A doubtful rest of a track that does not jump belongs to the run that ends.
      var answers: [Answer] = []
      for index in staying { answers += moveOn(index) }
      leap = split == nil ? tracks[first].leap : nil
      run += 1
      isOpen = false
      split = nil
      for index in tracks.indices { tracks[index].hasJumped = false }
      return answers + openIfReady()
    }
    var answers: [Answer] = []
    for index in jumped {
      tracks[index].hasJumped = false
      let held = tracks[index].held
      tracks[index].held = []
      if !tracks[index].isHole(held.first, upTo: policy.maximumLoneHole) {
        tracks[index].shift(to: held.first)
        repairs += 1
      }
      for packet in held { answers.append(accept(packet, index)) }
    }
    return answers
  }
}
