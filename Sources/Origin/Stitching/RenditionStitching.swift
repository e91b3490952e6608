import HLS
import Platform
import Storage

/// Keeps the live playlist of one rendition: feeds a `Stitcher` from a directory, reads what playlists say of the media,
/// writes the file. Everything it knows is on the disk, so that after a failure it is thrown away and made anew.
///
/// Used by one thread.
struct RenditionStitching {
  let recording: RecordingName
  let rendition: RenditionName
  private(set) var stitcher: Stitcher
  /// Whether the list is on the disk.
  private(set) var isPublished = false
  /// No segment of the list has been seen that cannot be entered.
  private(set) var isIndependent = true

  private let tree: Tree
  private let log: Log
  private var file: LiveListFile
  private var initSections: [RunName: InitSection] = [:]
  private var frames: [RunName: FrameDurations] = [:]
  /// Bytes of each entry of a sliding list, 0 for a gap, nil where it was published before this process looked.
  private var sizes: [Int64?] = []
  /// At a start the newest entries are measured and the others taken as the multivariant playlist has them: reading the
  /// heads of an hour of segments for each of many recordings would take minutes.
  private static let measuredAtStart = 16
  private var meter: BandwidthMeter
  /// When each run's directory was last changed as of its last listing, in nanoseconds.
  private var listed: [RunName: Int64] = [:]

  /// Runs that a phone fills with pieces.
  private var pieces: [RunName: PieceRun] = [:]

  init(
    _ tree: Tree, _ recording: RecordingName, _ rendition: RenditionName, _ policy: StitchingPolicy, _ log: Log
  ) throws(StorageError) {
    self.tree = tree
    self.recording = recording
    self.rendition = rendition
    self.log = log
    file = LiveListFile(tree, recording, rendition)
    var published: MediaPlaylist?
    do throws(StorageError) {
      published = try file.published()
    } catch {
      guard case .damaged = error else { throw error }
      log.warning("stitch", "\(error); it is written anew", ["recording": .init(recording)])
    }
    if let published {
      stitcher = Stitcher(policy: policy, resuming: published)
    } else {
      stitcher = Stitcher(policy: policy)
    }
    meter = BandwidthMeter(targetDuration: max(1, stitcher.targetDuration))
    if let published, !published.entries.isEmpty {
      isPublished = true
      let old = published.entries.dropLast(RenditionStitching.measuredAtStart)
      if published.kind == .sliding { sizes = Array(repeating: nil, count: old.count) }
      for run in Set(old.lazy.filter { !$0.isGap }.map(\.run)) {
        initSections[run] = try tree.initSection(of: key(run))
      }
      try measure(published.entries.suffix(RenditionStitching.measuredAtStart))
    }
  }

  var targetDuration: Int {
    get { stitcher.targetDuration }
    set {
      stitcher.targetDuration = newValue
      meter = BandwidthMeter(targetDuration: stitcher.targetDuration)
    }
  }

  /// What the other renditions have.
  var shared: SharedRuns {
    get { stitcher.shared }
    set { stitcher.shared = newValue }
  }

  // MARK: Arrivals

  func key(_ run: RunName) -> RunKey { RunKey(recording: recording, rendition: rendition, run: run) }

  /// Takes note of a file that is there.
  mutating func arrived(
    _ entry: RunEntry, in run: RunName, at time: ContinuousClock.Instant
  ) throws(StorageError) -> Stitcher.Arrival {
    switch entry {
    case .initSection:
      return try initSectionArrived(in: run) ? .new : .known
    case .segment(let name):
      // A notice may have been lost, and the init section comes first.
      if initSections[run] == nil, stitcher.awaits(name.sequence, in: run) { _ = try initSectionArrived(in: run) }
      return stitcher.segmentArrived(name, in: run, at: time)
    case .marker(let marker):
      guard pieces[run] != nil else { return stitcher.markerArrived(marker, in: run, at: time) }
      // It counts pieces, which may become segments of several runs.
      pieces[run]?.arrived(marker, at: time)
      return .known
    case .piece(let number):
      if pieces[run] == nil { pieces[run] = try PieceRun(tree, key(run), log) }
      pieces[run]?.arrived(number, at: time)
      return .known
    }
  }

  /// Makes segments of the pieces that are due.
  /// - Returns: whether anything came of it.
  mutating func remux(at now: ContinuousClock.Instant) throws(StorageError) -> Bool {
    var hasMade = false
    let patience = stitcher.policy.gapAfter ?? .seconds(3 * max(TargetDuration.floor, targetDuration))
    for run in pieces.keys.sorted() {
      for file in try pieces[run]?.work(at: now, patience: patience) ?? [] {
        hasMade = true
        if case .marker(let marker) = file.entry {
          stitcher.markerArrived(marker, in: file.run, at: file.at)
        } else {
          _ = try arrived(file.entry, in: file.run, at: file.at)
        }
      }
    }
    return hasMade
  }

  /// When something is due without an arrival.
  var deadline: ContinuousClock.Instant? {
    ([stitcher.deadline] + pieces.values.map(\.deadline)).compactMap { $0 }.min()
  }

  private mutating func initSectionArrived(in run: RunName) throws(StorageError) -> Bool {
    guard initSections[run] == nil else { return false }
    do throws(StorageError) {
      guard let initSection = try tree.initSection(of: key(run)) else { return false }
      initSections[run] = initSection
    } catch {
      guard case .damaged = error else { throw error }
      // Without it the run's segments cannot be played; `gap-after` decides how long the list waits.
      log.warning("stitch", "\(error)", ["recording": .init(recording)])
      return false
    }
    return stitcher.initSectionArrived(run) == .new
  }

