import HLS
import Platform
import Storage

/// Keeps the live playlist of one rendition: feeds a `Stitcher` from a directory or a bucket, reads what playlists say of the media,
/// writes the file. Everything it knows is there, so that after a failure it is thrown away and made anew.
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

  private let store: any StitchStore
  private let log: Log
  private var file: LiveListFile
  private var initSections: [RunName: InitSection] = [:]
  private var frames: [RunName: FrameDurations] = [:]
  /// Bytes of each entry of a sliding list, 0 for a gap, nil where it was published before this process looked.
  private var sizes: [Int64?] = []
  /// At a start the newest entries are measured and the others taken as the multivariant playlist has them: reading the
  /// heads of an hour of segments for each of many recordings would take minutes.
  private let measuredAtStart: Int
  /// What a listing told of segments that came many at a time; of most of them nothing else is looked at.
  private var listedBytes: [SegmentName: Int64] = [:]
  /// What was read of a segment to see whether it is there.
  private var readFacts: [SegmentName: SegmentFacts] = [:]
  private var meter: BandwidthMeter
  private var outlook = Outlook()

  /// Runs that a phone fills with pieces.
  private var pieces: [RunName: PieceRun] = [:]
  /// The same in a bucket, where nothing can be made of them.
  private var refusedPieces: Set<RunName> = []

  init(
    _ store: any StitchStore, _ recording: RecordingName, _ rendition: RenditionName, _ policy: StitchingPolicy,
    _ log: Log
  ) throws(StorageError) {
    self.store = store
    measuredAtStart = store.isRemote ? 4 : 16
    self.recording = recording
    self.rendition = rendition
    self.log = log
    file = LiveListFile(store, recording, rendition)
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
      let old = published.entries.dropLast(measuredAtStart)
      if published.kind == .sliding { sizes = Array(repeating: nil, count: old.count) }
      for run in Set(old.lazy.filter { !$0.isGap }.map(\.run)) {
        initSections[run] = try store.initSection(of: key(run))
      }
      try measure(published.entries.suffix(measuredAtStart))
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

  /// Takes note of a file.
  /// - Parameter isCertain: it is there; else somebody says so.
  mutating func arrived(
    _ entry: RunEntry, in run: RunName, at time: ContinuousClock.Instant, isCertain: Bool = true
  ) throws(StorageError) -> Stitcher.Arrival {
    switch entry {
    case .initSection:
      return try initSectionArrived(in: run) ? .new : .known
    case .segment(let name):
      if stitcher.awaits(name.sequence, in: run) {
        // A notice may have been lost, and the init section comes first.
        if initSections[run] == nil { _ = try initSectionArrived(in: run) }
        if !isCertain, try !confirm(name, in: run) { return .known }
      }
      return stitcher.segmentArrived(name, in: run, at: time)
    case .marker(let marker):
      if !isCertain, try store.part(of: EntryPath(key: key(run), entry: entry), at: 0, count: 1) == nil {
        return .known
      }
      guard pieces[run] != nil else { return stitcher.markerArrived(marker, in: run, at: time) }
      // It counts pieces, which may become segments of several runs.
      pieces[run]?.arrived(marker, at: time)
      return .known
    case .piece(let number):
      guard let tree = store.directory else {
        refusePieces(in: run)
        return .known
      }
      if pieces[run] == nil { try addPieces(tree, run) }
      pieces[run]?.arrived(number, at: time)
      return .known
    }
  }

  private mutating func addPieces(_ tree: Tree, _ run: RunName) throws(StorageError) {
    pieces[run] = try PieceRun(tree, key(run), log)
    outlook.pieces.insert(run)
  }

  /// Reads the head of a segment that is said to be there; it is needed anyway.
  private mutating func confirm(_ name: SegmentName, in run: RunName) throws(StorageError) -> Bool {
    guard let initSection = initSections[run] else {
      return try store.part(of: EntryPath(key: key(run), entry: .segment(name)), at: 0, count: 1) != nil
    }
    guard let facts = try store.facts(of: name, in: key(run), initSection) else { return false }
    readFacts[name] = facts
    return true
  }

  private mutating func refusePieces(in run: RunName) {
    guard refusedPieces.insert(run).inserted else { return }
    log.warning(
      "pieces",
      "\(store.root)/\(key(run)) holds MP4 pieces, of which segments are made in a directory only: copy the recording "
        + "into one and run segrec stitch on that",
      ["recording": .init(recording), "run": .init(run)])
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
      guard let initSection = try store.initSection(of: key(run)) else { return false }
      initSections[run] = initSection
    } catch {
      guard case .damaged = error else { throw error }
      // Without it the run's segments cannot be played; `gap-after` decides how long the list waits.
      log.warning("stitch", "\(error)", ["recording": .init(recording)])
      return false
    }
    return stitcher.initSectionArrived(run) == .new
  }

  /// Looks at what is there: all runs that may still add something, or only what changed since the last look.
  ///
  /// - Parameter clock: the store's clock at `now`, to turn times of files into instants.
  mutating func scan(changedOnly: Bool, at now: ContinuousClock.Instant, clock: Int64) throws(StorageError) -> Bool {
    var foundSomething = false
    outlook.changedOnly = changedOnly
    if !changedOnly, let tree = store.directory {
      for run in try tree.runs(of: recording, rendition: rendition) where pieces[run] == nil {
        if try PieceRun.hasBegun(tree, key(run)) { try addPieces(tree, run) }
      }
    }
    for (run, files) in try store.news(of: recording, rendition, &outlook, stitcher) {
      stitcher.note(run)
      // Whether a marker counts pieces has to be known before it is looked at.
      for file in files.filter(\.entry.isPiece) + files.filter({ !$0.entry.isPiece }) {
        let time = now - .milliseconds(max(0, clock - file.modified))
        if case .segment(let name) = file.entry {
          if name.sequence < stitcher.next(in: run) {
            stitcher.noteActivity(at: time)
            continue
          }
          if files.count > measuredAtStart, let bytes = file.bytes { listedBytes[name] = bytes }
        }
        if try arrived(file.entry, in: run, at: time) == .new { foundSomething = true }
      }
    }
    return foundSomething
  }

  // MARK: Publishing

  /// Publishes what is due, and writes the list when it changed.
  mutating func advance(at now: ContinuousClock.Instant) throws(StorageError) -> Stitcher.Changes {
    let changes = stitcher.advance(at: now)
    guard changes.added > 0 || changes.removed > 0 || changes.endChanged else { return changes }
    let added = stitcher.playlist.entries.suffix(changes.added)
    try measure(added)
    listedBytes = [:]
    readFacts = [:]
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
    for (index, entry) in entries.enumerated() {
      var bytes: Int64 = 0
      if let name = entry.name {
        if index < entries.count - measuredAtStart, let listed = listedBytes[name] {
          bytes = listed
        } else if let facts = try facts(of: name, in: entry.run) {
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

  private mutating func facts(of name: SegmentName, in run: RunName) throws(StorageError) -> SegmentFacts? {
    if let facts = readFacts[name] { return facts }
    if initSections[run] == nil { initSections[run] = try store.initSection(of: key(run)) }
    guard let initSection = initSections[run] else { return nil }
    return try store.facts(of: name, in: key(run), initSection)
  }

  /// Lets go of what belongs to runs that have left the window.
  private mutating func forgetRuns() {
    guard let first = stitcher.playlist.entries.first?.run else { return }
    initSections = initSections.filter { $0.key >= first }
    frames = frames.filter { $0.key >= first }
    outlook.listed = outlook.listed.filter { $0.key >= first }
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
