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
    /// Where the tracks of the last run end, in 90 kHz ticks.
    var end: Int64 = 0
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
    state.withLock { if $0.runStarts[run] == nil { $0.runStarts[run] = time } }
  }
  func start(of run: Int) -> WallClockTime? { state.withLock { $0.runStarts[run] } }

  /// Where a track ends; the longest decides how far the others are filled up.
  func noteEnd(_ ticks: Int64) { state.withLock { $0.end = max($0.end, ticks) } }
  var end: Int64 { state.withLock { $0.end } }

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
