import CLibAV
import Synchronization

/// Ends a blocking libav call from another thread, by a stop or by a deadline. libav asks through `AVIOInterruptCB`, about
/// every 100 ms while it waits on a network; devices answer to it between two frames only.
package final class Interruption: Sendable {
  private let stopped = Atomic<Bool>(false)
  /// Microseconds of `av_gettime_relative`; `.max` is none.
  private let deadline = Atomic<Int64>(.max)
  private let answered = Atomic<Bool>(false)

  package init() {}

  /// Makes the call that blocks now, and all later ones, return `AVError.Kind.stopped`.
  package func stop() { stopped.store(true, ordering: .releasing) }
  package var isStopped: Bool { stopped.load(ordering: .acquiring) }

  /// Starts the clock of one operation; nil stops it.
  func arm(_ timeout: Duration?) {
    answered.store(false, ordering: .relaxed)
    guard let timeout else {
      deadline.store(.max, ordering: .relaxed)
      return
    }
    let (seconds, attoseconds) = timeout.components
    let microseconds = seconds.multipliedReportingOverflow(by: 1_000_000)
    let wait = microseconds.overflow ? Int64.max / 2 : microseconds.partialValue + attoseconds / 1_000_000_000_000
    deadline.store(av_gettime_relative().addingReportingOverflow(wait).partialValue, ordering: .relaxed)
  }

  var hasExpired: Bool {
    let deadline = deadline.load(ordering: .relaxed)
    return deadline != .max && av_gettime_relative() > deadline
  }

  /// libav has been told that the deadline has passed: what it still returns is the rest of what it had.
  var hasCutShort: Bool { answered.load(ordering: .relaxed) }

  var shouldReturn: Bool {
    if isStopped { return true }
    guard hasExpired else { return false }
    answered.store(true, ordering: .relaxed)
    return true
  }

  /// For libav to ask, which must not do so once this is gone.
  var callback: AVIOInterruptCB {
    unsafe AVIOInterruptCB(
      callback: { opaque in
        guard let opaque = unsafe opaque else { return 0 }
        return unsafe Unmanaged<Interruption>.fromOpaque(opaque).takeUnretainedValue().shouldReturn ? 1 : 0
      }, opaque: Unmanaged.passUnretained(self).toOpaque())
  }

  /// What `AVERROR_EXIT` (or the error a protocol made of it) means: nil when nobody interrupted.
  var cause: Int32? {
    if isStopped { return segrec_AVERROR_EXIT }
    return hasExpired ? -110 : nil
  }
}
