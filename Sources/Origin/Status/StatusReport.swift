package import HLS

/// What a spool or a server's root holds, recording by recording.
package struct StatusReport: Equatable, Sendable {
  package enum Place: String, Sendable {
    case spool, root
  }

  package enum State: String, Sendable {
    /// Of a spool: a recorder holds the lock, and the newest run is open or another one follows.
    case recording
    /// Of a spool: the same without anybody at work. `record` or `upload` will salvage and close it.
    case interrupted
    /// Of a root: the end has not come yet.
    case live
    /// An end marker closes the newest run of each rendition.
    case ended
  }

  /// Segments with their bytes and their duration.
  package struct Amount: Equatable, Sendable {
    package var segments = 0
    package var bytes: Int64 = 0
    /// 90 kHz ticks, of the rendition that has most.
    package var ticks: Int64 = 0

    package init() {}
  }

  package struct Recording: Equatable, Sendable {
    package let name: RecordingName
    package var state = State.ended
    package var renditions: [RenditionName] = []
    package var runs = 0
    /// Segments that are here. Bytes are of all files of the contract.
    package var total = Amount()
    /// Of a spool: what no server has acknowledged and none has refused.
    package var backlog = Amount()
    /// Of a spool: what a server has refused for good.
    package var refused = Amount()
    /// Of a root: numbers that the runs have and that have not come.
    package var missing = 0
    /// Of a spool: numbers that the runs had and that were removed, by `clean` or for want of room.
    package var removed = 0
    /// End of the newest segment.
    package var newest: WallClockTime?
    /// Why something of it could not be read; the figures are of the rest then.
    package var problem: String?

    package init(_ name: RecordingName) {
      self.name = name
    }
  }

  package let place: Place
  package let root: String
  /// When it was gathered.
  package let time: WallClockTime
  /// In the order of their names.
  package var recordings: [Recording]
  /// Bytes that the file system has room for.
  package var availableBytes: Int64

  /// Sums over all recordings; durations are added up.
  package var totals: Recording? {
    guard let first = recordings.first else { return nil }
    var sum = Recording(first.name)
    for recording in recordings {
      sum.runs += recording.runs
      sum.total.add(recording.total)
      sum.backlog.add(recording.backlog)
      sum.refused.add(recording.refused)
      sum.missing += recording.missing
      sum.removed += recording.removed
      sum.newest = [sum.newest, recording.newest].compactMap { $0 }.max()
    }
    return sum
  }
}

extension StatusReport.Amount {
  mutating func add(_ other: Self) {
    segments += other.segments
    bytes += other.bytes
    ticks += other.ticks
  }
}
