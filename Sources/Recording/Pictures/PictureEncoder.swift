import LibAV
import Platform
import Synchronization

/// The thread that encodes: frames come in, on their own times; packets go out, with a key frame at the beginning of
/// every segment and no hole longer than the refill interval.
// Sendable: made by one thread and then used by the one that it is handed to, only; its queue is everybody's.
final class PictureEncoder: @unchecked Sendable {
  /// What the thread that decodes and this one agree upon.
  struct Plan: Sendable {
    let track: Int
    /// libav's name of an encoder that is there.
    let encoder: String
    /// Nominal rate of the source, known and sane.
    let frameRate: RationalTime
    /// Frames go on a steady grid of this rate; nil keeps the source's times.
    let cap: RationalTime?
    /// Frames do not wait for the encoder: the oldest that waits is dropped.
    let isLive: Bool
    /// Frames there are at most of a live source, one being made and those of this thread among them.
    let mostFrames: Int
    /// What the picture is encoded in, at least one; the first is as large as the frames that come.
    let rungs: [Rung]
  }

  /// Five frames of a live source that wait and one that is shown, or what 9.5 MB hold. One is 3.1 MB at 1080p.
  static func mostFrames(width: Int, height: Int) -> Int {
    max(3, min(6, 9_500_000 / max(1, width * height * 3 / 2)))
  }
  /// An encoder that has not answered for so long has failed.
  static let patience: Duration = .seconds(8)
  /// Sound may go on for so long behind the last picture, in ticks: 60 ms, more than a frame of any sound codec.
  private static let noticeable: Int64 = 5_400

  let frames: HandoffQueue<FrameItem>
  /// Frames that this thread has, or is about to have: the one shown last and the next.
  private let inHand = Atomic(2)
  private let session: Session
  private let plan: Plan
  private let rungs: [RungEncoder]
  private var isOpen = false
  private var run: Int?
  private var grid: TimeGrid
  private var cap: FrameRateCap?
  private let refill: RefillPolicy
  /// The frame shown last, and when, in ticks.
  private var last: Frame?
  private var lastTime: Int64 = 0
  private var lastDuration: Int64 = 0
  /// Distance of the last two frames that were new.
  private var lastStep: Int64 = 0
  private var shownAt = ContinuousClock.now
  private var overload: OverloadPolicy?
  private var load = Load()
  private var bitRate: Int64?

  private struct Load {
    var since = ContinuousClock.now
    var frames: Int64 = 0
    var dropped: Int64 = 0
    var busy: Duration = .zero
  }

  init(_ plan: Plan, session: Session) throws(RecordingError) {
    self.plan = plan
    self.session = session
    frames = HandoffQueue(capacity: plan.mostFrames - 1)
    let rate = plan.cap ?? plan.frameRate
    let frame = rate.inverse.convert(1, to: .ticks)
    grid = TimeGrid(interval: session.configuration.segmentTicks, tolerance: TimeGrid.tolerance(frame: frame))
    cap = plan.cap.map(FrameRateCap.init)
    overload = plan.isLive ? plan.cap.map(OverloadPolicy.init) : nil
    refill = RefillPolicy(
      interval: session.configuration.refill?.ticks,
      frame: frame)
    var rungs: [RungEncoder] = []
    for index in plan.rungs.indices { rungs.append(try RungEncoder(plan, index, session: session)) }
    self.rungs = rungs
  }

  /// Runs until the queue of frames is closed.
  func work() {
    do throws(RecordingError) {
      try takeFrames()
      try endRun(isLast: true)
    } catch {
      session.fail(error)
      frames.discard()
    }
    last = nil
    session.put(.finish(track: plan.track))
  }

  private func takeFrames() throws(RecordingError) {
    while true {
      guard plan.isLive, run != nil, session.configuration.refill != nil else {
        guard let item = frames.take() else { return }
        try take(item)
        continue
      }
      switch frames.take(timeout: .milliseconds(100)) {
      case .element(let item): try take(item)
      case .timedOut: try showAgain()
      case .closed: return
      }
    }
  }

  /// Lets go of the oldest frames that wait, until another one may be made. For the thread that makes them.
  ///
  /// - Returns: how many went.
  func makeRoom() -> Int {
    var dropped = 0
    while frames.count + inHand.load(ordering: .relaxed) >= plan.mostFrames, frames.takeAtOnce() != nil { dropped += 1 }
    return dropped
  }

