import HLS

/// What the names of one run's files tell, in constant space: kept up to date file by file, in any order. Pure.
struct RunSummary: Equatable, Sendable {
  private(set) var segments = 0
  private(set) var ticks: Int64 = 0
  private(set) var bytes: Int64 = 0
  /// Milliseconds since the epoch when the latest file came; 0 when there is none.
  private(set) var lastArrival: Int64 = 0
  private(set) var highestSequence = -1
  /// Wall-clock end of the newest segment, milliseconds since the epoch; 0 when there is none.
  private(set) var end: Int64 = 0
  private(set) var marker: MarkerName?
  private(set) var pieces = 0
  private(set) var files = 0

  /// Adds a file that was not counted yet.
  mutating func add(_ entry: RunEntry, bytes size: Int64, arrival: Int64) {
    files += 1
    bytes += size
    lastArrival = max(lastArrival, arrival)
    switch entry {
    case .initSection: break
    case .segment(let name):
      segments += 1
      ticks += name.ticks
      highestSequence = max(highestSequence, name.sequence)
      end = max(end, name.start.advanced(byTicks: name.ticks).milliseconds)
    case .marker(let name):
      if name.count >= (marker?.count ?? 0) { marker = name }
    case .piece: pieces += 1
    }
  }

  /// From the start of the run to the end of its newest segment, 90 kHz ticks: no less than what there is of it.
  func length(from start: WallClockTime) -> Int64 { max(ticks, (end - start.milliseconds) * 90) }

  /// Numbers that are known to exist and have not come, phone pieces aside.
  var missing: Int {
    if pieces > 0 { return 0 }
    return max(0, max(highestSequence + 1, marker?.count ?? 0) - segments)
  }
}

/// One recording as the page lists it.
struct RecordingSummary: Equatable, Sendable {
  enum State: String, Sendable {
    case live, ended
  }
  let name: RecordingName
  let state: State
  let renditions: [RenditionName]
  let runs: Int
  /// Of the main rendition, 90 kHz ticks.
  let ticks: Int64
  let segments: Int
  let missing: Int
  let bytes: Int64
  let start: WallClockTime?
  let lastArrival: Int64
  /// Wall-clock end of what has come, milliseconds since the epoch: what a live recorder is behind by.
  let end: Int64

  init(name: RecordingName, runs: [RunKey: RunSummary]) {
    self.name = name
    renditions = Set(runs.keys.map(\.rendition)).sorted()
    let leading = renditions.contains(.main) ? .main : renditions.first
    let own = runs.filter { $0.key.rendition == leading }
    let newest = own.max { $0.key < $1.key }
    // A run that closed with `.end` and lacks segments is still expecting them: it has ended all the same for a viewer.
    state = newest?.value.marker?.kind == .end ? .ended : .live
    self.runs = own.count
    ticks = own.values.reduce(0) { $0 + $1.ticks }
    segments = own.values.reduce(0) { $0 + $1.segments }
    missing = own.values.reduce(0) { $0 + $1.missing }
    bytes = runs.values.reduce(0) { $0 + $1.bytes }
    start = own.keys.map(\.run.start).min()
    lastArrival = runs.values.map(\.lastArrival).max() ?? 0
    end = own.values.map(\.end).max() ?? 0
  }
}
