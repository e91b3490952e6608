import HLS
import Platform
import Storage

/// Looks after one share of the recordings on one thread. What it knows of a recording comes from the disk, so that any
/// failure is answered by forgetting the recording and looking at it again a little later.
struct StitchWorker {
  enum Notice: Sendable {
    case file(EntryPath)
    /// Look at all directories: notices were lost.
    case lookAgain
  }

  let tree: Tree
  let configuration: StitchConfiguration
  let log: Log
  /// Whether a recording is this worker's.
  let owns: @Sendable (RecordingName) -> Bool
  /// Writes the whole list of an ended recording elsewhere; it takes longer than a live list may wait.
  let writeWhole: @Sendable (RecordingName) -> Void
  let onUpdate: @Sendable (StitchUpdate) -> Void

  private var recordings: [RecordingName: RecordingStitching] = [:]
  private var deadlines = DeadlineQueue<RecordingName>()
  /// When each recording asked for in `deadlines` is asked for first.
  private var asked: [RecordingName: ContinuousClock.Instant] = [:]
  /// Recordings that failed, and when to try again.
  private var failed: [RecordingName: (pause: Duration, until: ContinuousClock.Instant)] = [:]
  private var touched: Set<RecordingName> = []
  private var nextScan: ContinuousClock.Instant

  init(
    _ tree: Tree, _ configuration: StitchConfiguration, _ log: Log,
    owns: @escaping @Sendable (RecordingName) -> Bool, writeWhole: @escaping @Sendable (RecordingName) -> Void,
    onUpdate: @escaping @Sendable (StitchUpdate) -> Void
  ) {
    self.tree = tree
    self.configuration = configuration
    self.log = log
    self.owns = owns
    self.writeWhole = writeWhole
    self.onUpdate = onUpdate
    nextScan = .now
  }

  /// Notices handled before the lists of the recordings they touch are written.
  private static let batch = 256

  mutating func run(_ notices: HandoffQueue<Notice>) {
    while true {
      let now = ContinuousClock.now
      let due = min(deadlines.earliest ?? nextScan, nextScan)
      switch notices.take(timeout: max(.zero, due - now)) {
      case .closed:
        return
      case .timedOut:
        break
      case .element(let first):
        take(first, at: .now)
        for _ in 1..<StitchWorker.batch {
          guard let next = notices.takeAtOnce() else { break }
          take(next, at: .now)
        }
      }
      work(at: .now)
    }
  }

  /// Takes note; nothing is written yet.
  mutating func take(_ notice: Notice, at now: ContinuousClock.Instant) {
    switch notice {
    case .lookAgain:
      nextScan = now
    case .file(let path):
      let recording = path.key.recording
      guard load(recording, at: now) else { return }
      attempt(recording, at: now) { stitching throws(StorageError) in try stitching.arrived(path, at: now) }
      touched.insert(recording)
    }
  }

  /// Publishes what is due and writes what changed.
  mutating func work(at now: ContinuousClock.Instant) {
    if now >= nextScan {
      scan(at: now)
      nextScan = .now + configuration.rescanInterval
    }
    while let recording = deadlines.takeDue(at: now) {
      asked[recording] = nil
      if failed[recording].map({ $0.until <= now }) == true { _ = load(recording, at: now) }
      guard let stitching = recordings[recording] else { continue }
      if let deadline = stitching.deadline {
        if deadline <= now { touched.insert(recording) } else { ask(recording, at: deadline) }
      }
    }
    for recording in touched { advance(recording, at: now) }
    touched.removeAll()
  }

  // MARK: One recording

  /// Makes sure a recording is known. False when it cannot be looked at now.
  private mutating func load(_ recording: RecordingName, at now: ContinuousClock.Instant) -> Bool {
    if recordings[recording] != nil { return true }
    if let failure = failed[recording], failure.until > now { return false }
    do throws(StorageError) {
      recordings[recording] = try RecordingStitching(tree, recording, configuration.policy, log, at: now)
      touched.insert(recording)
      return true
    } catch {
      fail(recording, error, at: now)
      return false
    }
  }

  private mutating func attempt(
    _ recording: RecordingName, at now: ContinuousClock.Instant,
    _ body: (inout RecordingStitching) throws(StorageError) -> Void
  ) {
    // Taken out while it is worked on, so that its lists are changed in place and not copied.
    guard var stitching = recordings.removeValue(forKey: recording) else { return }
    do throws(StorageError) {
      try body(&stitching)
      recordings[recording] = stitching
    } catch {
      fail(recording, error, at: now)
    }
  }

  private mutating func fail(_ recording: RecordingName, _ error: StorageError, at now: ContinuousClock.Instant) {
    recordings[recording] = nil
    let pause = min(failed[recording].map { $0.pause * 2 } ?? .seconds(1), .seconds(30))
    failed[recording] = (pause, now + pause)
    ask(recording, at: now + pause)
    // A recording that was removed is no failure of anything.
    if error.isMissing { return }
    log.error(
      "stitch", "cannot stitch \(recording): \(error); trying again in \(pause)", ["recording": .init(recording)])
  }

  private mutating func advance(_ recording: RecordingName, at now: ContinuousClock.Instant) {
    var updates: [StitchUpdate] = []
    var isWholeDue = false
    attempt(recording, at: now) { stitching throws(StorageError) in
      let changed = try stitching.advance(at: now)
      for rendition in changed {
        updates.append(
          StitchUpdate(
            recording: recording, rendition: rendition, nextSequence: stitching.nextSequence(of: rendition) ?? 0,
            isEnded: stitching.isEnded))
      }
      if stitching.isEnded, stitching.wholeListIsDue {
        isWholeDue = true
        stitching.wholeListIsWritten()
      }
    }
    guard let stitching = recordings[recording] else { return }
    failed[recording] = nil
    if let deadline = stitching.deadline { ask(recording, at: deadline) }
    for update in updates { onUpdate(update) }
    if isWholeDue { writeWhole(recording) }
  }

  private mutating func ask(_ recording: RecordingName, at time: ContinuousClock.Instant) {
    if let before = asked[recording], before <= time { return }
    asked[recording] = time
    deadlines.insert(recording, at: time)
  }

  // MARK: The net below lost notices

  private mutating func scan(at now: ContinuousClock.Instant) {
    let names: [RecordingName]
    do throws(StorageError) {
      names = try tree.recordings().filter(owns)
    } catch {
      log.error("stitch", "cannot look at \(tree.root): \(error)")
      return
    }
    for recording in names { look(at: recording, now) }
    let there = Set(names)
    for recording in recordings.keys where !there.contains(recording) { recordings[recording] = nil }
    for recording in failed.keys where !there.contains(recording) { failed[recording] = nil }
  }

  private mutating func look(at recording: RecordingName, _ now: ContinuousClock.Instant) {
    do throws(StorageError) {
      if recordings[recording] == nil || recordings[recording]?.isEnded == true {
        if try WholeRecording.isSettled(tree, recording) {
          recordings[recording] = nil
          return
        }
      }
    } catch {
      fail(recording, error, at: now)
      return
    }
    if recordings[recording] == nil {
      _ = load(recording, at: now)
      return
    }
    // Where notices keep coming, a listing would only say the same again.
    guard let stitching = recordings[recording], now - stitching.lastArrival > .seconds(5) else { return }
    attempt(recording, at: now) { stitching throws(StorageError) in
      try stitching.scan(changedOnly: true, at: now)
      if stitching.isEnded { stitching.wholeListMayBeOld() }
    }
    touched.insert(recording)
  }
}