  // MARK: Time

  private func take(_ item: consuming FrameItem) throws(RecordingError) {
    switch consume item {
    case .frame(let frame, let run): try take(frame, of: run)
    case .shown(let time, let run): if run == self.run, last != nil { try fill(before: time) }
    case .endOfRun: try endRun(isLast: true)
    }
  }

  private func take(_ taken: consuming Frame, of run: Int) throws(RecordingError) {
    var frame = taken
    if run != self.run {
      try endRun(isLast: false)
      self.run = run
    }
    let timeBase = frame.timeBase
    guard let pts = frame.pts else { return }
    var time = max(0, timeBase.convert(pts, to: .ticks))
    let duration = max(0, timeBase.convert(frame.duration, to: .ticks))
    guard last != nil else { return try begin(&frame, time, duration) }
    try watchLoad()
    if cap != nil {
      guard let slot = cap?.admit(time) else {
        session.meter.add { $0.thinned += 1 }
        return
      }
      time = slot
    }
    // Something was shown there already: a repeat, while a frame was late; or the source tells one time for several.
    guard time > lastTime + min(refill.frame / 4, 360) else {
      session.meter.add { $0.thinned += 1 }
      return
    }
    try fill(before: time)
    try show(&frame, time, duration)
  }

  /// Once a second: tells the rate, and lowers or raises it when the encoder cannot keep up with a live source or can
  /// again.
  private func watchLoad() throws(RecordingError) {
    let now = ContinuousClock.now
    let elapsed = now - load.since
    guard elapsed >= .seconds(1) else { return }
    let progress = session.meter.value
    let seconds = Double(elapsed.microseconds) / 1_000_000
    let frames = progress.frames - load.frames
    session.meter.add { $0.frameRate = Double(frames) / seconds }
    let dropped = Int(progress.dropped - load.dropped)
    let step = overload?.observe(
      dropped: dropped, offered: Int(frames) + dropped, busy: Double(load.busy.microseconds) / 1_000_000 / seconds,
      elapsed: elapsed)
    if case .change(let rate) = step {
      let isSlower = rate.value < cap?.rate.value ?? 0
      cap?.change(to: rate)
      let tenths = Int((rate.value * 10).rounded())
      let shown = tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
      session.log.write(
        Log.Event(
          isSlower ? .warning : .info, "rate",
          isSlower
            ? "the encoder cannot keep up, \(dropped) frames were lost: recording \(shown) frames a second"
            : "the encoder keeps up again: recording \(shown) frames a second",
          ["frames_per_second": .number(rate.value), "dropped": .init(dropped)]))
    }
    load = Load(since: now, frames: progress.frames, dropped: progress.dropped)
  }

  /// The first frame of a run is shown from the run's origin, where the sound may begin earlier.
  private func begin(_ frame: inout Frame, _ time: Int64, _ duration: Int64) throws(RecordingError) {
    _ = cap?.admit(0)
    try show(&frame, 0, duration)
    guard time > max(refill.frame, min(duration, 9000)) / 2 else { return }
    try fill(before: time)
    guard time > lastTime else { return }
    try repeatLast(at: time)
    lastDuration = duration
  }

  private func fill(before time: Int64) throws(RecordingError) {
    while let next = refill.repeatTime(after: lastTime, before: time, segmentStart: grid.next) {
      try repeatLast(at: next)
    }
  }

  /// Nothing new came from a live source.
  private func showAgain() throws(RecordingError) {
    // Once the recording is to end the other tracks end where the picture did.
    guard last != nil, !session.isStopping, let interval = refill.interval else { return }
    let waited = ContinuousClock.now - shownAt
    let now = lastTime + waited.ticks
    // A frame may be on its way.
    guard now >= lastTime + interval + 2 * refill.frame else { return }
    try fill(before: now)
    // Where the source is away, the other tracks go on for as long.
    if let run { session.noteEnd(lastTime + refill.frame, of: run) }
  }

  private func repeatLast(at time: Int64) throws(RecordingError) {
    guard let frame = try media({ () throws(AVError) in try last?.shared() }) else { return }
    var copy = frame
    let before = shownAt
    let elapsed = time - lastTime
    cap?.occupy(time)
    try encode(&copy, time)
    // In media time, so that waiting for the encoder does not stretch it.
    shownAt = before + .microseconds(RationalTime.ticks.convert(elapsed, to: .microseconds))
    session.meter.add { $0.refilled += 1 }
  }

