/// What one rendition has of its runs, as far as the others have to know.
package struct RunFacts: Sendable {
  struct Run: Sendable {
    /// 90 kHz ticks in the list; 0 where the rendition lacks the run, or has not published it yet.
    var ticks: Int64 = 0
    /// Discontinuity sequence number of its first entry; nil while the list has none.
    var number: Int?
    /// Nothing more of it will come into the list.
    var isClosed = false
    /// The list ends with it.
    var isOver = false
  }

  var runs: [RunName: Run] = [:]
  /// Run of the last entry.
  var last: RunName?
  /// All runs the rendition is known to have or have had.
  var known: Set<RunName> = []
}

/// What the other renditions of a recording make known to one, so that matching content has matching discontinuity
/// sequence numbers in all their lists (RFC 8216bis-20 §6.2.4): a run that only one rendition has is an entry of absence
/// in the others.
package struct SharedRuns: Equatable, Sendable {
  package struct Run: Equatable, Sendable {
    /// 90 kHz ticks that the rendition with most of it has published.
    package var ticks: Int64 = 0
    /// Discontinuity sequence number of its first entry in another list; nil while none has it.
    package var number: Int?
    /// Since when nothing more of it is expected anywhere.
    package var closed: ContinuousClock.Instant?
    /// Another list ends with it.
    package var isOver = false

    package init() {}
  }

  package var runs: [RunName: Run] = [:]
  /// A run before this one that no other list has is too late for this list as well.
  package var barrier: RunName?

  package init() {}

  /// What `name` has to know. Renditions that have no run in common were not recorded together, and tell each other
  /// nothing. To be asked anew before each step of each rendition: what one publishes binds the next.
  ///
  /// - Parameter before: what it knew before.
  package init(
    for name: RenditionName, among facts: [RenditionName: RunFacts], before: SharedRuns,
    at now: ContinuousClock.Instant
  ) {
    guard let own = facts[name] else { return }
    for (other, theirs) in facts where other != name && !theirs.known.isDisjoint(with: own.known) {
      add(theirs, at: now)
      if let last = theirs.last { barrier = barrier.map { max($0, last) } ?? last }
    }
    for run in runs.keys where runs[run]?.closed != nil {
      runs[run]?.closed = before.runs[run]?.closed ?? now
    }
  }

  private mutating func add(_ theirs: RunFacts, at now: ContinuousClock.Instant) {
    for (run, fact) in theirs.runs {
      let isKnown = runs[run] != nil
      var merged = runs[run] ?? Run()
      merged.ticks = max(merged.ticks, fact.ticks)
      merged.number = [merged.number, fact.number].compactMap { $0 }.max()
      merged.isOver = merged.isOver || fact.isOver
      merged.closed = fact.isClosed && (!isKnown || merged.closed != nil) ? now : nil
      runs[run] = merged
    }
  }
}
