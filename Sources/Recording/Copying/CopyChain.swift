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
  /// Where the sound packet placed last begins, in its time base.
  private var lastStart: Int64?

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
    lengthSize = PictureKind.lengthSize(codec: stream.codec, extradata: parameters.extradata)
  }

  func take(_ packet: inout Packet, _ times: PlacedTimes) throws(RecordingError) {
    if times.run != run { limit = session.limit(of: times.run) }
    if let limit, packet.timeBase.convert(times.dts, to: .ticks) >= limit { return packet.clear() }
    // Before the other input began.
    if times.pts < 0 { return packet.clear() }
    if times.run != run {
      try endRun()
      run = times.run
      isPatient = !session.meter.value.isLive
      let format = TrackFormat(parameters: parameters, frameRate: stream.frameRate)
      session.put(.begin(track: track, run: times.run, format))
    }
    if stream.kind == .audio {
      // Clips that were joined overlap by the padding of their last packets: the place is taken.
      if let start = lastStart, times.dts < start + times.duration / 2 {
        session.meter.add { $0.damaged += 1 }
        return packet.clear()
      }
      lastStart = times.dts
    }
    let kind = kind(of: packet)
    try release(next: kind)
    if stream.kind == .video {
      // A sync sample is one at which decoding can start, whatever the container said.
      packet.isKey = kind == .start || kind == .openStart && stream.codec == .hevc
      session.meter.add { $0.frames += 1 }
    }
    var taken = try media { () throws(AVError) in try Packet() }
    taken.take(from: &packet)
    held = consume taken
    heldKind = kind
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
    defer {
      if let run { session.put(.end(track: track, run: run)) }
      run = nil
      lastStart = nil
    }
    try release(next: .other)
  }

  private func release(next: PictureKind) throws(RecordingError) {
    guard let run, let packet = held.take() else { return }
    let isSafe = heldKind == .start || heldKind == .openStart && stream.codec == .hevc && next != .skippedLeading
    try session.put(packet, track: track, run: run, canStart: isSafe, isPatient: isPatient)
  }
}
