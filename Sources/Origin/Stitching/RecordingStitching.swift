import HLS
import Platform
import Storage

/// Keeps the live playlists of one recording current: those of its renditions, and the multivariant one in front.
/// Used by one thread.
struct RecordingStitching {
  let recording: RecordingName
  /// When something is due without an arrival.
  private(set) var deadline: ContinuousClock.Instant?
  /// Something came that the whole list (`vod.m3u8`) does not have yet.
  private(set) var wholeListIsDue = false
  /// When somebody last said that a file is there; nil before the first time.
  private(set) var lastHint: ContinuousClock.Instant?
  /// When something new was last found.
  private(set) var lastNews: ContinuousClock.Instant

  private let store: any StitchStore
  private let policy: StitchingPolicy
  private let log: Log
  private var renditions: [RenditionName: RenditionStitching] = [:]
  private var written: Written?
  private var version = FileVersion.unknown
  /// Looks since the last one for renditions.
  private var looks = 0
  /// Bit rates of the multivariant playlist that was there at the start, by the URI of the variant: none of them becomes
  /// less while entries are in the lists that this process has not measured.
  private var earlier: [String: Int64] = [:]

  /// What the multivariant playlist was made from.
  private struct Written {
    var runs: [RenditionName: [RunName]]
    var isIndependent: Bool
    var isEnded: Bool
    /// Sums over the renditions.
    var peak: Int64
    var average: Int64
  }

  /// Looks at all that is there.
  init(
    _ store: any StitchStore, _ recording: RecordingName, _ policy: StitchingPolicy, _ log: Log,
    at now: ContinuousClock.Instant
  ) throws(StorageError) {
    self.store = store
    self.recording = recording
    self.policy = policy
    self.log = log
    lastNews = now
    try scan(changedOnly: false, at: now)
    // A claim that was taken back before a restart does not return.
    if renditions.values.contains(where: \.isPublished), let bytes = try store.read(path, limit: 1 << 20, &version) {
      if !MultivariantPlaylist.claimsIndependence(bytes) {
        for name in renditions.keys { renditions[name]?.takeBackIndependence() }
      }
      earlier = MultivariantPlaylist.bandwidths(bytes)
    }
  }

  private var path: String { "\(recording)/\(LiveListFile.name)" }

  /// Every rendition has ended.
  var isEnded: Bool {
    let published = renditions.values.filter(\.isPublished)
    return !published.isEmpty && published.allSatisfy(\.stitcher.playlist.isEnded)
  }

  /// Entries in all lists, and the number behind the last one, for whoever waits for a list to grow.
  func nextSequence(of rendition: RenditionName) -> Int? {
    renditions[rendition].map { $0.stitcher.playlist.mediaSequence + $0.stitcher.playlist.entries.count }
  }

  mutating func arrived(_ path: EntryPath, at now: ContinuousClock.Instant) throws(StorageError) {
    lastHint = now
    let name = path.key.rendition
    if renditions[name] == nil {
      renditions[name] = try RenditionStitching(store, recording, name, policy, log)
      let clock = store.clock
      if try renditions[name]?.scan(changedOnly: false, at: now, clock: clock) == true {
        wholeListIsDue = true
      }
    }
    let isCertain = !store.isRemote
    let arrival = try renditions[name]?.arrived(path.entry, in: path.key.run, at: now, isCertain: isCertain)
    if arrival == .new { lastNews = now }
    if arrival != .known { wholeListIsDue = true }
  }

  /// Looks at what is there.
  mutating func scan(changedOnly: Bool, at now: ContinuousClock.Instant) throws(StorageError) {
    let clock = store.clock
    var names = renditions.keys.sorted()
    // In a bucket this is a request; a new rendition can wait for a few looks.
    if !store.isRemote || !changedOnly || names.isEmpty || looks >= RecordingStitching.looksForRenditions {
      looks = 0
      names = try store.renditions(of: recording)
    }
    looks += 1
    for name in names {
      if renditions[name] == nil { renditions[name] = try RenditionStitching(store, recording, name, policy, log) }
      if try renditions[name]?.scan(changedOnly: changedOnly, at: now, clock: clock) == true {
        wholeListIsDue = true
        lastNews = now
      }
    }
  }

  private static let looksForRenditions = 6

  /// How often to look where each look is a request: as often as segments come.
  private var pace: Duration {
    .seconds(min(max(renditions.values.map(\.targetDuration).max() ?? 0, 2), 10))
  }

  /// What is made known needs no looking for until then; nil where nothing is.
  var quietUntil: ContinuousClock.Instant? { lastHint.map { $0.advanced(by: pace * 2) } }

  /// When to look next where each look is a request: less and less often where nothing comes.
  func nextLook(after now: ContinuousClock.Instant) -> ContinuousClock.Instant {
    now + min(max((now - lastNews) / 4, pace), .seconds(60))
  }