  /// Looks at the directories: all runs that may still add something, or only those that changed since the last look.
  ///
  /// - Parameter clock: the wall clock at `now`, to turn times of files into instants.
  mutating func scan(changedOnly: Bool, at now: ContinuousClock.Instant, clock: Int64) throws(StorageError) -> Bool {
    var foundSomething = false
    let earliest = stitcher.earliestOpenRun
    // What was published before is not listed again, and still is what the idle time counts from.
    if !changedOnly, let end = stitcher.playlist.entries.last(where: { !$0.isGap }), let name = end.name,
      let facts = try tree.facts(of: EntryPath(key: key(end.run), entry: .segment(name)))
    {
      stitcher.noteActivity(at: now - .milliseconds(max(0, clock - facts.modified)))
    }
    for run in try tree.runs(of: recording, rendition: rendition) {
      stitcher.note(run)
      if !changedOnly, pieces[run] == nil, try PieceRun.hasBegun(tree, key(run)) {
        pieces[run] = try PieceRun(tree, key(run), log)
      }
      if let earliest, run < earliest, pieces[run] == nil { continue }
      let changed = try modified(run)
      if changedOnly, listed[run] == changed { continue }
      var found: [(RunEntry, Int64?)] = []
      // A look at each file's time is dear in a directory where most are published already.
      let isFresh = stitcher.awaits(0, in: run)
      if isFresh {
        try tree.files(of: key(run)) { entry, facts in
          found.append((entry, facts.modified))
          return true
        }
      } else {
        let stitcher = stitcher
        try tree.entries(of: key(run)) { entry in
          if case .segment(let name) = entry, !stitcher.awaits(name.sequence, in: run) { return true }
          found.append((entry, nil))
          return true
        }
      }
      // Whether a marker counts pieces has to be known before it is looked at.
      found.sort { a, b in a.0.isPiece && !b.0.isPiece }
      for (entry, known) in found {
        let path = EntryPath(key: key(run), entry: entry)
        guard let modified = if let known { known } else { try tree.facts(of: path)?.modified } else { continue }
        let age = Duration.milliseconds(max(0, clock - modified))
        if try arrived(entry, in: run, at: now - age) == .new { foundSomething = true }
      }
      listed[run] = changed
    }
    return foundSomething
  }

  private func modified(_ run: RunName) throws(StorageError) -> Int64 {
    do throws(SystemError) {
      return try FileSystem.status(of: tree.path(of: key(run))).modifiedNanoseconds
    } catch {
      if error.isMissing { return 0 }
      throw .system(error)
    }
  }

  // MARK: Publishing

  /// Publishes what is due, and writes the list when it changed.
  mutating func advance(at now: ContinuousClock.Instant) throws(StorageError) -> Stitcher.Changes {
    let changes = stitcher.advance(at: now)
    guard changes.added > 0 || changes.removed > 0 || changes.endChanged else { return changes }
    let added = stitcher.playlist.entries.suffix(changes.added)
    try measure(added)
    try file.write(&stitcher, changes)
    isPublished = true
    if changes.removed > 0 {
      // Not as many as were removed: what is added and leaves the window at once has not been measured.
      sizes.removeFirst(max(0, sizes.count - stitcher.playlist.entries.count))
      forgetRuns()
    }
    return changes
  }

  private mutating func measure(_ entries: ArraySlice<MediaPlaylist.Entry>) throws(StorageError) {
    for entry in entries {
      var bytes: Int64 = 0
      if let name = entry.name {
        if initSections[entry.run] == nil { initSections[entry.run] = try tree.initSection(of: key(entry.run)) }
        if let initSection = initSections[entry.run],
          let facts = try tree.facts(of: name, in: key(entry.run), initSection)
        {
          bytes = facts.bytes
          frames[entry.run, default: FrameDurations()].add(facts.frames)
          if !facts.isIndependent { isIndependent = false }
        }
        meter.add(bytes: bytes, ticks: entry.ticks)
      } else {
        meter.addGap()
      }
      if stitcher.playlist.kind == .sliding { sizes.append(bytes) }
    }
  }

  /// Lets go of what belongs to runs that have left the window.
  private mutating func forgetRuns() {
    guard let first = stitcher.playlist.entries.first?.run else { return }
    initSections = initSections.filter { $0.key >= first }
    frames = frames.filter { $0.key >= first }
    listed = listed.filter { $0.key >= first }
  }

  // MARK: Description

  /// Runs in the list, ascending. An event list keeps its early ones, though not in memory.
  var runs: [RunName] {
    let last = stitcher.playlist.entries.last?.run
    return initSections.keys.filter { run in last.map { run <= $0 } ?? false }.sorted()
  }

  /// All entries of the list have been measured. An event list's earlier ones are not looked at again.
  var isMeasured: Bool { !sizes.contains { $0 == nil } }

  /// Bits per second so far. Both may be more than the list as it stands has.
  var roughPeak: Int64 { meter.peak }
  var roughAverage: Int64 { meter.average }

  /// What the multivariant playlist says of the list as it stands. Bit rates of a sliding list are measured anew, over
  /// what it holds.
  mutating func summary() -> RenditionSummary {
    if stitcher.playlist.kind == .sliding {
      meter = BandwidthMeter(targetDuration: stitcher.targetDuration)
      for (entry, bytes) in zip(stitcher.playlist.entries, sizes) {
        if let bytes, !entry.isGap { meter.add(bytes: bytes, ticks: entry.ticks) } else { meter.addGap() }
      }
    }
    var all = FrameDurations()
    for (_, durations) in frames { all.add(durations) }
    return RenditionSummary(
      initSections: runs.compactMap { initSections[$0] }, frames: all, peak: meter.peak, average: meter.average,
      isIndependent: isIndependent)
  }

  mutating func takeBackIndependence() {
    isIndependent = false
  }
}
