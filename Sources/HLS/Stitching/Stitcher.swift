/// Turns the arrivals of one rendition, in any order, into its live playlist. Pure: time is an argument, and the shell
/// looks at `Changes` to know what to write.
///
/// What the list has shown stays as it was: entries are only added at the end and, in a sliding list, taken from the
/// front. Work for an arrival depends on the number of entries it adds, never on what came before.
package struct Stitcher: Sendable {
  package let policy: StitchingPolicy
  /// The list as it stands. In an event list `entries` holds only the last entry and those not yet taken by
  /// `takeAppended()`; what was published stands in the file.
  package private(set) var playlist: MediaPlaylist
  /// When `advance` may find something to do without an arrival.
  package private(set) var deadline: ContinuousClock.Instant?

  /// Runs that have something left to publish, ascending, and the progress of each.
  private var order: [RunName] = []
  private var runs: [RunName: RunProgress] = [:]
  /// The highest run that has been left; it and those before it do not come back.
  private var lastLeft: RunName?
  private var last: Last?
  private var lastArrival: ContinuousClock.Instant?
  /// A hole that no gap covers lies before the next entry.
  private var mustBreak = false
  /// Whether a gap has been published, entries that have left included: what an event list's version depends on.
  package private(set) var hasGaps = false

  /// Of each run in the list: 90 kHz ticks, 0 where the rendition lacks the run that others have; and the discontinuity
  /// sequence number of its first entry.
  private var placed: [RunName: (ticks: Int64, number: Int)] = [:]
  /// Discontinuity sequence number of the last entry.
  private var discontinuities = 0
  private var known: Set<RunName> = []
  private var others = SharedRuns()

  /// The entry that was added last and where the clock of its continuous part started.
  private struct Last: Sendable {
    var run: RunName
    var anchor: WallClockTime
    var ticks: Int64
    var end: WallClockTime { anchor.advanced(byTicks: ticks) }
  }

  /// A new rendition. `targetDuration` is fixed where another rendition of the recording has been published.
  package init(policy: StitchingPolicy, targetDuration: Int? = nil) {
    self.policy = policy
    playlist = MediaPlaylist(
      kind: policy.window == .all ? .event : .sliding, targetDuration: targetDuration ?? 0)
  }

  /// Goes on where a list that was published earlier ends. Its kind and target duration stay: neither may change
  /// (RFC 8216bis-20 §6.2.1).
  package init(policy: StitchingPolicy, resuming published: MediaPlaylist) {
    self.policy = policy
    playlist = published
    guard let end = published.entries.last else { return }
    last = Last(run: end.run, anchor: end.date, ticks: end.ticks)
    if end.isAbsence {
      lastLeft = end.run
    } else {
      runs[end.run] = RunProgress()
      runs[end.run]?.next = end.sequence + 1
      runs[end.run]?.hasInitSection = true
      order = [end.run]
    }
    hasGaps = published.entries.contains(where: \.isGap)
    discontinuities = published.discontinuitySequence
    for entry in published.entries {
      if entry.isDiscontinuity { discontinuities += 1 }
      placed[entry.run, default: (0, discontinuities)].ticks += entry.isAbsence ? 0 : entry.ticks
    }
    known = Set(placed.keys)
    keepTailOnly()
  }

  /// Whether a segment of this run and number may still be published. A quick look that admits nothing.
  package func awaits(_ sequence: Int, in run: RunName) -> Bool {
    if let progress = runs[run] { return sequence >= progress.next }
    if let lastLeft, run <= lastLeft { return false }
    return last.map { run >= $0.run } ?? true
  }

  /// The earliest run that may still get something: what a listing need not look behind.
  package var earliestOpenRun: RunName? { order.first ?? last?.run }

  /// Number of the segment that comes next in a run; 0 where nothing of it has been published.
  package func next(in run: RunName) -> Int { runs[run]?.next ?? 0 }

  /// Nothing has been published yet: `targetDuration` may still be set.
  package var isUnpublished: Bool { last == nil }

  /// Seconds; 0 until it is fixed. Set once for all renditions of a recording, before anything is published.
  package var targetDuration: Int {
    get { playlist.targetDuration }
    set { if last == nil { playlist.targetDuration = newValue } }
  }

  /// The longest segment that has come, in 90 kHz ticks; 0 before the first.
  package private(set) var longestSeen: Int64 = 0

  // MARK: Other renditions

  package var facts: RunFacts {
    var facts = RunFacts()
    facts.last = last?.run
    facts.known = known
    for (run, place) in placed {
      facts.runs[run] = .init(
        ticks: place.ticks, number: place.number, isClosed: place.ticks == 0 || runs[run]?.isComplete ?? true,
        isOver: place.ticks > 0 && playlist.isEnded && run == last?.run)
    }
    for run in order where placed[run] == nil {
      if let progress = runs[run], progress.hasInitSection, progress.first != nil { facts.runs[run] = .init() }
    }
    return facts
  }

  /// What the other renditions of the recording have; taken into account by the next `advance`.
  package var shared: SharedRuns {
    get { others }
    set {
      others = newValue
      for run in newValue.runs.keys { _ = admit(run) }
    }
  }

  /// The rendition has this run, whether or not anything of it is still of use: what tells that it was recorded together
  /// with others.
  package mutating func note(_ run: RunName) { known.insert(run) }

  // MARK: Arrivals

  package enum Arrival: Equatable, Sendable {
    case new
    /// Known already; a second segment of one number leaves the first in place.
    case known
    /// Belongs before what has been published: not for this list, though the whole recording has it.
    case late
  }

  @discardableResult
  package mutating func initSectionArrived(_ run: RunName) -> Arrival {
    note(run)
    guard admit(run) else { return .late }
    guard runs[run]?.hasInitSection == false else { return .known }
    runs[run]?.hasInitSection = true
    return .new
  }

  @discardableResult
  package mutating func segmentArrived(
    _ name: SegmentName, in run: RunName, at time: ContinuousClock.Instant
  ) -> Arrival {
    note(run)
    guard admit(run), let next = runs[run]?.next, name.sequence >= next else { return .late }
    guard runs[run]?.insert(name, at: time) == true else { return .known }
    longestSeen = max(longestSeen, name.ticks)
    noteActivity(at: time)
    return .new
  }

  @discardableResult
  package mutating func markerArrived(
    _ marker: MarkerName, in run: RunName, at time: ContinuousClock.Instant
  ) -> Arrival {
    guard admit(run) else { return .late }
    guard runs[run]?.insert(marker, at: time) == true else { return .known }
    noteActivity(at: time)
    return .new
  }

  private mutating func admit(_ run: RunName) -> Bool {
    if runs[run] != nil { return true }
    if let lastLeft, run <= lastLeft { return false }
    if let last, run < last.run { return false }
    let place = order.firstIndex { run < $0 } ?? order.count
    order.insert(run, at: place)
    runs[run] = RunProgress()
    return true
  }

  /// Something of this rendition came at `time`: what `idleEnd` counts from.
  package mutating func noteActivity(at time: ContinuousClock.Instant) {
    lastArrival = lastArrival.map { max($0, time) } ?? time
  }

  // MARK: Publishing

  /// What one call of `advance` did.
  package struct Changes: Equatable, Sendable {
    package enum Notice: Equatable, Sendable {
      /// Segments `first...last` of `run` did not come.
      case gap(run: RunName, first: Int, last: Int)
      /// The segment is longer than the target duration allows; the live list has a gap in its place.
      case overlong(run: RunName, name: SegmentName)
      /// The recording went on in a later run before this one was complete; `segments` that are here were left out.
      case leftIncomplete(run: RunName, segments: Bool)
      case ended
      case reopened
    }

    package var added = 0
    package var removed = 0
    package var notices: [Notice] = []

    package var isEmpty: Bool { added == 0 && removed == 0 && notices.isEmpty }
    package var endChanged: Bool { notices.contains(.ended) || notices.contains(.reopened) }
  }

  /// Publishes what is due. Needs a target duration as soon as there is something to publish.
  package mutating func advance(at now: ContinuousClock.Instant) -> Changes {
    var changes = Changes()
    deadline = nil
    while let run = order.first, let progress = runs[run] {
      // The other lists have gone past it without: an entry would number what follows differently.
      if let barrier = others.barrier, run < barrier, placed[run] == nil, others.runs[run]?.number == nil {
        if progress.contentSince != nil {
          changes.notices.append(.leftIncomplete(run: run, segments: !progress.isWaitingForNothing))
        }
        leave(run, &changes)
        continue
      }
      if progress.hasInitSection, let first = progress.first, first.name.sequence == progress.next {
        publish(first.name, in: run, &changes)
        runs[run]?.takeFirst()
        runs[run]?.next = first.name.sequence + 1
        continue
      }
      let laterRun = laterContent
      let patience = policy.gapAfter ?? .seconds(3 * max(1, playlist.targetDuration))
      if progress.isComplete {
        guard let laterRun else { break }
        // How much of the run another list has is known when nothing more comes into it.
        if let other = others.runs[run], other.number != nil, other.closed == nil, now < laterRun + patience {
          deadline = laterRun + patience
          break
        }
        leave(run, &changes)
        continue
      }
      // Something is missing: a number in between, the init section, or what was to come before the later run.
      let isHole = progress.hasInitSection && progress.first != nil
      let isAbsent = !progress.hasInitSection && progress.contentSince == nil
      let moved = isAbsent ? [laterRun, others.runs[run]?.closed].compactMap { $0 }.min() : laterRun
      guard let since = isHole ? progress.first?.earliestFromHere : moved else { break }
      guard now >= since + patience else {
        deadline = since + patience
        break
      }
      if isHole, let first = progress.first {
        changes.notices.append(.gap(run: run, first: progress.next, last: first.name.sequence - 1))
        fill(upTo: first.name, in: run, missing: first.name.sequence - progress.next, &changes)
        runs[run]?.next = first.name.sequence
      } else {
        if !isAbsent {
          changes.notices.append(.leftIncomplete(run: run, segments: !progress.isWaitingForNothing))
        }
        leave(run, &changes)
      }
    }
    settleEnd(now, &changes)
    slide(&changes)
    return changes
  }

  /// When the content of the next run that has any came.
  private var laterContent: ContinuousClock.Instant? {
    for run in order.dropFirst() {
      if let since = runs[run]?.contentSince ?? others.runs[run]?.closed { return since }
    }
    return nil
  }

  /// For an event list: the entries added since the last call, which belong at the end of its file.
  package mutating func takeAppended(_ changes: Changes) -> ArraySlice<MediaPlaylist.Entry> {
    let added = playlist.entries.suffix(changes.added)
    keepTailOnly()
    return added
  }

  private mutating func keepTailOnly() {
    guard playlist.kind == .event, playlist.entries.count > 1 else { return }
    playlist.entries.removeFirst(playlist.entries.count - 1)
  }

  /// Goes on behind a run. What another list has more of it, because its recorder was killed between two files, is a gap at
  /// its end, so that what follows lies at the same place in all lists. A run of which this list has nothing and another
  /// has is an absence of its length.
  private mutating func leave(_ run: RunName, _ changes: inout Changes) {
    let next = runs[run]?.next ?? 0
    order.removeFirst()
    runs[run] = nil
    lastLeft = run
    guard let other = others.runs[run], other.number != nil else { return }
    if let own = placed[run] {
      let missing = other.ticks - own.ticks
      if let last, last.run == run, (Self.shortestSegment...policy.longestGap).contains(missing) {
        addGap(ticks: missing, in: run, numbers: next...next, start: last.end, &changes)
      }
      return
    }
    let isSensible = (1...policy.longestGap).contains(other.ticks)
    addAbsence(ticks: isSensible ? other.ticks : targetTicks, of: run, start: run.start, &changes)
  }

  /// A fifth of a second, in ticks. Renditions of a run may differ by less: their frames have other lengths.
  private static let shortestSegment: Int64 = 18_000

  private var targetTicks: Int64 { Int64(max(1, playlist.targetDuration)) * 90_000 }

  private mutating func addAbsence(ticks: Int64, of run: RunName, start: WallClockTime, _ changes: inout Changes) {
    let before = (entries: playlist.entries.count, ticks: placed[run]?.ticks ?? 0)
    addGap(ticks: ticks, in: run, numbers: 0...0, start: start, &changes)
    for index in playlist.entries.indices.dropFirst(before.entries) { playlist.entries[index].isAbsence = true }
    placed[run]?.ticks = before.ticks
  }

  /// Before the first entry of a run that another list has: brings the number of discontinuities to the other's. They
  /// differ when runs have left the other list before this one got to them.
  private mutating func align(with run: RunName, _ changes: inout Changes) {
    guard last?.run != run, let number = others.runs[run]?.number else { return }
    guard let last else {
      if playlist.kind == .sliding {
        playlist.discontinuitySequence = number
        discontinuities = number
      }
      return
    }
    // A list that lies about its numbers must not make this one endless.
    for _ in 0..<min(64, max(0, number - discontinuities - 1)) {
      mustBreak = true
      addAbsence(ticks: 90_000, of: last.run, start: last.end, &changes)
    }
  }

  private mutating func settleEnd(_ now: ContinuousClock.Instant, _ changes: inout Changes) {
    var isOver = false
    if order.count == 1, let progress = runs[order[0]], progress.isComplete, progress.marker?.kind == .end {
      isOver = true
    } else if order.isEmpty, let last, others.runs[last.run]?.isOver == true {
      isOver = true
    } else if let idleEnd = policy.idleEnd, let lastArrival, deadline == nil, last != nil {
      isOver = now >= lastArrival + idleEnd
      if !isOver { deadline = lastArrival + idleEnd }
    }
    // A resumed list may have ended while nothing has arrived yet to say why; it stays so until something does.
    if playlist.isEnded, changes.added == 0 { return }
    guard last != nil else { return }
    if playlist.isEnded != isOver {
      playlist.isEnded = isOver
      changes.notices.append(isOver ? .ended : .reopened)
    }
  }

  private mutating func slide(_ changes: inout Changes) {
    guard playlist.kind == .sliding, changes.added > 0 else { return }
    // A list that was published as a sliding one stays one, even where everything is to be kept from now on.
    let wanted = if case .last(let ticks) = policy.window { ticks } else { Int64(3_600 * 90_000) }
    let least = max(wanted, Int64(3 * playlist.targetDuration) * 90_000)
    var total = playlist.ticks
    var count = 0
    for entry in playlist.entries.dropLast() {
      guard total - entry.ticks >= least else { break }
      total -= entry.ticks
      count += 1
      if entry.isDiscontinuity { playlist.discontinuitySequence += 1 }
    }
    playlist.entries.removeFirst(count)
    playlist.mediaSequence += count
    changes.removed = count
    if count > 0, let first = playlist.entries.first?.run { placed = placed.filter { $0.key >= first } }
  }

  // MARK: Entries

  private mutating func publish(_ name: SegmentName, in run: RunName, _ changes: inout Changes) {
    guard MediaPlaylist.roundedSeconds(name.ticks) <= playlist.targetDuration else {
      changes.notices.append(.overlong(run: run, name: name))
      if name.ticks <= policy.longestGap {
        addGap(ticks: name.ticks, in: run, numbers: name.sequence...name.sequence, start: name.start, &changes)
      } else {
        mustBreak = true
      }
      return
    }
    align(with: run, &changes)
    let (date, isDiscontinuity) = place(run, start: name.start)
    playlist.entries.append(.init(run: run, name: name, date: date, isDiscontinuity: isDiscontinuity))
    extend(run, date, ticks: name.ticks, isDiscontinuity)
    changes.added += 1
  }

  /// Covers the time between the last entry and `next` with gaps, so that players keep the time line.
  private mutating func fill(upTo next: SegmentName, in run: RunName, missing: Int, _ changes: inout Changes) {
    let start = last.flatMap { $0.run == run ? $0.end : nil } ?? run.start
    let ticks = next.start.milliseconds(since: start) * 90
    guard ticks > 0, ticks <= policy.longestGap else {
      mustBreak = true
      return
    }
    addGap(ticks: ticks, in: run, numbers: (next.sequence - missing)...(next.sequence - 1), start: start, &changes)
  }

  /// Entries of equal length: one for each number where that gives a sensible length, else as many as the target
  /// duration asks for.
  private mutating func addGap(
    ticks: Int64, in run: RunName, numbers: ClosedRange<Int>, start: WallClockTime, _ changes: inout Changes
  ) {
    align(with: run, &changes)
    let needed = Int((ticks + targetTicks - 1) / targetTicks)
    // A name that lies must not make a million entries.
    let most = max(1, ticks / Self.shortestSegment)
    let count = numbers.count >= needed && Int64(numbers.count) <= most ? numbers.count : needed
    for index in 0..<count {
      let length = ticks * Int64(index + 1) / Int64(count) - ticks * Int64(index) / Int64(count)
      let (date, isDiscontinuity) = place(run, start: start.advanced(byTicks: ticks * Int64(index) / Int64(count)))
      let sequence = numbers.lowerBound + index * numbers.count / count
      playlist.entries.append(
        .init(gapIn: run, sequence: sequence, ticks: length, date: date, isDiscontinuity: isDiscontinuity))
      extend(run, date, ticks: length, isDiscontinuity)
      changes.added += 1
    }
  }

  /// The date of an entry that starts at `start`, and whether it breaks the time line.
  ///
  /// Within a run media time goes on, so dates follow from durations, and from names as far as a recorder slews. A name a
  /// second or more ahead of that is a jump. A name behind it is a clock that was set back: dates in a list must not
  /// (RFC 8216bis-20 §4.4.4.6), so it waits until the clock has caught up.
  private func place(_ run: RunName, start: WallClockTime) -> (WallClockTime, Bool) {
    guard let last else { return (start, false) }
    let expected = last.end
    if run == last.run, !mustBreak, start.milliseconds(since: expected) < 1_000 {
      return (MediaPlaylist.settle(expected, named: start), false)
    }
    return (max(start, expected), true)
  }

  private mutating func extend(_ run: RunName, _ date: WallClockTime, ticks: Int64, _ isDiscontinuity: Bool) {
    mustBreak = false
    if isDiscontinuity { discontinuities += 1 }
    placed[run, default: (0, discontinuities)].ticks += ticks
    hasGaps = hasGaps || playlist.entries.last?.isGap == true
    if var last, !isDiscontinuity, last.end == date {
      last.ticks += ticks
      self.last = last
    } else {
      last = Last(run: run, anchor: date, ticks: ticks)
    }
  }
}
