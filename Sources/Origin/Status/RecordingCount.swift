import HLS
import Storage

/// Adds up one recording from the names in its directories. Pure: a run's files come together, in any order. Memory does
/// not grow with the number of segments.
struct RecordingCount {
  /// Sums of one rendition.
  private struct Rendition {
    var total: Int64 = 0
    var backlog: Int64 = 0
    var refused: Int64 = 0
    var newestRun: RunName?
    var newestMarker: MarkerName?
  }

  /// What is known of the run that is being counted.
  private struct Run {
    var segments = 0
    var pieces = 0
    var highest = -1
    var marker: MarkerName?
    /// Of a spool: what waits to be sent.
    var waiting = StatusReport.Amount()
    /// A server has refused the init section for good, so that nothing of the run can be sent.
    var isRefused = false
    /// Numbers that it has had and that are not here.
    var absent: Int {
      let here = pieces > 0 ? pieces : segments
      return max(0, max(pieces > 0 ? 0 : highest + 1, marker?.count ?? 0) - here)
    }
  }

  private let place: StatusReport.Place
  private var recording: StatusReport.Recording
  private var renditions: [RenditionName: Rendition] = [:]
  private var run = Run()
  private var absent = 0

  init(_ name: RecordingName, in place: StatusReport.Place) {
    recording = StatusReport.Recording(name)
    self.place = place
  }

  mutating func add(_ entry: RunEntry, of key: RunKey, _ area: Tree.Area, bytes: Int64) {
    recording.total.bytes += bytes
    switch entry {
    case .segment(let name):
      run.segments += 1
      run.highest = max(run.highest, name.sequence)
      recording.total.segments += 1
      renditions[key.rendition, default: Rendition()].total += name.ticks
      let end = name.start.advanced(byTicks: name.ticks)
      recording.newest = max(recording.newest ?? end, end)
      guard place == .spool else { return }
      if area == .run {
        run.waiting.segments += 1
        run.waiting.bytes += bytes
        run.waiting.ticks += name.ticks
      } else if area == .refused {
        recording.refused.segments += 1
        recording.refused.bytes += bytes
        renditions[key.rendition]?.refused += name.ticks
      }
    case .piece: run.pieces += 1
    case .marker(let name):
      // The other one in `sent` only says that the server has it.
      if area == .run, name.count >= (run.marker?.count ?? 0) { run.marker = name }
    case .initSection: if area == .refused { run.isRefused = true }
    }
  }

  /// All files of a run were added.
  mutating func finish(_ key: RunKey) {
    recording.runs += 1
    absent += run.absent
    var rendition = renditions[key.rendition] ?? Rendition()
    if run.isRefused {
      recording.refused.segments += run.waiting.segments
      recording.refused.bytes += run.waiting.bytes
      rendition.refused += run.waiting.ticks
    } else {
      recording.backlog.segments += run.waiting.segments
      recording.backlog.bytes += run.waiting.bytes
      rendition.backlog += run.waiting.ticks
    }
    if rendition.newestRun.map({ $0 < key.run }) ?? true {
      rendition.newestRun = key.run
      rendition.newestMarker = run.marker
    }
    renditions[key.rendition] = rendition
    run = Run()
  }

  /// The sums.
  ///
  /// - Parameter isLocked: somebody is at work on the recording.
  consuming func finished(isLocked: Bool) -> StatusReport.Recording {
    recording.renditions = renditions.keys.sorted()
    recording.total.ticks = renditions.values.map(\.total).max() ?? 0
    recording.backlog.ticks = renditions.values.map(\.backlog).max() ?? 0
    recording.refused.ticks = renditions.values.map(\.refused).max() ?? 0
    let hasEnded = !renditions.isEmpty && renditions.values.allSatisfy { $0.newestMarker?.kind == .end }
    switch place {
    case .root:
      recording.missing = absent
      recording.state = hasEnded ? .ended : .live
    case .spool:
      recording.removed = absent
      recording.state = hasEnded ? .ended : isLocked ? .recording : .interrupted
    }
    return recording
  }
}
