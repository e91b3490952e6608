import LibAV

/// Passes the packets of one track on as they are, with their times put right.
final class CopyChain: TrackChain {
  private let track: Int
  private let session: Session
  private var stream: StreamInfo
  /// Where the run has to end, in ticks.
  private var limit: Int64?
  private var run: Int?
  /// A source that can wait need not wake the writer for every packet.
  private var isPatient = false
  private var parameters: CodecParameters
  /// Bytes of a NAL unit's length; nil where there are start codes or no NAL units.
  private(set) var lengthSize: Int?
  /// A packet that is passed on when the next one has shown whether segments can start with it.
  private var held: Packet?
  private var heldKind = PictureKind.other
  /// Decode time of the packet at which decoding could start last, in ticks.
  private var lastStart: Int64 = 0
  private var hasToldOpen = false
  /// Where the sound packet placed last begins and ends, in ticks.
  private var last: (start: Int64, end: Int64)?
  /// How far behind the one before it, in ticks.
  private var hole: Int64 = 0
  private var silence: CodedSilence?
  private let damage = DamageCheck()
  /// Decoding started at a picture that is no IDR picture, and those after it have their numbers changed.
  private var closing: ClosedStart?
  /// Nothing of the run has come yet.
  private var isBeginning = true
  /// A hole up to this in the sound is one of its clock's, in ticks; a longer one is filled.
  private static let stretch: Int64 = 5400

  init(track: Int, stream: StreamInfo, session: Session) {
    self.track = track
    self.stream = stream
    self.session = session
    parameters = stream.parameters
    lengthSize = PictureKind.lengthSize(codec: stream.codec, extradata: stream.extradata)
  }

  /// What the packets are from the next one on; the run must be a new one.
  func setParameters(_ parameters: CodecParameters) {
    self.parameters = parameters
    silence = nil
    lengthSize = PictureKind.lengthSize(codec: stream.codec, extradata: parameters.extradata)
  }

  /// The source shows damage: for a while what is passed on is looked at.
  func warn() { damage.warn() }

  func take(_ packet: inout Packet, _ times: PlacedTimes) throws(RecordingError) {
    if times.run != run { limit = session.limit(of: times.run) }
    if let limit, packet.timeBase.convert(times.dts, to: .ticks) >= limit { return packet.clear() }
    // Before the other input began.
    if times.pts + (stream.kind == .audio ? times.duration : 1) <= 0 { return packet.clear() }
    try begin(times.run)
    var kind = kind(of: packet)
    let time = packet.timeBase.convert(times.dts, to: .ticks)
    guard try damage.isWhole(packet, kind, at: time, parameters, lengthSize: lengthSize) else {
      session.meter.add { $0.damaged += 1 }
      return packet.clear()
    }
    guard try close(&packet, &kind) else {
      session.meter.add { $0.damaged += 1 }
      return packet.clear()
    }
    if stream.kind == .audio {
      let start = time
      let end = packet.timeBase.convert(times.dts + times.duration, to: .ticks)
      // Clips that were joined overlap by the padding of their last packets: the place is taken.
      if let last, start < last.start + (end - start) / 2, !makeRoom(end - start) {
        session.meter.add { $0.damaged += 1 }
        return packet.clear()
      }
      try fill(to: start)
      hole = start - (last?.end ?? start)
      last = (start, end)
    }
    if stream.kind == .video { delayHeld(before: packet) }
    try release(next: kind)
    if stream.kind == .video {
      // A sync sample is one at which decoding can start, whatever the container said.
      packet.isKey = kind == .start
      session.meter.add { $0.frames += 1 }
    }
    var taken = try media { () throws(AVError) in try Packet() }
    taken.take(from: &packet)
    held = consume taken
    heldKind = kind
  }

  /// The sound placed last may have been put too late, with a hole before it: some demuxers give two packets the time of
  /// the second. It goes back to where it follows.
  private func makeRoom(_ length: Int64) -> Bool {
    guard let last, hole >= length / 2, hole <= length * 3 / 2, let pts = held?.pts, let timeBase = held?.timeBase
    else { return false }
    let shift = RationalTime.ticks.convert(hole, to: timeBase)
    held?.pts = pts - shift
    held?.dts = pts - shift
    self.last = (last.start - hole, last.end - hole)
    return true
  }

  /// Makes a whole start of a picture at which decoding starts; false for one that cannot be read.
  private func close(_ packet: inout Packet, _ kind: inout PictureKind) throws(RecordingError) -> Bool {
    guard stream.codec == .h264 else { return true }
    let starts = isBeginning || damage.hasResumed
    isBeginning = false
    if kind == .start || closing?.isOver ?? false { closing = nil }
    if kind == .openStart, starts { closing = ClosedStart(extradata: parameters.extradata, lengthSize: lengthSize) }
    guard closing != nil else { return true }
    guard let changed = closing?.renumber(packet.bytes) else {
      if kind == .openStart, starts { closing = nil }
      return closing == nil
    }
    try media { () throws(AVError) in try packet.replacePayload(changed) }
    if kind == .openStart, starts { kind = .start }
    return true
  }

