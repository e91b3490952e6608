/// What quality the network bears: full, reduced, spool only, catching up. Pure. Moves by measured goodput against what
/// is produced, and only after a state has held for a while, so that it does not swing.
package struct Ladder: Equatable, Sendable {
  package typealias Instant = ContinuousClock.Instant

  package enum Level: String, Sendable, CaseIterable {
    /// The bitrate that was asked for.
    case full
    /// The fallback bitrate; what does not go through stays in the spool.
    case reduced
    /// Next to nothing goes through: recording goes on at the fallback bitrate into the spool.
    case spoolOnly = "spool-only"
    /// The network is back: the fallback bitrate until the backlog is gone.
    case catchUp = "catch-up"

    package var usesFallback: Bool { self != .full }
  }

  package struct Measurement: Sendable {
    /// Bits a second the peer takes while there is something to send; nil while unknown.
    package var goodput: Double?
    /// Media seconds that are waiting.
    package var backlog: Double
    /// Nobody answers.
    package var isUnreachable: Bool

    package init(goodput: Double?, backlog: Double, isUnreachable: Bool) {
      self.goodput = goodput
      self.backlog = backlog
      self.isUnreachable = isUnreachable
    }
  }

  /// Bits a second, audio included.
  package let fullRate: Double
  package let fallbackRate: Double
  /// Media seconds of backlog that are ordinary: a segment on its way and one being written.
  package var ordinaryBacklog = 12.0
  /// How long a reason must hold before it moves the ladder down, and up.
  package var patienceDown: Duration = .seconds(4)
  package var patienceUp: Duration = .seconds(10)
  /// Going up needs this much more than is produced.
  package var headroom = 1.3
  /// Less of the fallback rate than this is next to nothing.
  package var trickle = 0.2

  package private(set) var level: Level = .full
  private var candidate: Level?
  private var candidateSince: Instant?

  package init(fullRate: Double, fallbackRate: Double) {
    self.fullRate = max(1, fullRate)
    self.fallbackRate = min(max(1, fallbackRate), max(1, fullRate))
  }

  /// Looks at a measurement. Returns the new level when it has changed.
  package mutating func observe(_ measurement: Measurement, now: Instant) -> Level? {
    let wanted = target(measurement)
    guard wanted != level else {
      candidate = nil
      candidateSince = nil
      return nil
    }
    if candidate != wanted {
      candidate = wanted
      candidateSince = now
    }
    let patience = isDescent(to: wanted) ? patienceDown : patienceUp
    // The network is back: sending is what tells how well, so there is nothing to wait for.
    let isReturn = level == .spoolOnly && wanted == .catchUp
    guard isReturn || now - (candidateSince ?? now) >= patience else { return nil }
    level = wanted
    candidate = nil
    candidateSince = nil
    return wanted
  }

  private func isDescent(to other: Level) -> Bool {
    switch (level, other) {
    case (.full, _), (_, .spoolOnly), (.catchUp, .reduced): true
    default: false
    }
  }

  private func target(_ measurement: Measurement) -> Level {
    let isBehind = measurement.backlog > ordinaryBacklog
    let goodput = measurement.goodput ?? (measurement.isUnreachable ? 0 : .infinity)
    let isDead = measurement.isUnreachable || goodput < fallbackRate * trickle
    switch level {
    case .full:
      return isBehind && (isDead || goodput < fullRate * headroom) ? .reduced : .full
    case .reduced:
      if isBehind, isDead { return .spoolOnly }
      guard goodput >= fullRate * headroom else { return .reduced }
      return isBehind ? .catchUp : .full
    case .spoolOnly:
      return isDead ? .spoolOnly : .catchUp
    case .catchUp:
      if isBehind { return isDead ? .spoolOnly : .catchUp }
      return goodput >= fullRate * headroom ? .full : .reduced
    }
  }
}
