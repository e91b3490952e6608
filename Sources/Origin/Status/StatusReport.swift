package import HLS

/// What a spool or a server's root holds, recording by recording.
package struct StatusReport: Equatable, Sendable {
  package enum Place: String, Sendable {
    case spool, root
  }

  package enum State: String, Sendable {
    /// Of a spool: somebody holds the lock, and the newest run is open.
    case recording
    /// Of a spool: the newest run is open, and nobody is at work on it. `record` or `upload` will close it.
    case interrupted
    /// Of a root: no end yet.
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
    package var state: State
    package var renditions: [RenditionName]
    package var runs: Int
    /// All that is here.
    package var total: Amount
    /// Of a spool: what no server has acknowledged.
    package var backlog: Amount
    /// Of a spool: what a server has refused for good.
    package var refused: Amount
    /// Numbers that the runs had and that are not here: of a root those that have not come (yet), of a spool those that
    /// were removed.
    package var missing: Int
    /// End of the newest segment.
    package var newest: WallClockTime?
  }

  package let place: Place
  /// In the order of their names.
  package var recordings: [Recording]
  /// Bytes that the file system has room for.
  package var availableBytes: Int64
}
