import LibAV

/// Encodes one quality of the picture. What is shown, when, and with which key frames is decided by `PictureEncoder`, on
/// whose thread this works: so all qualities are the same to the tick.
final class RungEncoder {
  private let plan: PictureEncoder.Plan
  /// Which of the plan's rungs it is.
  private let index: Int
  private let session: Session
  private var encoder: VideoEncoder?
  /// Makes the picture smaller; nil where it is as it should be.
  private var scaler: FilterGraph?
  private var scaled: Frame
  private var packet: Packet
  /// The packet made last, which is passed on once it is known how long it lasts.
  private var held: Packet?
  /// Frames that went in, and when, since something came out.
  private var unanswered: (frames: Int, since: ContinuousClock.Instant)?
  /// What the encoder was opened with, in bits per second.
  private(set) var fullBitRate: Int64 = 0

  init(_ plan: PictureEncoder.Plan, _ index: Int, session: Session) throws(RecordingError) {
    self.plan = plan
    self.index = index
    self.session = session
    scaled = try media { () throws(AVError) in try Frame() }
    packet = try media { () throws(AVError) in try Packet() }
  }

  /// Opens the encoder for frames like this one. The run begins with `begin`, so that none of the qualities does where
  /// one of them cannot be encoded.
  func open(_ frame: borrowing Frame) throws(RecordingError) {
    let configuration = session.configuration
    let size = PictureFilter.limited((frame.width, frame.height), side: plan.rungs[index].side)
    scaler = nil
    if size != (frame.width, frame.height) {
      let input = FilterInput(of: frame, kind: .video)
      scaler = try media { () throws(AVError) in
        try FilterGraph(
          input: input, description: "scale=w=\(size.width):h=\(size.height),setsar=1", threads: configuration.threads)
      }
    }
    var settings = VideoEncoderSettings.usual(
      encoder: plan.encoder, width: size.width, height: size.height, frameRate: plan.cap ?? plan.frameRate,
      segmentTicks: configuration.segmentTicks)
    settings.bitRate = plan.rungs[index].bitRate ?? settings.bitRate
    settings.pixelFormat = frame.pixelFormat
    settings.color = frame.color
    settings.threads = configuration.threads
    // Options are meant for the encoder they were given with.
    if plan.encoder == configuration.softwareOrNamedEncoder { settings.options = configuration.encoderOptions }
    fullBitRate = settings.bitRate
    let made = try watched { () throws(AVError) in try VideoEncoder(settings) }
    encoder = consume made
  }

  func begin(_ run: Int) {
    guard let parameters = encoder?.parameters else { return }
    let format = TrackFormat(parameters: parameters, frameRate: plan.cap ?? plan.frameRate)
    session.put(.begin(track: plan.track, run: run, format), to: .rung(index))
  }

  func setBitRate(_ bitsPerSecond: Int64) { _ = encoder?.setBitRate(bitsPerSecond) }

  /// - Parameter frame: its times in ticks of the run.
  func encode(_ frame: borrowing Frame, run: Int, isKey: Bool) throws(RecordingError) {
    if scaler == nil {
      try watched { () throws(AVError) in try encoder?.send(frame) }
    } else {
      try media { () throws(AVError) in
        var shared = try frame.shared()
        try scaler?.send(&shared)
        _ = try scaler?.receive(into: &scaled)
      }
      scaled.requestKeyframe(isKey)
      try watched { () throws(AVError) in try encoder?.send(scaled) }
      scaled.clear()
    }
    try passOn(run)
    let now = ContinuousClock.now
    unanswered = (unanswered.map { ($0.frames + 1, $0.since) }) ?? (1, now)
    // More than any encoder holds back.
    if let unanswered, unanswered.frames > 250, now - unanswered.since > PictureEncoder.patience {
      throw .silentEncoder(plan.encoder)
    }
  }

  /// - Parameter end: where the last frame ends, in ticks.
  func endRun(_ run: Int, at end: Int64) throws(RecordingError) {
    try watched { () throws(AVError) in try encoder?.drain() }
    try passOn(run)
    try release(run, end: end)
    encoder = nil
    scaler = nil
  }

  /// Calls the encoder, watched by the threads that write.
  private func watched<R: ~Copyable>(_ body: () throws(AVError) -> R) throws(RecordingError) -> R {
    session.noteEncoding(plan.encoder)
    defer { session.noteEncoding(nil) }
    return try media(body)
  }

  private func passOn(_ run: Int) throws(RecordingError) {
    while try watched({ () throws(AVError) in try encoder?.receive(into: &packet) }) == .produced {
      unanswered = nil
      var made = try media { () throws(AVError) in try Packet() }
      made.take(from: &packet)
      try release(run, end: made.pts)
      held = consume made
    }
  }

  private func release(_ run: Int, end: Int64?) throws(RecordingError) {
    guard var packet = held.take() else { return }
    if let end, let pts = packet.pts { packet.duration = max(1, end - pts) }
    let isKey = packet.isKey
    try session.put(packet, track: plan.track, run: run, canStart: isKey, to: .rung(index))
  }
}