  private func show(_ frame: inout Frame, _ time: Int64, _ duration: Int64) throws(RecordingError) {
    if last != nil { lastStep = time - lastTime }
    last = nil
    inHand.store(1, ordering: .relaxed)
    defer { inHand.store(2, ordering: .relaxed) }
    try encode(&frame, time)
    lastDuration = duration
    shownAt = .now
    var kept = try media { () throws(AVError) in try Frame() }
    kept.take(from: &frame)
    last = consume kept
  }

  // MARK: Encoding

  private func encode(_ frame: inout Frame, _ time: Int64) throws(RecordingError) {
    guard let run else { return }
    let isFirst = !isOpen
    if isFirst { try open(frame, run) }
    let startsSegment = !isFirst && grid.isReached(at: time)
    if startsSegment { grid.pass(time) }
    frame.requestKeyframe(isFirst || startsSegment)
    frame.timeBase = .ticks
    frame.pts = time
    lastTime = time
    if let wanted = session.videoBitRate, wanted != bitRate {
      bitRate = wanted
      // Each keeps its part of the whole.
      let full = session.fullVideoBitRate.load(ordering: .relaxed)
      for rung in rungs { rung.setBitRate(wanted * rung.fullBitRate / max(1, full)) }
    }
    let before = ContinuousClock.now
    for rung in rungs { try rung.encode(frame, run: run, isKey: isFirst || startsSegment) }
    load.busy += .now - before
    session.meter.add { $0.frames += 1 }
  }

  private func open(_ frame: borrowing Frame, _ run: Int) throws(RecordingError) {
    for rung in rungs { try rung.open(frame) }
    for rung in rungs { rung.begin(run) }
    session.fullVideoBitRate.store(rungs.reduce(0) { $0 + $1.fullBitRate }, ordering: .relaxed)
    isOpen = true
    grid = TimeGrid(interval: grid.interval, tolerance: grid.tolerance)
  }

  private func endRun(isLast: Bool) throws(RecordingError) {
    guard let run, isOpen else { return }
    // On a grid each frame lasts to the next line, however briefly the source shows it.
    let usual = cap?.slotLength ?? (lastDuration > 0 ? lastDuration : lastStep > 0 ? lastStep : refill.frame)
    var end = lastTime + usual
    if isLast { end = max(end, shownUntil(session.end(of: run), of: run, after: end)) }
    try fill(before: end)
    // Players that go by the nominal rate, as libav's do, take the last frame for a short one: it is shown once more.
    if end - lastTime >= 2 * refill.frame { try repeatLast(at: end - refill.frame) }
    for rung in rungs { try rung.endRun(run, at: end) }
    isOpen = false
    last = nil
    lastStep = 0
    bitRate = nil
    self.run = nil
    session.put(.end(track: plan.track, run: run))
  }

  /// How far the last picture is shown: to the end of sound that goes on for longer than players notice, and to the end
  /// of `--duration`, whose next picture was read, and belongs behind it.
  private func shownUntil(_ longest: Int64, of run: Int, after end: Int64) -> Int64 {
    longest - end > Self.noticeable || longest == session.limit(of: run) ? longest : end
  }
}

extension RecordingConfiguration {
  /// The encoder that was asked for; nil when pictures are not encoded.
  var softwareOrNamedEncoder: String? {
    guard case .encode(let codec) = video else { return nil }
    return encoder ?? codec.softwareEncoder
  }
}

extension VideoEncoderSettings {
  /// - Parameter segmentTicks: distance of the key frames that will be asked for, in 90 kHz ticks.
  static func usual(encoder: String, width: Int, height: Int, frameRate: RationalTime, segmentTicks: Int64)
    -> VideoEncoderSettings
  {
    // 0.07 bits per pixel and frame: 4.4 Mb/s for 1080p30, 1.9 Mb/s for 720p30.
    let bits = Double(width * height) * frameRate.value * 0.07
    let segmentFrames = frameRate.value * Double(segmentTicks) / 90_000
    return VideoEncoderSettings(
      encoder: encoder, width: width, height: height, frameRate: frameRate,
      bitRate: Int64(min(max(bits, 300_000), 12_000_000)), maximumGOP: Int(segmentFrames * 2) + 2)
  }
}
