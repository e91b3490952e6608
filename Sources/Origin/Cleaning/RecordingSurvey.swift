import HLS
import Storage

/// What one listing of a server's recording says about cleaning it. Pure: files come in one by one, a run's together.
/// Memory is about 100 bytes for each run.
struct RecordingSurvey {
  private struct Run {
    var segments = 0
    var pieces = 0
    var marker: MarkerName?

    /// All that the marker counts are here.
    var isComplete: Bool {
      guard let marker else { return false }
      // Of a phone's recording the marker counts pieces.
      return (pieces > 0 ? pieces : segments) >= marker.count
    }
  }

  private var runs: [RunKey: Run] = [:]
  private var latest = WallClockTime(milliseconds: .min)

  mutating func add(_ key: RunKey, _ entry: RunEntry, _ area: Tree.Area, _ facts: EntryFacts) {
    switch entry {
    case .initSection: runs[key, default: Run()].segments += 0
    case .segment(let name):
      runs[key, default: Run()].segments += 1
      latest = max(latest, name.start.advanced(byTicks: name.ticks))
    case .piece: runs[key, default: Run()].pieces += 1
    case .marker(let name):
      if name.count >= (runs[key]?.marker?.count ?? 0) { runs[key, default: Run()].marker = name }
    }
  }

  /// No run has a file.
  var isEmpty: Bool { runs.isEmpty }

  /// Every rendition has its end marker, and all that the markers count are here.
  var isComplete: Bool {
    var newest: [RenditionName: RunKey] = [:]
    for key in runs.keys { newest[key.rendition] = max(newest[key.rendition] ?? key, key) }
    return !runs.isEmpty && runs.values.allSatisfy(\.isComplete)
      && newest.values.allSatisfy { runs[$0]?.marker?.kind == .end }
  }

  /// When the recording was over: the end of its last segment, or the last arrival where that was later. What was
  /// recorded days ago and has come only now, after an outage, must not go at once.
  ///
  /// - Parameter arrival: milliseconds since the epoch.
  func end(lastArrival arrival: Int64) -> WallClockTime { max(latest, WallClockTime(milliseconds: arrival)) }
}
