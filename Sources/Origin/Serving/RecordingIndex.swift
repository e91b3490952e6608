import HLS
import Platform
import Storage
import Synchronization

/// Summaries of all recordings, for the page, the quota and `/metrics`. Read from the disk once, then kept up by what
/// arrives here; what others put into or take from the tree is noticed when a run's directory has changed and is read
/// again.
final class RecordingIndex: Sendable {
  private struct State {
    var runs: [RecordingName: [RunKey: RunSummary]] = [:]
    var bytes: Int64 = 0
    var scanned: ContinuousClock.Instant?
    var isScanning = false
    /// Runs whose directories need not be read again while they have this time of change, in nanoseconds.
    var read: [RunKey: Int64] = [:]
  }
  private let tree: Tree
  private let state = Mutex(State())
  /// How long a listing is taken for current. What arrives here shows at once.
  private let lifetime: Duration

  init(_ tree: Tree, lifetime: Duration = .seconds(30)) {
    self.tree = tree
    self.lifetime = lifetime
  }

  /// Bytes under the root by the last listing and what has arrived since.
  var bytes: Int64 { state.withLock(\.bytes) }

  func arrived(_ entry: EntryPath, bytes: Int64, at milliseconds: Int64) {
    state.withLock { state in
      state.bytes += bytes
      state.runs[entry.key.recording, default: [:]][entry.key, default: RunSummary()]
        .add(entry.entry, bytes: bytes, arrival: milliseconds)
    }
  }

  /// All recordings, the latest first. Reads the disk when the last reading is older than `lifetime`.
  func summaries() throws(StorageError) -> [RecordingSummary] {
    try refresh()
    let runs = state.withLock(\.runs)
    return runs.map { RecordingSummary(name: $0.key, runs: $0.value) }
      .sorted { ($0.lastArrival, $0.name) > ($1.lastArrival, $1.name) }
  }

  /// Nil when there is no such recording.
  func summary(of recording: RecordingName) throws(StorageError) -> RecordingSummary? {
    try refresh()
    return state.withLock { $0.runs[recording] }.map { RecordingSummary(name: recording, runs: $0) }
  }

  /// How much there is of a recording before each of its runs, in 90 kHz ticks.
  func offsets(in recording: RecordingName) throws(StorageError) -> [RunName: Int64] {
    try refresh()
    var lengths: [RunName: Int64] = [:]
    for (key, summary) in state.withLock({ $0.runs[recording] ?? [:] }) {
      lengths[key.run] = max(lengths[key.run] ?? 0, summary.length(from: key.run.start))
    }
    var offset: Int64 = 0
    for (run, length) in lengths.sorted(by: { $0.key < $1.key }) {
      lengths[run] = offset
      offset += length
    }
    return lengths
  }

  func refresh() throws(StorageError) {
    let mustScan = state.withLock { state in
      if state.isScanning { return false }
      if let scanned = state.scanned, scanned + lifetime > .now { return false }
      state.isScanning = true
      return true
    }
    guard mustScan else { return }
    let before = state.withLock(\.runs)
    var found: [RecordingName: [RunKey: RunSummary]] = [:]
    var read: [RunKey: Int64] = [:]
    defer {
      state.withLock { $0.isScanning = false }
    }
    for recording in try tree.recordings() {
      let summaries = try scan(recording, &read)
      if !summaries.isEmpty { found[recording] = summaries }
    }
    state.withLock { state in
      // Whatever arrived during the reading counts in one of the two; the larger one has it.
      for (recording, runs) in state.runs {
        for (key, known) in runs where known != before[recording]?[key] {
          let read = found[recording]?[key]?.files ?? 0
          if read <= known.files { found[recording, default: [:]][key] = known }
        }
      }
      state.runs = found
      state.read = read
      state.bytes = found.values.reduce(0) { $0 + $1.values.reduce(0) { $0 + $1.bytes } }
      state.scanned = .now
    }
  }

  private func scan(
    _ recording: RecordingName, _ read: inout [RunKey: Int64]
  ) throws(StorageError) -> [RunKey: RunSummary] {
    var summaries: [RunKey: RunSummary] = [:]
    let (known, before) = state.withLock { ($0.runs[recording] ?? [:], $0.read) }
    for key in try tree.runs(of: recording) {
      let changed = try changed(key)
      // A change right after the reading may have the same time: a directory that has just changed is read once more.
      if let changed, changed < (WallClock.now() - 2_000) * 1_000_000 { read[key] = changed }
      if let changed, before[key] == changed, let summary = known[key] {
        summaries[key] = summary
        continue
      }
      let areas: [Tree.Area] = [.run, .pieces, .sent]
      // Names take a tenth of the time that their files' sizes do, and mostly it was an arrival here that changed it.
      if let summary = known[key], try summary.files == count(key, areas) {
        summaries[key] = summary
        continue
      }
      var summary = RunSummary()
      for area in areas {
        try tree.files(of: key, area: area) { entry, facts in
          summary.add(entry, bytes: facts.size, arrival: facts.modified)
          return true
        }
      }
      summaries[key] = summary
    }
    return summaries
  }

  private func count(_ key: RunKey, _ areas: [Tree.Area]) throws(StorageError) -> Int {
    var count = 0
    for area in areas {
      try tree.entries(of: key, area: area) { _ in
        count += 1
        return true
      }
    }
    return count
  }

  private func changed(_ key: RunKey) throws(StorageError) -> Int64? {
    do throws(SystemError) {
      return try FileSystem.status(of: tree.path(of: key)).modifiedNanoseconds
    } catch {
      if error.isMissing { return nil }
      throw .system(error)
    }
  }
}
