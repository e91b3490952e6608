import HLS
import LibAV
import Platform
import Synchronization

/// What all threads of one recording share.
final class Session: Sendable {
  let configuration: RecordingConfiguration
  let log: Log
  let meter = Meter()
  /// Ends blocking reads of each input, and of the microphone, which is the last.
  let interruptions: [Interruption]
  /// What each rendition consists of: those of the programme, highest quality first, and the microphone's.
  let outputs: [HandoffQueue<TrackItem>]
  /// Renditions that the programme has: not all that were asked for where the picture is small.
  let rungCount = Atomic(1)
  /// Sends the programme to a live receiver.
  let push: Push?
  private let state: Monitor<State>
  let started = ContinuousClock.now
  /// A run says that another follows, which may not come; or it could not be closed for want of room.
  let needsRecovery = Atomic(false)
  /// What the encoders of the picture were opened with together, in bits per second; 0 before.
  let fullVideoBitRate = Atomic<Int64>(0)

  /// How far the disk is behind a live input.
  let lag = Mutex(WriterLag())

  private struct State {
    var failure: RecordingError?
    var isStopping = false
    var wasStopped = false
    var runStarts: [Int: WallClockTime] = [:]
    /// Names of runs and the times of their origins, which all renditions share.
    var settled: [Int: (name: RunName, start: WallClockTime)] = [:]
    /// What the dates of a run's segments are ahead of media time, in milliseconds: to be, and as given to them.
    var dates: [Int: (slew: ClockSlew, given: [Int: Int64])] = [:]
    /// Places of the runs' origins among the samples of other sources: by the clock, and by the media before them.
    var clockPlaces: [Int: Int64] = [:]
    var mediaPlaces: [Int: Int64] = [:]
    /// How far each input has come, in ticks; nil: it has ended.
    var positions: [Int64?]
    var ended: Set<Int> = []
    /// Where the longest track of each run ends, in 90 kHz ticks.
    var ends: [Int: Int64] = [:]
    /// Where each run has to end because of `--duration`.
    var limits: [Int: Int64] = [:]
    var lowestRun = 0
    var videoBitRate: Int64?
    /// The encoder, while it is at a frame, and since when.
    var encoding: (name: String, since: ContinuousClock.Instant)?
  }

  init(_ configuration: RecordingConfiguration, _ log: Log, outputCapacity: Int) {
    self.configuration = configuration
    self.log = log
    interruptions = (0...configuration.inputs.count).map { _ in Interruption() }
    outputs = (0...max(1, configuration.ladder.count)).map { _ in HandoffQueue(capacity: outputCapacity) }
    push = configuration.push.map { [meter] in Push(url: $0, log: log, meter: meter) }
    state = Monitor(State(positions: configuration.inputs.map { _ in 0 }))
  }

  /// Ends the recording: nothing more is read, and what was read is recorded.
  func stop() {
    state.withLock {
      $0.isStopping = true
      $0.wasStopped = true
    }
    for interruption in interruptions { interruption.stop() }
  }

  /// Ends the recording because it cannot go on. The first reason counts.
  func fail(_ error: RecordingError) {
    state.withLock {
      $0.isStopping = true
      $0.failure = $0.failure ?? error
    }
    for interruption in interruptions { interruption.stop() }
  }

  /// The programme has ended; whoever waits for the sake of it need not any longer.
  func finish() { state.withLock { $0.isStopping = true } }

  var isStopping: Bool { state.withLock { $0.isStopping } }
  var wasStopped: Bool { state.withLock { $0.wasStopped } }
  var failure: RecordingError? { state.withLock { $0.failure } }

  /// Waits for `duration`, or less when the recording is to end.
  func pause(_ duration: Duration) {
    _ = state.wait(timeout: duration) { $0.isStopping ? true : nil }
  }

