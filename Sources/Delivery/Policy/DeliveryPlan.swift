package import HLS

/// What is to be sent and in what order. Pure, and the same for every kind of server: init section before segments, a
/// marker when all before it are acknowledged, an end marker when the whole recording is. A file that fails waits without
/// holding up others.
package struct DeliveryPlan: Sendable {
  package typealias Instant = ContinuousClock.Instant

  package enum CatchUp: String, Sendable, CaseIterable {
    /// In the order of recording.
    case oldest
    /// Live viewers first; the backlog is filled in behind, newest first.
    case newest
  }

  package let catchUp: CatchUp
  /// Names of one run that are held in memory at most.
  package let windowSize: Int

  private var runs: [RunKey: RunQueue] = [:]
  /// Runs of which everything has been acknowledged.
  private var finished: Set<RunKey> = []

  package init(catchUp: CatchUp, windowSize: Int = 512) {
    self.catchUp = catchUp
    self.windowSize = max(8, windowSize)
  }

  // MARK: What there is

  package func isFinished(_ key: RunKey) -> Bool { finished.contains(key) }

  /// Takes what a look at a run's directory shows.
  package mutating func listed(_ key: RunKey, _ listing: SpoolListing) {
    guard !finished.contains(key) else { return }
    runs[key, default: RunQueue(key)].update(listing)
    settle(key)
  }

  /// Takes the recorder's word for a new file. False when a listing must tell.
  package mutating func arrived(_ path: EntryPath) -> Bool {
    guard !finished.contains(path.key) else { return true }
    return runs[path.key, default: RunQueue(path.key)].arrived(path.entry, newestFirst: catchUp == .newest)
  }

  /// Runs of which more must be listed before all of it can be sent.
  package var runsToList: [RunKey] {
    runs.values.filter { $0.needsListing(windowSize: windowSize) }.map(\.key).sorted()
  }

  /// Runs whose directory may still change.
  package var unfinished: [RunKey] { runs.keys.sorted() }

  package mutating func drop(recording: RecordingName) {
    runs = runs.filter { $0.key.recording != recording }
  }

  // MARK: What goes

  package struct Job: Equatable, Sendable {
    package let path: EntryPath
    /// Of this file since this process knows it, counted from 1.
    package let attempt: Int
  }

  /// The file to send now, which counts as on its way from here on.
  package mutating func next(now: Instant) -> Job? {
    var best: (rank: Int64, key: RunKey, item: RunQueue.Item)?
    for (key, queue) in runs {
      guard
        let item = queue.next(now: now, newestFirst: catchUp == .newest, mayEnd: mayEnd(key))
      else { continue }
      let rank = rank(item, key)
      if let best, (best.rank, best.key) <= (rank, key) { continue }
      best = (rank, key, item)
    }
    guard let best else { return nil }
    runs[best.key]?.change(best.item.entry) { item in
      item.state = .inFlight
      item.attempts += 1
    }
    return Job(path: EntryPath(key: best.key, entry: best.item.entry), attempt: best.item.attempts + 1)
  }

  /// Lower goes first: by time, and what others wait for before all.
  private func rank(_ item: RunQueue.Item, _ key: RunKey) -> Int64 {
    let time: Int64
    if case .segment(let name) = item.entry {
      time = name.start.milliseconds
    } else {
      return catchUp == .oldest ? key.run.start.milliseconds - 1 : .min
    }
    return catchUp == .oldest ? time : -time
  }

  /// An end marker says that the recording is whole, so all runs of it come first.
  private func mayEnd(_ key: RunKey) -> Bool {
    runs.values.allSatisfy { other in
      other.key == key || other.key.recording != key.recording
        // Another rendition's end marker may be waiting for this one in turn; its segments are all there.
        || other.isComplete && (other.isEnding || other.isMarkerDone)
    }
  }

  package mutating func acknowledged(_ path: EntryPath) {
    runs[path.key]?.change(path.entry) { $0.state = .done }
    settle(path.key)
  }

  package mutating func setAside(_ path: EntryPath) {
    runs[path.key]?.change(path.entry) { $0.state = .refused }
  }

  /// Another attempt may be made at `notBefore`.
  package mutating func failed(_ path: EntryPath, notBefore: Instant) {
    runs[path.key]?.change(path.entry) { item in
      item.state = .waiting
      item.notBefore = notBefore
    }
  }

  /// The file is gone from its place.
  package mutating func vanished(_ path: EntryPath) {
    runs[path.key]?.forget(path.entry)
    settle(path.key)
  }

  /// Whatever waits for its next attempt may go now.
  package mutating func retryNow() {
    for key in runs.keys { runs[key]?.forEachWaiting { $0.notBefore = nil } }
  }

  private mutating func settle(_ key: RunKey) {
    guard let queue = runs[key], queue.isComplete, queue.isMarkerDone else { return }
    runs[key] = nil
    finished.insert(key)
  }

  // MARK: How it stands

  package struct Backlog: Equatable, Sendable {
    /// Segments in the spool that are not acknowledged.
    package var segments = 0
    /// Their duration in 90 kHz ticks.
    package var ticks: Int64 = 0
    /// Init sections and markers that are not acknowledged.
    package var others = 0
    /// Segments the server refused for good, those of refused runs included.
    package var refused = 0
    /// Runs whose init section the server refused for good, so that none of their segments can be sent.
    package var refusedRuns = 0

    package var seconds: Double { Double(ticks) / 90_000 }
    package var isEmpty: Bool { segments == 0 && others == 0 }
  }

  package var backlog: Backlog {
    var backlog = Backlog()
    for queue in runs.values {
      backlog.refused += queue.refused
      if queue.marker.map({ $0.state != .done }) == true { backlog.others += 1 }
      if queue.isRefusedWhole {
        backlog.refused += queue.waiting
        backlog.refusedRuns += 1
        continue
      }
      backlog.segments += queue.waiting
      backlog.ticks += queue.waitingTicks
      if queue.initSection.map({ $0.state != .done }) == true, queue.waiting > 0 || !queue.isIdle {
        backlog.others += 1
      }
    }
    return backlog
  }

  /// Nothing is left that could be sent: what remains waits for segments that were refused, or for a recorder.
  package var isDrained: Bool {
    // An end marker that waits while all other runs are idle waits for something that will not come by sending.
    runs.values.allSatisfy { queue in queue.isIdle || queue.hasOnlyMarkerLeft && !mayEnd(queue.key) && queue.isEnding }
  }

  package func earliestRetry(after now: Instant) -> Instant? {
    runs.values.compactMap { $0.earliest(after: now) }.min()
  }
}
