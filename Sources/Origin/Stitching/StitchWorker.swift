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

  let store: any StitchStore
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
  /// When a recording is looked at next, where recordings are looked at one by one.
  private var looks: [RecordingName: ContinuousClock.Instant] = [:]
  private var touched: Set<RecordingName> = []
  private var nextScan: ContinuousClock.Instant

  init(
    _ store: any StitchStore, _ configuration: StitchConfiguration, _ log: Log,
    owns: @escaping @Sendable (RecordingName) -> Bool, writeWhole: @escaping @Sendable (RecordingName) -> Void,
    onUpdate: @escaping @Sendable (StitchUpdate) -> Void
  ) {
    self.store = store
    self.configuration = configuration
    self.log = log
    self.owns = owns
    self.writeWhole = writeWhole
    self.onUpdate = onUpdate
    nextScan = .now
  }

  /// In a bucket each look at a recording is a request or more, so that they are spread, and what was made known comes in
  /// between.
  private var looksSingly: Bool { store.isRemote }
  private static let singleLooks = 4

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
    var left = looksSingly ? StitchWorker.singleLooks : .max
    while left > 0, let recording = deadlines.takeDue(at: now) {
      left -= 1
      asked[recording] = nil
      if failed[recording].map({ $0.until <= now }) == true { _ = load(recording, at: now) }
      if looksSingly { lookIfDue(at: recording, now) }
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
    // It may have become another worker's since it was asked for.
    guard owns(recording) else { return false }
    if let failure = failed[recording], failure.until > now { return false }
    do throws(StorageError) {
      recordings[recording] = try RecordingStitching(store, recording, configuration.policy, log, at: now)
      touched.insert(recording)
      if looksSingly, let next = recordings[recording]?.nextLook(after: now) {
        looks[recording] = next
        ask(recording, at: next)
      }
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
    looks[recording] = nil
    let pause = min(failed[recording].map { $0.pause * 2 } ?? .seconds(1), .seconds(30))
    failed[recording] = (pause, now + pause)
    ask(recording, at: now + pause)
    // A recording that was removed is no failure of anything, and a store that is away says so itself.
    if error.isMissing || error.remoteReason == .away || error.remoteReason == .denied { return }
    if error.remoteReason == .overtaken {
      log.info("overtaken", "\(error); it is read anew", ["recording": .init(recording)])
      return
    }
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
      names = try store.recordings().filter(owns)
    } catch {
      if error.remoteReason != .away, error.remoteReason != .denied {
        log.error("stitch", "cannot look at \(store.root): \(error)")
      }
      return
    }
    for recording in names {
      if !looksSingly {
        look(at: recording, now)
      } else if recordings[recording] == nil, failed[recording] == nil {
        ask(recording, at: now)
      }
    }
    let there = Set(names)
    for (recording, stitching) in recordings where !there.contains(recording) {
      // A bucket's list of recordings may be older than what was made known.
      if looksSingly, owns(recording), now - stitching.lastNews < .seconds(60) { continue }
      recordings[recording] = nil
      looks[recording] = nil
    }
    for recording in failed.keys where !there.contains(recording) { failed[recording] = nil }
  }

  /// Looks at a recording when its time has come, and says when that is next.
  private mutating func lookIfDue(at recording: RecordingName, _ now: ContinuousClock.Instant) {
    guard owns(recording), failed[recording] == nil else { return }
    if max(looks[recording] ?? now, recordings[recording]?.quietUntil ?? now) <= now {
      look(at: recording, now)
      looks[recording] = recordings[recording]?.nextLook(after: now)
    }
    if let stitching = recordings[recording] {
      ask(recording, at: max(looks[recording] ?? now, stitching.quietUntil ?? now))
    }
  }

  private mutating func look(at recording: RecordingName, _ now: ContinuousClock.Instant) {
    do throws(StorageError) {
      if recordings[recording] == nil || recordings[recording]?.isEnded == true {
        if try store.isSettled(recording) {
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
    if let hint = recordings[recording]?.lastHint, now - hint <= .seconds(5) { return }
    attempt(recording, at: now) { stitching throws(StorageError) in
      try stitching.scan(changedOnly: true, at: now)
      if stitching.isEnded { stitching.wholeListMayBeOld() }
    }
    touched.insert(recording)
  }
}