  /// The wall-clock time of a run's origin is told by the thread that reads before it passes on a packet of the run.
  func setStart(of run: Int, _ time: WallClockTime) {
    let place = clockPlace(of: time)
    state.withLock {
      if $0.runStarts[run] == nil {
        $0.runStarts[run] = time
        $0.clockPlaces[run] = place
      }
      $0.runStarts[run - 2] = nil
      if run > 2 { $0.clockPlaces[run - 2] = nil }
    }
  }
  func start(of run: Int) -> WallClockTime? { state.withLock { $0.runStarts[run] } }

  /// The name of a run and the time of its origin, the same for all renditions: those proposed by the first.
  func settle(_ run: Int, _ name: RunName, start: WallClockTime) -> (name: RunName, start: WallClockTime) {
    state.withLock {
      let settled = $0.settled[run] ?? (name, start)
      $0.settled[run] = settled
      // As many short runs as can wait for one of the writers.
      $0.settled[run - 1000] = nil
      return settled
    }
  }

  /// Milliseconds by which the wall clock was ahead of a run's start and media time when a packet came.
  func noteClock(ahead: Int64, in run: Int) {
    state.withLock {
      $0.dates[run, default: (ClockSlew(tolerance: 50), [:])].slew.note(ahead: ahead)
      $0.dates[run - 2] = nil
    }
  }

  /// Milliseconds by which the wall clock has come to be ahead of the media time of the newest run of a live source.
  var clockAhead: Int64 {
    state.withLock { state in state.dates.keys.max().flatMap { state.dates[$0]?.slew.latest } ?? 0 }
  }

  /// The date of a segment that begins at `ticks` of a run of a live source, the same for all renditions.
  func date(of sequence: Int, at ticks: Int64, in run: Int, from start: WallClockTime) -> WallClockTime {
    let ahead = state.withLock { state -> Int64 in
      guard let given = state.dates[run]?.given[sequence] else {
        // What had waited to be read at the run's beginning is known by then.
        let next =
          state.dates[run]?.slew.step(
            after: configuration.segmentTicks / 90, orAtOnceBeyond: sequence == 0 ? 0 : nil) ?? 0
        state.dates[run]?.given[sequence] = next
        state.dates[run]?.given[sequence - 1000] = nil
        return next
      }
      return given
    }
    return WallClockTime(milliseconds: start.advanced(byTicks: ticks).milliseconds + ahead)
  }

  // MARK: Sources with clocks of their own

  /// The wall-clock time that a live source's time stands for.
  ///
  /// - Parameter waited: how long ago it came, where its source does not tell the time.
  func wallClock(ofSource time: Int64, _ timeBase: RationalTime, waited: Duration = .zero) -> WallClockTime {
    let now = WallClock.now() - waited.microseconds / 1000
    let source = timeBase.convert(time, to: .microseconds) / 1000
    // Devices stamp with the wall clock.
    return WallClockTime(milliseconds: abs(source - now) < 60_000 ? source : now)
  }

  /// When a packet of a live source came, by the monotonic clock since the start. What devices stamp may have waited to be
  /// read, while another input was being opened.
  func arrival(ofSource time: Int64?, _ timeBase: RationalTime) -> Duration {
    let now = ContinuousClock.now - started
    guard let time else { return now }
    return now - .milliseconds(max(0, WallClock.now() - wallClock(ofSource: time, timeBase).milliseconds))
  }

  /// Place of a moment among samples at 48 kHz that count by the monotonic clock, whatever the wall clock does later.
  func clockPlace(of time: WallClockTime) -> Int64 {
    let elapsed = (ContinuousClock.now - started).microseconds / 1000
    // From an hour before the start, so that no place is negative.
    return (elapsed - (WallClock.now() - time.milliseconds) + 3_600_000) * StudioSound.rate / 1000
  }

  /// Place of a run's origin: by the clock for live sources, by the media before the run for stored ones.
  func place(of run: Int, byClock: Bool) -> Int64 {
    state.withLock {
      let media = $0.mediaPlaces[run] ?? 0
      guard byClock else { return media }
      return $0.clockPlaces[run] ?? ($0.clockPlaces[0] ?? 0) + media
    }
  }

