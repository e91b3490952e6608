import LibAV
import Platform

/// Decodes pictures and brings them into the form that is encoded; the frames go to the encoder's thread.
final class PictureChain: TrackChain {
  private var stream: StreamInfo
  private let session: Session
  private let encoder: PictureEncoder
  private var frames: HandoffQueue<FrameItem> { encoder.frames }
  private let isLive: Bool
  /// Where the run has to end, in ticks.
  private var limit: Int64?
  private let outputFormat: PixelFormat
  /// What is encoded has no longer shorter side, in pixels.
  private let side: Int
  private var decoder: Decoder
  private var watch: DecodeWatch
  private var graph: FilterGraph?
  private var form: FilterInput?
  private var rotation: Rotation
  /// The same, as the container has it.
  private var contained: Rotation
  /// What came while the input was being looked at comes all at once, and so does not count as too much.
  private static let settling: Duration = .seconds(3)
  private var opened = ContinuousClock.now
  private var isInterlaced = false
  /// Fixed with the first frame: a source that changes its size is fitted in.
  private var size: (width: Int, height: Int)?
  private var run: Int?
  /// How far the last picture has been asked to be shown, in ticks of the run.
  private var filled: Int64 = 0
  private var frame: Frame
  /// The picture before, as it was captured, and the second of the clock in which it came.
  private var previous: Frame
  private var previousSecond: Int64 = 0

  init(
    stream: StreamInfo, session: Session, encoder: PictureEncoder, isLive: Bool, outputFormat: PixelFormat, side: Int
  ) throws(RecordingError) {
    self.stream = stream
    self.session = session
    self.encoder = encoder
    self.isLive = isLive
    self.outputFormat = outputFormat
    self.side = side
    rotation = stream.rotation
    contained = rotation
    decoder = try media { () throws(AVError) in try Decoder(stream: stream) }
    watch = DecodeWatch(patience: isLive ? session.configuration.inputTimeout : nil)
    frame = try media { () throws(AVError) in try Frame() }
    previous = try media { () throws(AVError) in try Frame() }
  }

  func take(_ packet: inout Packet, _ times: PlacedTimes) throws(RecordingError) {
    if let run, times.run != run { try drain(run) }
    if times.run != run {
      limit = session.limit(of: times.run)
      filled = 0
    }
    run = times.run
    if let turned = packet.newRotation { contained = turned }
    if let time = watch.take(at: .now) { throw .undecodable(decoder.name, for: time) }
    do throws(AVError) {
      try decoder.send(packet)
    } catch {
      guard error.kind != .outOfMemory else { throw RecordingError(error) }
      session.meter.add { $0.damaged += 1 }
      return
    }
    try takeDecoded(times.run)
  }

  func finish() throws(RecordingError) {
    defer { frames.close() }
    if let run { try drain(run) }
  }

  /// No picture has come up to `ticks`, and sound has: the last one is shown until then, in steps of half a second. Not
  /// where pictures are reordered and more may come: the decoder holds some back that belong before.
  func fill(to ticks: Int64, hasEnded: Bool = false) throws(RecordingError) {
    guard let run, hasEnded || stream.parameters.reorderDepth == 0, ticks >= filled + 45_000 else { return }
    if hasEnded { try drain(run) }
    filled = ticks
    _ = frames.put(.shown(until: ticks, run: run))
  }

  func endRun() throws(RecordingError) {
    if let run { try drain(run) }
    run = nil
    _ = frames.put(.endOfRun)
  }

  func reopen(_ stream: StreamInfo) throws(RecordingError) {
    opened = .now
    self.stream = stream
    rotation = stream.rotation
    contained = rotation
    decoder = try media { () throws(AVError) in try Decoder(stream: stream) }
    watch.forget()
  }

  private func drain(_ run: Int) throws(RecordingError) {
    try media { () throws(AVError) in try decoder.drain() }
    try takeDecoded(run)
    decoder.flush()
    previous.clear()
    try drainGraph(run)
  }

