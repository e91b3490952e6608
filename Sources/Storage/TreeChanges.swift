package import HLS
import Platform

extension Tree {
  /// Moves a file of a run to another area, whose directory is made when there is none. A file of that name there is
  /// replaced: it is an earlier copy of the same.
  ///
  /// Moving to `sent` is not synced: when a power cut undoes it, the segment is sent once more, which the server answers
  /// as the repetition it is. All other moves are synced.
  package func move(_ entry: EntryPath, from source: Area = .run, to target: Area) throws(StorageError) {
    let name = entry.entry.description
    let (from, to) = try storage { () throws(SystemError) in
      let run = try directory(of: entry.key)
      if target != .run, try run.makeDirectory(target.rawValue) { try run.sync() }
      let from = source == .run ? run : try run.subdirectory(source.rawValue)
      let to = target == .run ? run : try run.subdirectory(target.rawValue)
      try from.rename(name, to: name, in: to, replacing: true)
      return (from, to)
    }
    guard target != .sent else { return }
    try RunWriter.sync(to)
    try RunWriter.sync(from)
  }

  /// Removes a file of a run. False when it was gone already.
  @discardableResult
  package func remove(_ entry: EntryPath, area: Area = .run) throws(StorageError) -> Bool {
    try ifPresent { () throws(SystemError) in
      try directory(of: entry.key, area: area).remove(entry.entry.description)
    } != nil
  }

  /// Removes the directories of a recording that have become empty: areas, runs, renditions, and at last the recording
  /// with its lock. Returns true when the recording is gone.
  ///
  /// A directory that holds anything at all stays, foreign files included, and so does an empty one that never held a run.
  ///
  /// - Parameter emptied: renditions of which runs have been removed, beside those that hold some.
  @discardableResult
  package func pruneEmpty(
    _ lock: consuming RecordingLock, emptied: [RenditionName] = []
  ) throws(StorageError) -> Bool {
    let recording = lock.recording
    let renditions = Set(try renditionsWithRuns(of: recording) + emptied)
    for key in try runs(of: recording) {
      try storage { () throws(SystemError) in
        let rendition = try top.subdirectory(recording.text).subdirectory(key.rendition.text)
        let run = try rendition.subdirectory(key.run.description)
        for area in Area.allCases where area != .run { try removeIfEmpty(area.rawValue, in: run) }
        try removeIfEmpty(key.run.description, in: rendition)
      }
    }
    for rendition in renditions {
      try storage { () throws(SystemError) in
        try removeIfEmpty(rendition.text, in: top.subdirectory(recording.text))
      }
    }
    return try storage { () throws(SystemError) in
      let directory = try top.subdirectory(recording.text)
      var isEmpty = true
      try directory.list { name, _ in
        isEmpty = name == RecordingLock.fileName || name == UploadLock.fileName
        return isEmpty
      }
      if !isEmpty { return false }
      try directory.remove(RecordingLock.fileName)
      do throws(SystemError) {
        try directory.remove(UploadLock.fileName)
      } catch {
        if !error.isMissing { throw error }
      }
      try removeIfEmpty(recording.text, in: top)
      return true
    }
  }

  func removeIfEmpty(_ name: String, in directory: any DiskDirectory) throws(SystemError) {
    do throws(SystemError) {
      try directory.removeDirectory(name)
    } catch {
      if !error.isMissing && !error.isNotEmpty { throw error }
    }
  }

  /// Writes a file that is derived from the segments, a playlist for one, in place of the one before it: readers see the
  /// old one or the new one, whole.
  ///
  /// One writer at a time for each path: the temporary file's name follows from it, so that what a killed process left
  /// is replaced by the next one.
  ///
  /// A file that is not durable changes places with the one before it, which is kept under the temporary name and written
  /// over next time unless somebody still reads it then. A new file each time, thousands of them in five seconds, takes
  /// ext4 eight times as long: it passes over every inode that was freed in the last minute.
  ///
  /// - Parameters:
  ///   - path: from the root, one to three components of `[A-Za-z0-9._-]` without a dot in front. The directory must be
  ///     there.
  ///   - durable: whether the new file survives a power cut once this returns. Without it nothing waits for the disk,
  ///     and a power cut may leave the old file, the new one, or one without content: for what is written again every
  ///     few seconds and can be made again from the segments.
  package func writeAtomically(_ path: String, _ bytes: [UInt8], durable: Bool = true) throws(StorageError) {
    let (directory, name) = try place(of: path)
    let file = try PendingFile(
      in: directory, temporaryName: ".\(name).part", durable ? .replacing : .reusing)
    try unsafe file.append(bytes.span.bytes)
    try file.seal(durably: durable)
    if durable {
      _ = try file.publish(as: name, replacing: true)
    } else {
      try file.publish(exchanging: name)
    }
    if durable { try RunWriter.sync(directory) }
  }

  /// Writes that many bytes and takes them back: some quotas are seen in no other way. Throws what the disk says.
  func tryRoom(for bytes: Int64) throws(StorageError) {
    let file = try PendingFile(in: top, temporaryName: ".room.part", .replacing)
    var state: UInt64 = 1
    // Which no file system can make smaller (Knuth's MMIX generator).
    let noise = (0..<65_536).map { _ in
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return UInt8(truncatingIfNeeded: state >> 56)
    }
    while file.length < bytes { try unsafe file.append(noise.span.bytes) }
    try file.seal()
  }

  /// Reads a derived file; nil when it is not there.
  ///
  /// - Parameter limit: bytes; a larger file is refused with `EFBIG`.
  package func read(_ path: String, limit: Int) throws(StorageError) -> [UInt8]? {
    do throws(StorageError) {
      let (directory, name) = try place(of: path)
      return try storage { () throws(SystemError) in try directory.openForReading(name).readAll(limit: limit) }
    } catch {
      if error.isMissing { return nil }
      throw error
    }
  }

  /// Removes a derived file. False when it was gone already.
  @discardableResult
  package func removeDerived(_ path: String) throws(StorageError) -> Bool {
    do throws(StorageError) {
      let (directory, name) = try place(of: path)
      try storage { () throws(SystemError) in try directory.remove(name) }
      return true
    } catch {
      if error.isMissing { return false }
      throw error
    }
  }

  /// The directory and name of a derived file.
  private func place(of path: String) throws(StorageError) -> (any DiskDirectory, String) {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).map { PathName($0) }
    guard (1...3).contains(parts.count), let last = parts.last, let name = last else {
      throw .outOfOrder("\(path) is no place for a derived file")
    }
    var directory = top
    for part in parts.dropLast() {
      guard let part else { throw .outOfOrder("\(path) is no place for a derived file") }
      let above = directory
      directory = try storage { () throws(SystemError) in try above.subdirectory(part.text) }
    }
    return (directory, name.text)
  }
}
