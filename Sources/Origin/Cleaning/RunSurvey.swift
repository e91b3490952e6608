import HLS
import Storage

/// What one listing of a spool's run says about cleaning it. Pure: files come in one by one, in any order. Memory is about
/// 60 bytes for each segment that may go.
struct RunSurvey {
  /// A segment that may go some day.
  struct File: Equatable {
    let area: Tree.Area
    let name: SegmentName
    let end: WallClockTime
    let bytes: Int64
    var standing: RetentionPolicy.Standing { area == .sent ? .free : .unsent }
  }

  /// Segments that may go: those sent, and where they may expire, those that were not.
  private var files: [File] = []
  private let unsentMayGo: Bool
  /// Segments and pieces that stay whatever their age.
  private(set) var kept = 0
  private(set) var marker: MarkerName?
  private var sentMarkers: Set<MarkerName> = []
  private var highest = -1
  /// When the run was closed, by the clock of the disk.
  private(set) var closed = WallClockTime(milliseconds: 0)

  init(unsentMayGo: Bool) {
    self.unsentMayGo = unsentMayGo
  }

  mutating func add(_ entry: RunEntry, _ area: Tree.Area, _ facts: EntryFacts) {
    switch entry {
    case .segment(let name):
      highest = max(highest, name.sequence)
      let isCandidate =
        switch area {
        case .sent: true
        case .run, .refused: unsentMayGo
        case .pieces: false
        }
      if !isCandidate {
        kept += 1
        return
      }
      let end = RetentionPolicy.end(named: name.start.advanced(byTicks: name.ticks), modified: facts.modified)
      files.append(File(area: area, name: name, end: end, bytes: facts.size))
    case .piece: kept += 1
    case .marker(let name):
      if area == .sent {
        sentMarkers.insert(name)
      } else if name.count >= (marker?.count ?? 0) {
        marker = name
        closed = WallClockTime(milliseconds: facts.modified)
      }
    case .initSection: break
    }
  }

  /// The server has the marker, hence all before it.
  var isAcknowledged: Bool { marker.map { sentMarkers.contains($0) } ?? false }

  /// Segments that may go, by age. Of a run without a marker the last one stays: a run that a crash left is closed by
  /// counting, and from its last number on.
  func candidates() -> [File] {
    let free = marker == nil ? files.filter { $0.name.sequence != highest } : files
    return free.sorted { ($0.end, $0.name) < ($1.end, $1.name) }
  }

  /// Segments and pieces, whatever becomes of them.
  var count: Int { kept + files.count }
}
