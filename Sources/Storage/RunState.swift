package import HLS

/// What one run holds, from one listing of each of its directories.
package struct RunState: Equatable, Sendable {
  package var hasInitSection = false
  /// Segments in the run's own directory, by number: in a spool, those that are still to be sent.
  package var segments: [SegmentName] = []
  /// Segments that a server has acknowledged, by number.
  package var sent: [SegmentName] = []
  /// Segments that a server refused for good, by number.
  package var refused: [SegmentName] = []
  /// Numbers of phone pieces in the run's own directory, ascending.
  package var pieces: [Int] = []
  /// Numbers of phone pieces that have been made into segments, ascending.
  package var donePieces: [Int] = []
  /// What closes the run; nil while it is open. Where two claim to, the one with the higher count.
  package var marker: MarkerName?
  /// Names of files that were being written when somebody stopped, or are being written now.
  var temporaryNames: [String] = []

  package init() {}

  package var isClosed: Bool { marker != nil }
  /// The segments wherever they lie, by number.
  package var allSegments: [SegmentName] { (segments + sent + refused).sorted() }
  /// One more than the highest number of any segment, wherever it lies: how many the run has had.
  package var highestCount: Int {
    max(
      segments.last.map { $0.sequence + 1 } ?? 0, sent.last.map { $0.sequence + 1 } ?? 0,
      refused.last.map { $0.sequence + 1 } ?? 0)
  }
}

extension Tree {
  /// Reads the state of a run. Memory is about 30 bytes per segment.
  package func state(of key: RunKey) throws(StorageError) -> RunState {
    var state = RunState()
    try names(of: key, area: .run) { name, kind in
      guard kind == .regular else { return true }
      switch RunEntry(name) {
      case .initSection: state.hasInitSection = true
      case .segment(let name): state.segments.append(name)
      case .piece(let sequence): state.pieces.append(sequence)
      case .marker(let marker):
        if marker.count >= (state.marker?.count ?? 0) { state.marker = marker }
      case nil:
        if isTemporaryName(name) { state.temporaryNames.append(name) }
      }
      return true
    }
    state.sent = try segments(of: key, area: .sent)
    state.refused = try segments(of: key, area: .refused)
    try entries(of: key, area: .pieces) { entry in
      if case .piece(let sequence) = entry { state.donePieces.append(sequence) }
      return true
    }
    state.segments.sort()
    state.pieces.sort()
    state.donePieces.sort()
    return state
  }

  /// The segments of a run in one area, by number.
  package func segments(of key: RunKey, area: Area = .run) throws(StorageError) -> [SegmentName] {
    var names: [SegmentName] = []
    try entries(of: key, area: area) { entry in
      if case .segment(let name) = entry { names.append(name) }
      return true
    }
    return names.sorted()
  }

  /// A name for a new run of a recording: `now`, but later than every run it has, whatever the clock says, so that the
  /// order of names stays the order of runs. Renditions that record together share it.
  package func newRunName(of recording: RecordingName, now: WallClockTime) throws(StorageError) -> RunName {
    RunName(
      after: try runs(of: recording).map(\.run).max(), now: now, suffix: UInt16.random(in: 0 ... .max))
  }
}

extension RunName {
  /// The name of a run that starts at `now` and follows `previous`: one millisecond after it where the clock has gone
  /// back or stands still.
  package init(after previous: RunName?, now: WallClockTime, suffix: UInt16) {
    let earliest = previous.map { WallClockTime(milliseconds: $0.start.milliseconds + 1) }
    self.init(start: max(now, earliest ?? now), suffix: suffix)
  }
}
