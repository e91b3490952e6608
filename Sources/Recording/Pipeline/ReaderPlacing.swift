import LibAV
import Platform

/// From a packet that was read to its place on the timeline.
extension Reader {
  func passOnClocked(_ track: Int) throws(RecordingError) {
    guard let clock = sources[track].clock else { return }
    var packet = try media { () throws(AVError) in try Packet() }
    while clock.next(into: &packet) { try prepare(&packet, track) }
  }

  func prepare(_ packet: inout Packet, _ track: Int) throws(RecordingError) {
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
    if packet.isDiscarded {
      // Copied pictures are all shown: nothing in a segment could say otherwise.
      times.isHidden = !(stream.kind == .video && source.chain is CopyChain)
      if !times.isHidden, !source.hasPackets {
        session.log.warning(
          "source",
          "\(name): the picture is copied from the key frame before its edit on; --video h264 begins with the edit",
          ["input": .text(name.description)])
      }
    }
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
      times.arrival = session.arrival(ofSource: times.pts, packet.timeBase)
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
        return source.stream.codec == .hevc || source.openStarts > 2 || !timeline.isOpen && copy.canClose(packet)
      case .skippedLeading, .other: return false
      }
    }
    source.groups.note(isKey: packet.isKey)
    // Key frames that come no more, or that nobody marks: the decoder may know.
    return packet.isKey || source.groups.isOverdue
  }
}
