import HLS
import Platform
import Storage

/// An uploader's hands in the spool: lists, locks, moves what is done, and finishes what a crash left.
final class SpoolFiles {
  private typealias Instant = ContinuousClock.Instant

  /// Keeps the right to send one recording.
  private final class Held {
    let lock: UploadLock
    init(_ lock: consuming UploadLock) { self.lock = lock }
  }

  var wantsScan = false
  private let tree: Tree
  private let log: Log
  private let mode: Uploader.Mode
  private let recording: RecordingName?
  private let newestFirst: Bool
  private var held: [RecordingName: Held] = [:]
  /// Recordings that another process is sending, with what they have waiting.
  private var elsewhere: [RecordingName: Int] = [:]
  /// Recordings with an open run and nobody at work on it, since when.
  private var orphans: [RecordingName: ContinuousClock.Instant] = [:]
  private var lastScan: ContinuousClock.Instant?
  private var scanCost: Duration = .zero
  private var sentTicks: Int64 = 0

  /// In a service a recorder that has crashed may be about to be started again.
  private static let orphanPatience: Duration = .seconds(60)
  /// A spool that takes long to list is listed less often: at most a twentieth of the time goes into it.
  private static let costFactor = 20

  init(
    _ tree: Tree, _ log: Log, _ mode: Uploader.Mode, _ recording: RecordingName?, newestFirst: Bool
  ) {
    self.tree = tree
    self.log = log
    self.mode = mode
    self.recording = recording
    self.newestFirst = newestFirst
  }

  // MARK: Looking

  /// In a live recording hints come from the recorder; elsewhere the disk is all there is.
  private var interval: Duration { max(mode == .live ? .seconds(30) : .seconds(1), scanCost * SpoolFiles.costFactor) }

  func isScanDue(_ plan: DeliveryPlan, now: ContinuousClock.Instant) -> Bool {
    guard let lastScan else { return true }
    let since = now - lastScan
    if wantsScan { return since >= scanCost * SpoolFiles.costFactor }
    return since >= interval || !plan.runsToList.isEmpty && since >= scanCost
  }

  func scan(_ plan: inout DeliveryPlan, now: ContinuousClock.Instant) throws(StorageError) {
    let start = ContinuousClock.now
    wantsScan = false
    defer {
      lastScan = now
      scanCost = .now - start
    }
    for name in try recordings() {
      // A directory without a run may be anybody's, unless it is the one that a recorder has asked for.
      if recording == nil, try tree.renditionsWithRuns(of: name).isEmpty { continue }
      guard try mayHandle(name, &plan) else { continue }
      try finishOrphan(name, now)
      for key in try tree.runs(of: name) where !plan.isFinished(key) {
        plan.listed(key, try tree.listing(of: key, windowSize: plan.windowSize, newestFirst: newestFirst))
      }
    }
  }

  private func recordings() throws(StorageError) -> [RecordingName] {
    if let recording { return [recording] }
    return try tree.recordings()
  }

  private func mayHandle(_ name: RecordingName, _ plan: inout DeliveryPlan) throws(StorageError) -> Bool {
    if held[name] != nil { return true }
    if let lock = try tree.tryUploadLock(name) {
      held[name] = Held(lock)
      elsewhere[name] = nil
      return true
    }
    var waiting = 0
    for key in try tree.runs(of: name) {
      let listing = try tree.listing(of: key, windowSize: 8, newestFirst: newestFirst)
      waiting += listing.waiting + (listing.marker != nil && !listing.isMarkerSent ? 1 : 0)
    }
    // Nothing to send: the recorder may not even have made the directory in which the right is held.
    guard waiting > 0 else {
      elsewhere[name] = nil
      plan.drop(recording: name)
      return false
    }
    if elsewhere[name] == nil {
      log.info("upload-elsewhere", "\(name) is being sent by another process", ["recording": .init(name)])
    }
    elsewhere[name] = waiting
    plan.drop(recording: name)
    return false
  }

  /// Another process sends what this one was asked to send; it is waited for.
  var waitsForOthers: Bool { waitingForOthers > 0 }
  var waitingForOthers: Int { elsewhere.values.reduce(0, +) }

  /// Salvages and closes what a recorder left that is gone. A live uploader's recorder is there by definition.
  private func finishOrphan(_ name: RecordingName, _ now: ContinuousClock.Instant) throws(StorageError) {
    guard mode != .live else { return }
    guard try isUnfinished(name), let lock = try tree.tryLock(name) else {
      orphans[name] = nil
      return
    }
    let since = orphans[name] ?? now
    orphans[name] = since
    guard mode == .drain || now - since >= SpoolFiles.orphanPatience else { return }
    let report = try tree.recover(lock, closingWith: .end, now: WallClockTime(milliseconds: WallClock.now()))
    orphans[name] = nil
    for path in report.salvaged {
      log.warning(
        "salvaged", "\(path) was being written when its recorder stopped; kept up to its last whole chunk",
        ["recording": .init(name), "file": .init(path)])
    }
    for problem in report.problems { log.error("recovery", "\(problem)", ["recording": .init(name)]) }
    if !report.closed.isEmpty {
      log.info("closed", "\(name) had no recorder any more and has been closed", ["recording": .init(name)])
    }
  }

  /// Whether a run is open, or the last one of a rendition says that another follows: its recorder was killed before it
  /// began that.
  private func isUnfinished(_ name: RecordingName) throws(StorageError) -> Bool {
    for rendition in try tree.renditions(of: name) {
      let runs = try tree.runs(of: name, rendition: rendition)
      for run in runs {
        var kind: MarkerName.Kind?
        try tree.entries(of: RunKey(recording: name, rendition: rendition, run: run)) { entry in
          if case .marker(let marker) = entry { kind = marker.kind }
          return kind == nil
        }
        if kind == nil || kind == .next && run == runs.last { return true }
      }
    }
    return false
  }

  // MARK: Changing

  /// Moves earlier refusals back among what is to be sent.
  func restoreRefused() throws(StorageError) {
    for name in try recordings() {
      for key in try tree.runs(of: name) {
        var entries: [RunEntry] = []
        try tree.entries(of: key, area: .refused) { entry in
          entries.append(entry)
          return true
        }
        for entry in entries {
          let path = EntryPath(key: key, entry: entry)
          // Of an init section there is only a note.
          if entry == .initSection {
            try tree.remove(path, area: .refused)
          } else {
            try tree.move(path, from: .refused, to: .run)
          }
        }
      }
    }
  }

  func acknowledged(_ path: EntryPath) {
    do throws(StorageError) {
      switch path.entry {
      case .segment(let name):
        sentTicks += name.ticks
        try tree.move(path, to: .sent)
      case .marker(let name): try tree.noteAcknowledged(name, of: path.key)
      case .initSection, .piece: break
      }
    } catch {
      // It will be sent once more after the next start, which harms nobody; what must not happen is that it is lost.
      if !error.isMissing { log.warning("spool", "\(error)", ["file": .init(path)]) }
    }
  }

  func setAside(_ path: EntryPath) {
    do throws(StorageError) {
      switch path.entry {
      case .segment: try tree.move(path, to: .refused)
      case .initSection: try tree.noteRefusedInitSection(of: path.key)
      case .marker, .piece: break
      }
    } catch {
      if !error.isMissing { log.warning("spool", "\(error)", ["file": .init(path)]) }
    }
  }

  /// Bytes of so much media, by what was sent so far.
  func bytes(ofTicks ticks: Int64, sentBytes: Int64) -> Int64 {
    sentTicks > 0 ? Int64(Double(sentBytes) / Double(sentTicks) * Double(ticks)) : 0
  }
}
