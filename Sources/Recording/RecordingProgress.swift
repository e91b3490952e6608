import Synchronization

/// What a recording has done so far.
package struct RecordingProgress: Equatable, Sendable {
  /// Media written to segments, in 90 kHz ticks, all runs together.
  package var ticks: Int64 = 0
  package var segments = 0
  package var runs = 0
  /// Committed, in bytes, init sections included.
  package var bytes: Int64 = 0
  /// Frames that went to the encoder, repeats included, and packets of copied pictures.
  package var frames: Int64 = 0
  /// Frames a live source gave that were not recorded because the encoder was behind.
  package var dropped: Int64 = 0
  /// Frames that were too many for the rate.
  package var thinned: Int64 = 0
  /// Frames shown again because no new one came.
  package var refilled: Int64 = 0
  /// Frames of a capture that showed nothing new.
  package var identical: Int64 = 0
  /// Silence filled in, in 90 kHz ticks.
  package var silence: Int64 = 0
  /// What could not be kept because the spool was full or too slow, in 90 kHz ticks.
  package var lost: Int64 = 0
  /// Sent to the live receiver, and not sent because it was too slow, in 90 kHz ticks.
  package var pushed: Int64 = 0
  package var pushLost: Int64 = 0
  /// Times at which the live receiver went away.
  package var pushOutages = 0
  /// Packets that could not be decoded.
  package var damaged: Int64 = 0
  /// Times of packets that were put right.
  package var repaired: Int64 = 0
  /// An input comes at the pace of a clock of its own, read or not: a capture device, a live stream.
  package var isLive = false
  /// Frames per second that reach the encoder now; 0 when unknown.
  package var frameRate: Double = 0

  package init() {}
}

/// A finished recording.
package struct RecordingSummary: Equatable, Sendable {
  package let progress: RecordingProgress
  /// What ended it.
  package enum Ending: Equatable, Sendable { case inputEnded, durationReached, stopped }
  package let ending: Ending
}

/// Counters that every thread of a recording adds to.
final class Meter: Sendable {
  private let progress = Mutex(RecordingProgress())

  var value: RecordingProgress { progress.withLock { $0 } }
  /// For what is asked with every packet.
  var isLive: Bool { progress.withLock { $0.isLive } }
  func add(_ body: (inout RecordingProgress) -> Void) { progress.withLock { body(&$0) } }
}
