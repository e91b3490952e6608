package import HLS
package import Platform

/// What the file system says about one file of the contract.
package struct EntryFacts: Equatable, Sendable {
  /// Size in bytes.
  package let size: Int64
  /// Time of the last change, in milliseconds since the epoch: when it was written or arrived.
  package let modified: Int64
  package let identity: FileIdentity

  init(_ status: FileStatus) {
    size = status.size
    modified = status.modified
    identity = status.identity
  }
}

extension Tree {
  /// All recordings, in the order of their names.
  package func recordings() throws(StorageError) -> [RecordingName] {
    try storage { () throws(SystemError) in try directories(in: top) { RecordingName($0) } }
  }

  /// The renditions of a recording, in the order of their names; none when there is no such recording.
  package func renditions(of recording: RecordingName) throws(StorageError) -> [RenditionName] {
    try ifPresent { () throws(SystemError) in
      try directories(in: top.subdirectory(recording.text)) { name in
        guard let rendition = RenditionName(name), rendition.isUsableAsRendition else { return nil }
        return rendition
      }
    } ?? []
  }

  /// The runs of a rendition, oldest first; none when there is no such rendition.
  package func runs(of recording: RecordingName, rendition: RenditionName) throws(StorageError) -> [RunName] {
    try ifPresent { () throws(SystemError) in
      try directories(in: top.subdirectory(recording.text).subdirectory(rendition.text)) { RunName($0) }
    } ?? []
  }

  /// The runs of all renditions of a recording, by rendition and then by age.
  package func runs(of recording: RecordingName) throws(StorageError) -> [RunKey] {
    var keys: [RunKey] = []
    for rendition in try renditions(of: recording) {
      for run in try runs(of: recording, rendition: rendition) {
        keys.append(RunKey(recording: recording, rendition: rendition, run: run))
      }
    }
    return keys
  }

  /// Whether a recording's directory is segrec's: it holds a run, or nothing but the lock of a recorder that has just begun
  /// or ended before its first run. Any other directory may be a person's own, and is left alone.
  package func holdsRecording(_ recording: RecordingName) throws(StorageError) -> Bool {
    try ifPresent { () throws(SystemError) in
      let directory = try top.subdirectory(recording.text)
      return try holdsRuns(directory) ? true : holdsLockOnly(directory)
    } ?? false
  }

  /// The renditions of a recording that hold a run, one that is being removed included.
  package func renditionsWithRuns(of recording: RecordingName) throws(StorageError) -> [RenditionName] {
    let all = try renditions(of: recording)
    return try ifPresent { () throws(SystemError) in
      let directory = try top.subdirectory(recording.text)
      var found: [RenditionName] = []
      for rendition in all where try isRendition(rendition.text, in: directory) { found.append(rendition) }
      return found
    } ?? []
  }

  /// Calls `body` with each file of a run in an area, in no particular order, until it answers false. A run or area that
  /// is not there has none.
  package func entries(
    of key: RunKey, area: Area = .run, _ body: (RunEntry) -> Bool
  ) throws(StorageError) {
    try names(of: key, area: area) { name, kind in
      guard kind == .regular, let entry = RunEntry(name) else { return true }
      return body(entry)
    }
  }

  /// Like `entries`, with size and time of each, for one more system call per file.
  package func files(
    of key: RunKey, area: Area = .run, _ body: (RunEntry, EntryFacts) -> Bool
  ) throws(StorageError) {
    try ifPresent { () throws(SystemError) in
      let directory = try directory(of: key, area: area)
      var failure: SystemError?
      try directory.list { name, kind in
        guard kind == .regular, let entry = RunEntry(name) else { return true }
        do throws(SystemError) {
          return body(entry, EntryFacts(try directory.status(name)))
        } catch {
          // Moved or removed since it was listed.
          if error.isMissing { return true }
          failure = error
          return false
        }
      }
      if let failure { throw failure }
    }
  }

  /// Size and time of one file; nil when it is not in that area.
  package func facts(of entry: EntryPath, area: Area = .run) throws(StorageError) -> EntryFacts? {
    let status = try ifPresent { () throws(SystemError) in
      try directory(of: entry.key, area: area).status(entry.entry.description)
    }
    guard let status, status.kind == .regular else { return nil }
    return EntryFacts(status)
  }

  /// Opens one file. Fails with `isMissing` when it is not in that area.
  package func openForReading(_ entry: EntryPath, area: Area = .run) throws(StorageError) -> FileDescriptor {
    try storage { () throws(SystemError) in
      try directory(of: entry.key, area: area).openForReading(entry.entry.description)
    }
  }

  /// All names of a run in an area, those outside the grammar included.
  func names(
    of key: RunKey, area: Area, _ body: (_ name: String, _ kind: FileKind) -> Bool
  ) throws(StorageError) {
    try ifPresent { () throws(SystemError) in try directory(of: key, area: area).list(body) }
  }

  private func directories<Name: Comparable>(
    in directory: any DiskDirectory, _ parse: (String) -> Name?
  ) throws(SystemError) -> [Name] {
    var names: [Name] = []
    try directory.list { name, kind in
      if kind == .directory, let name = parse(name) { names.append(name) }
      return true
    }
    return names.sorted()
  }
}