  /// Publishes what is due and writes what changed.
  /// - Returns: the renditions whose list changed.
  mutating func advance(at now: ContinuousClock.Instant) throws(StorageError) -> [RenditionName] {
    // Before something is given up, the directory is asked whether only its notice was lost.
    if let deadline, deadline <= now { try scan(changedOnly: true, at: now) }
    for name in renditions.keys where try renditions[name]?.remux(at: now) == true { wholeListIsDue = true }
    fixTargetDuration()
    var changed: Set<RenditionName> = []
    // What one of them publishes may let another go on, which may let a third.
    for round in 0...renditions.count {
      var isNews = round == 0
      deadline = nil
      for name in renditions.keys.sorted() {
        if share(with: name, at: now) { isNews = true }
        guard let changes = try renditions[name]?.advance(at: now) else { continue }
        if !changes.isEmpty { changed.insert(name) }
        for notice in changes.notices { say(notice, of: name) }
        if let due = renditions[name]?.deadline { deadline = deadline.map { min($0, due) } ?? due }
      }
      guard isNews, renditions.count > 1 else { break }
    }
    try describe()
    return changed.sorted()
  }

  /// Tells a rendition what the others have.
  /// - Returns: whether it learnt something new.
  private mutating func share(with name: RenditionName, at now: ContinuousClock.Instant) -> Bool {
    guard renditions.count > 1, let before = renditions[name]?.shared else { return false }
    let shared = SharedRuns(for: name, among: renditions.mapValues(\.stitcher.facts), before: before, at: now)
    guard shared != before else { return false }
    renditions[name]?.shared = shared
    return true
  }

  /// All renditions have one target duration (RFC 8216bis-20 §4.4.6.2.1), fixed when the first of them is published.
  private mutating func fixTargetDuration() {
    guard renditions.values.contains(where: \.stitcher.isUnpublished) else { return }
    let fixed = renditions.values.lazy.filter { !$0.stitcher.isUnpublished }.map(\.targetDuration).first
    let longest = renditions.values.map(\.stitcher.longestSeen).max() ?? 0
    guard fixed != nil || longest > 0 else { return }
    let target = fixed ?? TargetDuration.choose(longest: longest, reserved: policy.targetDuration)
    for name in renditions.keys where renditions[name]?.stitcher.isUnpublished == true {
      renditions[name]?.targetDuration = target
    }
  }

  /// Writes the multivariant playlist when what it says no longer holds. Rates that wander a little are left alone:
  /// players read it once.
  private mutating func describe() throws(StorageError) {
    let published = renditions.filter(\.value.isPublished)
    guard !published.isEmpty else { return }
    var now = Written(
      runs: published.mapValues(\.runs), isIndependent: published.values.allSatisfy(\.isIndependent),
      isEnded: isEnded, peak: published.values.reduce(0) { $0 + $1.roughPeak },
      average: published.values.reduce(0) { $0 + $1.roughAverage })
    if let written, written.runs == now.runs, written.isIndependent == now.isIndependent,
      written.isEnded == now.isEnded, now.peak <= written.peak,
      abs(now.average - written.average) * 20 <= written.average
    {
      return
    }
    var summaries: [RenditionName: RenditionSummary] = [:]
    for name in published.keys { summaries[name] = renditions[name]?.summary() }
    now.peak = summaries.values.reduce(0) { $0 + $1.peak }
    now.average = summaries.values.reduce(0) { $0 + $1.average }
    var playlist = MultivariantPlaylist(renditions: summaries, list: LiveListFile.name)
    if published.values.allSatisfy(\.isMeasured) { earlier = [:] }
    for index in playlist.variants.indices {
      let least = earlier[playlist.variants[index].uri] ?? 0
      playlist.variants[index].bandwidth = max(playlist.variants[index].bandwidth, least)
    }
    try store.replace(path, playlist.rendered(), &version, durable: now.isEnded)
    written = now
  }

  mutating func wholeListIsWritten() {
    wholeListIsDue = false
  }

  /// Somebody found the whole list missing or older than a directory.
  mutating func wholeListMayBeOld() {
    wholeListIsDue = true
  }

  private func say(_ notice: Stitcher.Changes.Notice, of rendition: RenditionName) {
    let list = "\(recording)/\(rendition)"
    switch notice {
    case .gap(let run, let first, let last):
      let numbers = first == last ? "segment \(first)" : "segments \(first) to \(last)"
      log.warning(
        "gap", "\(numbers) of \(list)/\(run) did not come; the live list goes on without",
        [
          "recording": .init(recording), "rendition": .init(rendition), "run": .init(run), "first": .init(first),
          "last": .init(last),
        ])
    case .overlong(let run, let name):
      log.warning(
        "overlong",
        "segment \(name.sequence) of \(list)/\(run) is longer than the target duration of the live list, which has a "
          + "gap there; the whole list will have it. --target-duration reserves more",
        [
          "recording": .init(recording), "rendition": .init(rendition), "run": .init(run),
          "sequence": .init(name.sequence), "ticks": .integer(name.ticks),
        ])
    case .leftIncomplete(let run, let segments):
      log.warning(
        "incomplete",
        "\(list) went on in a later run before \(run) was complete"
          + (segments ? "; segments of it are here and not in the live list" : ""),
        ["recording": .init(recording), "rendition": .init(rendition), "run": .init(run)])
    case .ended:
      log.info("ended", "\(list) has ended", ["recording": .init(recording), "rendition": .init(rendition)])
    case .reopened:
      log.info("reopened", "\(list) goes on", ["recording": .init(recording), "rendition": .init(rendition)])
    }
  }
}
