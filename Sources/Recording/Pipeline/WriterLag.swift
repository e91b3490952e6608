import LibAV
import Platform
import Synchronization

/// Whether packets of a live input are still taken although the disk is behind. Pure.
///
/// What has been encoded cannot be thinned out: when the queue to the writer is full, the rest of the run goes, in all
/// tracks, and a new run begins when half of the queue has been written.
struct WriterLag: Sendable {
  typealias Instant = ContinuousClock.Instant

  enum Verdict: Equatable, Sendable {
    case take
    /// The first packet that is taken after others were not, for so long.
    case takeAgain(lost: Duration)
    case leave
    /// The first packet that is left.
    case leaveFrom
    /// Left as well, but the run after this one may begin.
    case leaveUntilRun(Int)
  }

  /// The run that has been cut short, and since when.
  private var cut: (run: Int, since: Instant)?
  private var hasEnded = false

  /// - Parameters:
  ///   - waiting: packets in the queue, of the `capacity` that it can hold.
  mutating func judge(run: Int, waiting: Int, capacity: Int, now: Instant) -> Verdict {
    if let cut, run <= cut.run { return waiting <= capacity / 2 ? .leaveUntilRun(cut.run + 1) : .leave }
    let since = cut?.since
    guard waiting < capacity else {
      cut = (run, since ?? now)
      return since == nil ? .leaveFrom : .leave
    }
    cut = nil
    return since.map { .takeAgain(lost: now - $0) } ?? .take
  }

  /// Nothing more comes but what is held back of the run, which stays cut. Returns, once, for how long nothing has been
  /// taken; nil when all has.
  mutating func end(now: Instant) -> Duration? {
    defer { hasEnded = true }
    return hasEnded ? nil : cut.map { now - $0.since }
  }
}

extension Session {
  /// Whether a packet of the programme is passed on; of a live input it may be left out.
  ///
  /// - Parameter waiting: packets in the fullest of the queues.
  func isTaken(_ run: Int, waiting: Int) -> Bool {
    switch lag.withLock({ $0.judge(run: run, waiting: waiting, capacity: outputs[0].capacity, now: .now) }) {
    case .take: return true
    case .takeAgain(let lost):
      tell("the disk has caught up: recording goes on in a new run", lost)
      return true
    case .leaveFrom:
      log.warning("disk-slow", "the spool's disk is slower than the input: what comes is lost until it has caught up")
    case .leave: break
    case .leaveUntilRun(let next): beginRun(next)
    }
    return false
  }

  /// The recording ends, maybe while the disk is behind.
  func endLag() {
    if let lost = lag.withLock({ $0.end(now: .now) }) { tell("recording ends before the disk has caught up", lost) }
  }

  private func tell(_ what: String, _ lost: Duration) {
    let ticks = lost.ticks
    meter.add { $0.lost += ticks }
    log.warning("disk-slow", "\(what); \(ticks / 90) ms are lost", ["lost": .number(Double(ticks) / 90_000)])
  }
}