  /// An input has come to `ticks` (nil: to its end), all runs together. Inputs that can wait do so for those behind them,
  /// so that what goes into one segment is read at about the same time.
  func keepStep(input: Int, at ticks: Int64?) {
    state.withLock { $0.positions[input] = ticks }
    guard let ticks else { return }
    _ = state.wait {
      $0.isStopping || $0.positions.allSatisfy { $0 ?? ticks > ticks - 180_000 } ? true : nil
    }
  }

  /// Nothing more is read of an input.
  func noteEnded(input: Int) { state.withLock { _ = $0.ended.insert(input) } }

  /// Waits until another input has come to `ticks`, all runs together, and tells how far; nil when none will.
  func position(after ticks: Int64, butOf input: Int) -> Int64? {
    let reached = state.wait { state -> Int64?? in
      let others = state.positions.indices.filter { $0 != input && !state.ended.contains($0) }
      if state.isStopping || others.isEmpty { return .some(nil) }
      guard let furthest = others.compactMap({ state.positions[$0] }).max(), furthest >= ticks else { return nil }
      return furthest
    }
    return reached ?? nil
  }

  /// Tells how far an input that has ended is accompanied: others need not wait for more.
  func noteAccompanied(input: Int, to ticks: Int64) { state.withLock { $0.positions[input] = ticks } }

  /// Where a track of a run ends; the longest decides how far the others are filled up.
  func noteEnd(_ ticks: Int64, of run: Int) {
    state.withLock {
      $0.ends[run] = max($0.ends[run] ?? 0, ticks)
      $0.ends[run - 2] = nil
    }
  }
  func end(of run: Int) -> Int64 { state.withLock { $0.ends[run] ?? 0 } }

  /// Tells how much media the runs before `run` had, in ticks.
  ///
  /// - Returns: where the run has to end; nil when there is no limit.
  func setConsumed(_ ticks: Int64, before run: Int) -> Int64? {
    state.withLock {
      $0.mediaPlaces[run] = StudioSound.samples(ticks)
      $0.mediaPlaces[run - 2] = nil
    }
    guard let duration = configuration.duration else { return nil }
    let limit = duration.ticks - ticks
    return state.withLock {
      $0.limits[run - 2] = nil
      let settled = $0.limits[run] ?? max(0, limit)
      $0.limits[run] = settled
      return settled
    }
  }
  func limit(of run: Int) -> Int64? { state.withLock { $0.limits[run] } }

  /// The run that every input has to be in by now: one of them was opened anew, and its clock is another.
  func beginRun(_ run: Int) { state.withLock { $0.lowestRun = max($0.lowestRun, run) } }
  var lowestRun: Int { state.withLock { $0.lowestRun } }

  /// What the encoders are to make together from now on, in bits per second; nil leaves them as configured.
  var videoBitRate: Int64? {
    get { state.withLock { $0.videoBitRate } }
    set { state.withLock { $0.videoBitRate = newValue } }
  }

  /// An encoder has got a frame and owes an answer; nil: it has given it.
  func noteEncoding(_ name: String?) { state.withLock { $0.encoding = name.map { ($0, .now) } } }

  /// The encoder that has been at one frame for longer than any takes: nothing can call it back.
  var stuckEncoder: String? {
    state.withLock { state in
      state.encoding.flatMap { .now - $0.since > PictureEncoder.patience ? $0.name : nil }
    }
  }

}

/// Hands a value that cannot be copied to a thread.
final class Handover<Value: ~Copyable & Sendable>: Sendable {
  private let value: Mutex<Value?>

  init(_ value: consuming Value) { self.value = Mutex(value) }

  /// The value, for the first who asks.
  func take() -> Value? { value.withLock { $0.take() } }
}
