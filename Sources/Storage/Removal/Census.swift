package import HLS
import Platform

/// How much lies under a run or a recording, in constant memory.
package struct Census: Equatable, Sendable {
  /// Files of the contract, playlists included, with their bytes.
  package var files = 0
  package var bytes: Int64 = 0
  /// Files being written, or left by somebody who was.
  package var temporaries = 0
  /// When the newest of those last changed; milliseconds since the epoch, 0 where there is none.
  package var newestTemporary: Int64 = 0
  /// Names outside the contract.
  package var foreign = 0
  /// When the newest file of the contract last changed; milliseconds since the epoch, 0 where there is none. Playlists do
  /// not count: they are written long after the last arrival.
  package var newest: Int64 = 0

  package init() {}

  mutating func add(
    _ found: FoundName, _ place: FoundPlace, _ status: () throws(SystemError) -> FileStatus,
    _ body: (RenditionName, RunName, RunEntry, Tree.Area, EntryFacts) -> Void
  ) throws(SystemError) {
    switch found {
    case .entry(let entry):
      let facts = EntryFacts(try status())
      files += 1
      bytes += facts.size
      newest = max(newest, facts.modified)
      switch place {
      case .run(let rendition, let run): body(rendition, run, entry, .run, facts)
      case .area(let rendition, let run, let area): body(rendition, run, entry, area, facts)
      case .recording, .rendition: break
      }
    case .derived:
      files += 1
      bytes += try status().size
    case .temporary:
      newestTemporary = max(newestTemporary, try status().modified)
      temporaries += 1
    case .foreign: foreign += 1
    case .lock, .directory: break
    }
  }
}

extension Tree {
  /// Counts all that lies under a run, and calls `body` with each file of the contract, in no particular order. A file
  /// that is moved to another area meanwhile may come twice.
  package func census(
    of key: RunKey, _ body: (RunEntry, Area, EntryFacts) -> Void
  ) throws(StorageError) -> Census {
    var census = Census()
    _ = try ifPresent { () throws(SystemError) in
      try walk(directory(of: key), .run(key.rendition, key.run)) {
        (directory, name, found, place) throws(SystemError) in
        try census.add(found, place) { () throws(SystemError) in
          try directory.status(name)
        } _: {
          _, _, entry, area, facts in
          body(entry, area, facts)
        }
      }
    }
    return census
  }

  /// Counts all that lies under a recording, and calls `body` with each file of its runs, run by run.
  package func census(
    of recording: RecordingName, _ body: (RunKey, RunEntry, Area, EntryFacts) -> Void = { _, _, _, _ in }
  ) throws(StorageError) -> Census {
    try ifPresent { () throws(SystemError) in
      try Tree.census(top.subdirectory(recording.text)) { rendition, run, entry, area, facts in
        body(RunKey(recording: recording, rendition: rendition, run: run), entry, area, facts)
      }
    } ?? Census()
  }

  /// When names last came to or went from a recording's directory, in milliseconds since the epoch; nil when there is
  /// none.
  package func changed(_ recording: RecordingName) throws(StorageError) -> Int64? {
    try ifPresent { () throws(SystemError) in try top.status(recording.text).modified }
  }

  static func census(
    _ directory: any DiskDirectory,
    _ body: (RenditionName, RunName, RunEntry, Area, EntryFacts) -> Void = { _, _, _, _, _ in }
  ) throws(SystemError) -> Census {
    var census = Census()
    try walk(directory, .recording) { (directory, name, found, place) throws(SystemError) in
      try census.add(found, place, { () throws(SystemError) in try directory.status(name) }, body)
    }
    return census
  }
}