  private func takeDecoded(_ run: Int) throws(RecordingError) {
    while true {
      do throws(AVError) {
        guard try decoder.receive(into: &frame) == .produced else { return }
      } catch {
        guard error.kind != .outOfMemory else { throw RecordingError(error) }
        session.meter.add { $0.damaged += 1 }
        return
      }
      watch.produce()
      if let limit, let pts = frame.pts, frame.timeBase.convert(pts, to: .ticks) >= limit {
        frame.clear()
        continue
      }
      if try showsNothingNew() {
        session.meter.add { $0.identical += 1 }
        frame.clear()
        continue
      }
      try filter(run)
    }
  }

  /// Whether a captured picture is the one before, pixel for pixel. It need not be filtered and encoded then: the encoder
  /// shows the last one again when it is time.
  private func showsNothingNew() throws(RecordingError) -> Bool {
    guard isLive, stream.codec == .rawVideo, session.configuration.refill != nil else { return false }
    // A clock in the picture shows something new once a second.
    let second = session.configuration.watermark.isMoving ? WallClock.now() / 1000 : 0
    defer { previousSecond = second }
    if second == previousSecond, previous.hasSamePicture(as: frame) { return true }
    try media { () throws(AVError) in try previous.share(frame) }
    return false
  }

  /// What the bitstream says of a picture holds for those that follow, up to the next key frame, and only where the
  /// container says nothing: cameras that say both mean the same turn.
  private var turned: Rotation {
    contained != .none ? contained : frame.rotation ?? (frame.isKey ? .none : rotation)
  }

  private func filter(_ run: Int) throws(RecordingError) {
    let turned = turned
    if turned != rotation {
      rotation = turned
      form = nil
    }
    // Demuxers give half of it: the duration of a field.
    if frame.isInterlaced { frame.duration = 0 }
    if frame.isInterlaced && !isInterlaced {
      isInterlaced = true
      form = nil
    }
    let form = FilterInput(of: frame, kind: .video)
    if form != self.form {
      try drainGraph(run)
      try build(form)
    }
    if isLive { makeRoom() }
    try media { () throws(AVError) in try graph?.send(&frame) }
    try passOn(run)
  }

  private func build(_ form: FilterInput) throws(RecordingError) {
    let configuration = session.configuration
    let filter = PictureFilter(
      width: frame.width, height: frame.height,
      sampleAspect: frame.sampleAspect.isKnown ? frame.sampleAspect : stream.sampleAspect, rotation: rotation,
      isInterlaced: isInterlaced, format: frame.pixelFormat, color: frame.color, outputFormat: outputFormat)
    let size = self.size ?? PictureFilter.limited(filter.outputSize(configuration.size), side: side)
    let isAsked = configuration.size?.width != nil && configuration.size?.height != nil
    let description = configuration.watermark.extend(
      filter.description(size: size, keepsAspect: !isAsked), height: size.height,
      recording: configuration.recording.text, format: outputFormat.description)
    graph = try media { () throws(AVError) in
      try FilterGraph(input: form, description: description, threads: configuration.threads)
    }
    if self.size != nil, self.form != nil {
      session.log.info(
        "source", "the source's picture changes to \(frame.width)x\(frame.height)",
        ["width": .init(frame.width), "height": .init(frame.height)])
    }
    self.form = form
    self.size = size
  }

  private func drainGraph(_ run: Int) throws(RecordingError) {
    guard graph != nil else { return }
    try media { () throws(AVError) in try graph?.drain() }
    try passOn(run)
    graph = nil
    form = nil
  }

  private func passOn(_ run: Int) throws(RecordingError) {
    while true {
      var made = try media { () throws(AVError) in try Frame() }
      guard try media({ () throws(AVError) in try graph?.receive(into: &made) }) == .produced else { return }
      _ = frames.put(.frame(made, run: run))
    }
  }

  /// Before a frame is made: afterwards there would be one too many.
  private func makeRoom() {
    guard .now - opened > Self.settling else { return frames.waitUntilEmpty() }
    let dropped = encoder.makeRoom()
    if dropped > 0 { session.meter.add { $0.dropped += Int64(dropped) } }
  }
}
