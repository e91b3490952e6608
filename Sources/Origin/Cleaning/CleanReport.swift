package import HLS
package import Storage

/// What `clean` removed, or would remove.
package struct CleanReport: Equatable, Sendable {
  /// Files and their bytes.
  package struct Amount: Equatable, Sendable {
    package var files = 0
    package var bytes: Int64 = 0

    package static func + (a: Amount, b: Amount) -> Amount {
      Amount(files: a.files + b.files, bytes: a.bytes + b.bytes)
    }

    package static func - (a: Amount, b: Amount) -> Amount {
      Amount(files: a.files - b.files, bytes: a.bytes - b.bytes)
    }
  }

  /// Nothing was removed: these are the files that would be.
  package var isDryRun = false
  /// Sent segments, or files of ended recordings, older than the maximum age.
  package var aged = Amount()
  /// The oldest of them while there was more than the maximum size.
  package var oversize = Amount()
  /// Segments that no server has acknowledged, where a person asked for that.
  package var unsent = Amount()
  /// Init sections and markers of a spool's recordings of which no segment is left.
  package var finished = Amount()
  /// Recordings of which nothing is left.
  package var recordings: [RecordingName] = []
  /// What stays.
  package var remaining = Amount()
  /// Recordings that were left alone because somebody is at work on them.
  package var inUse: [RecordingName] = []
  /// What could not be removed or read, the first of them; the rest is only counted.
  package var problems: [StorageError] = []
  package var problemCount = 0

  package init() {}

  mutating func add(_ amount: Amount, for reason: RetentionPolicy.Reason) {
    switch reason {
    case .age: aged = aged + amount
    case .size: oversize = oversize + amount
    case .unsent: unsent = unsent + amount
    }
  }

  /// All that was removed.
  package var freed: Amount { aged + oversize + unsent + finished }
}