  /// Whether a recording can begin with a recovery point.
  func canClose(_ packet: borrowing Packet) -> Bool {
    guard stream.codec == .h264, var start = ClosedStart(extradata: parameters.extradata, lengthSize: lengthSize) else {
      return false
    }
    return start.renumber(packet.bytes) != nil
  }

  /// Where pictures are missing, the one before them lasts up to the next one. It would seem to be shown for longer than
  /// that, were it decoded as early as the missing ones wanted it.
  private func delayHeld(before next: borrowing Packet) {
    guard let pts = held?.pts, let dts = held?.dts, let duration = held?.duration, let nextPTS = next.pts,
      let nextDTS = next.dts, duration > 0, nextDTS - dts > 2 * duration, pts < nextPTS
    else { return }
    held?.dts = max(dts, pts - (nextPTS - nextDTS))
  }

  private func begin(_ run: Int) throws(RecordingError) {
    guard run != self.run else { return }
    try endRun()
    self.run = run
    limit = session.limit(of: run)
    isPatient = !session.meter.isLive
    damage.beginRun(isLive: session.meter.isLive)
    lastStart = 0
    closing = nil
    isBeginning = true
    let format = TrackFormat(parameters: parameters, frameRate: stream.frameRate)
    session.put(.begin(track: track, run: run, format))
  }

  /// Sound has not come up to `ticks` of a run, and pictures have: it is silence until then.
  func fill(to ticks: Int64, of run: Int) throws(RecordingError) {
    guard stream.kind == .audio else { return }
    // The init section may have to wait for the first packet (ADTS), and so has the run.
    if silence == nil { silence = CodedSilence(like: parameters) }
    guard silence != nil else { return }
    try begin(run)
    try fill(to: ticks)
  }

  /// - Parameter isExact: what is missing is not a hole that a clock may make.
  private func fill(to ticks: Int64, isExact: Bool = false) throws(RecordingError) {
    // Of a source that is damaged, a packet may be lost.
    guard run != nil, isExact || damage.isLikely || ticks - (last?.end ?? 0) > Self.stretch else { return }
    if silence == nil { silence = CodedSilence(like: parameters) }
    // As many packets as the hole has room for, or one that laps over a little.
    while let silence, ticks - (last?.end ?? 0) > silence.ticks * 3 / 4 {
      let start = last?.end ?? 0
      try release(next: .start)
      held = try silence.packet(at: start)
      heldKind = .start
      last = (start, start + silence.ticks)
      session.meter.add { $0.silence += silence.ticks }
    }
  }

  func finish() throws(RecordingError) {
    defer { session.put(.finish(track: track)) }
    try endRun()
  }

  func reopen(_ stream: StreamInfo) throws(RecordingError) {
    try endRun()
    self.stream = stream
    setParameters(stream.parameters)
  }

  func kind(of packet: borrowing Packet) -> PictureKind {
    guard stream.kind == .video else { return .start }
    let codec = stream.codec
    let lengthSize = lengthSize
    let isKey = packet.isKey
    return packet.withBytes { bytes in
      PictureKind(codec: codec, isKey: isKey, lengthSize: lengthSize, bytes: bytes)
    }
  }

  func endRun() throws(RecordingError) {
    guard let run else { return }
    // Whatever fails, the track leaves the run.
    defer {
      session.put(.end(track: track, run: run))
      self.run = nil
      last = nil
    }
    if stream.kind == .audio { try fill(to: min(session.end(of: run), limit ?? .max), isExact: true) }
    if let packet = held.take() {
      if try damage.isWholeAtEnd(packet, parameters) {
        held = consume packet
      } else {
        session.meter.add { $0.damaged += 1 }
      }
    }
    try release(next: .other)
  }

  private func release(next: PictureKind) throws(RecordingError) {
    guard let run, var packet = held.take() else { return }
    let time = packet.timeBase.convert(packet.dts ?? 0, to: .ticks)
    var canStart = heldKind == .start
    if heldKind == .openStart {
      canStart = stream.codec == .hevc && next != .skippedLeading
      packet.isKey = canStart
    }
    if canStart {
      lastStart = time
    } else if heldKind == .openStart, time - lastStart > 2 * session.configuration.segmentTicks {
      // There is no better place. What is decoded from the beginning is whole; the sample is flagged as what it is.
      canStart = true
      if !hasToldOpen {
        hasToldOpen = true
        session.log.warning(
          "source", "pictures refer to what is before key frames (open GOP): segments do not decode alone")
      }
    }
    try session.put(packet, track: track, run: run, canStart: canStart, isPatient: isPatient)
  }
}
