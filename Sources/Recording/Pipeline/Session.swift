import HLS
import LibAV
import Platform
import Synchronization

/// What all threads of one recording share.
final class Session: Sendable {
  let configuration: RecordingConfiguration
  let log: Log
  let meter = Meter()
  /// Ends blocking reads of each input.
  let interruptions: [Interruption]
  let output: HandoffQueue<TrackItem>
  private let state = Monitor(State())
  let started = ContinuousClock.now

  private struct State {
    var failure: RecordingError?
    var isStopping = false
    var wasStopped = false
    var runStarts: [Int: WallClockTime] = [:]
    /// Where the longest track of each run ends, in 90 kHz ticks.
    var ends: [Int: Int64] = [:]
    /// Where each run has to end because of `--duration`.
    var limits: [Int: Int64] = [:]
    var lowestRun = 0
    var videoBitRate: Int64?
  }

  init(_ configuration: RecordingConfiguration, _ log: Log, outputCapacity: Int) {
    self.configuration = configuration
    self.log = log
    interruptions = configuration.inputs.map { _ in Interruption() }
    output = HandoffQueue(capacity: outputCapacity)
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

  var isStopping: Bool { state.withLock { $0.isStopping } }
  var wasStopped: Bool { state.withLock { $0.wasStopped } }
  var failure: RecordingError? { state.withLock { $0.failure } }

  /// Waits for `duration`, or less when the recording is to end.
  func pause(_ duration: Duration) {
    _ = state.wait(timeout: duration) { $0.isStopping ? true : nil }
  }

  /// The wall-clock time of a run's origin is told by the thread that reads before it passes on a packet of the run.
  func setStart(of run: Int, _ time: WallClockTime) {
    state.withLock {
      if $0.runStarts[run] == nil { $0.runStarts[run] = time }
      $0.runStarts[run - 2] = nil
    }
  }
  func start(of run: Int) -> WallClockTime? { state.withLock { $0.runStarts[run] } }

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
    guard let duration = configuration.duration else { return nil }
    let limit = RationalTime.microseconds.convert(duration.microseconds, to: .ticks) - ticks
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

  /// What the encoder is to make from now on, in bits per second; nil leaves it as configured.
  var videoBitRate: Int64? {
    get { state.withLock { $0.videoBitRate } }
    set { state.withLock { $0.videoBitRate = newValue } }
  }

  /// Passes an item on; false when the recording has failed.
  func put(_ item: consuming TrackItem) -> Bool { output.put(item) }
}

/// Hands a value that cannot be copied to a thread.
final class Handover<Value: ~Copyable & Sendable>: Sendable {
  private let value: Mutex<Value?>

  init(_ value: consuming Value) { self.value = Mutex(value) }

  /// The value, for the first who asks.
  func take() -> Value? { value.withLock { $0.take() } }
}
