package import HLS
package import Platform

/// A tree of segments under one root: a spool, or what a server holds. The directory is the queue and the names are the
/// index (segments/README.md): nothing is remembered outside the files.
///
/// All methods may be called from any thread. Names outside the grammar are neither listed nor touched, and nothing is
/// reached through a symbolic link below the root.
package final class Tree: Sendable {
  /// Where a run's file lies: in the run's directory, or in one of the directories it has for what is done with.
  package enum Area: String, Sendable, CaseIterable {
    /// The run's own directory.
    case run
    /// Acknowledged by a server.
    case sent
    /// Refused for good by a server.
    case refused
    /// Phone pieces of which segments have been made.
    case pieces
  }

  /// The root as it was given.
  package let root: String
  let top: any DiskDirectory
  let arrivals = Arrivals()

  /// Opens a tree.
  ///
  /// - Parameters:
  ///   - root: a directory; symbolic links in this path are followed.
  ///   - create: makes the root, and directories above it, when there is none.
  package convenience init(root: String, create: Bool) throws(StorageError) {
    try self.init(
      storage { () throws(SystemError) in
        if create { try FileSystem.makeDirectories(root) }
        return SystemDirectory(try Directory(path: root))
      })
  }

  /// A tree on any disk.
  package init(_ top: any DiskDirectory) throws(StorageError) {
    self.top = top
    root = top.path
  }

  /// For people, messages and watches.
  package func path(of recording: RecordingName) -> String { "\(root)/\(recording)" }

  package func path(of key: RunKey, area: Area = .run) -> String {
    "\(root)/\(key)" + (area == .run ? "" : "/\(area.rawValue)")
  }

  package func path(of entry: EntryPath, area: Area = .run) -> String {
    "\(path(of: entry.key, area: area))/\(entry.entry)"
  }

  /// Room on the tree's file system.
  package func space() throws(StorageError) -> FileSystem.Space {
    try storage { () throws(SystemError) in try top.space() }
  }

  /// The directory of a run or of one of its areas.
  func directory(of key: RunKey, area: Area = .run) throws(SystemError) -> any DiskDirectory {
    let run = try top.subdirectory(key.recording.text).subdirectory(key.rendition.text)
      .subdirectory(key.run.description)
    return area == .run ? run : try run.subdirectory(area.rawValue)
  }

  /// Makes a run's directory, which must not be there yet, and what is missing above it, all durable.
  func makeRun(_ key: RunKey, _ lock: borrowing RecordingLock) throws(StorageError) -> any DiskDirectory {
    guard lock.recording == key.recording else {
      throw .outOfOrder("the lock of recording \(lock.recording) does not cover \(key)")
    }
    let (directory, isNew) = try makeDirectories(of: key)
    guard isNew else { throw .taken(path: path(of: key)) }
    return directory
  }

  /// Makes the directories of a run that are missing. Each one above is synced even where nothing was made: another
  /// process may have made it a moment ago and not have synced yet.
  func makeDirectories(of key: RunKey) throws(StorageError) -> (directory: any DiskDirectory, isNew: Bool) {
    var directory = top
    var isNew = false
    for name in [key.recording.text, key.rendition.text, key.run.description] {
      let above = directory
      isNew = try storage { () throws(SystemError) in try above.makeDirectory(name) }
      try RunWriter.sync(above)
      directory = try storage { () throws(SystemError) in try above.subdirectory(name) }
    }
    return (directory, isNew)
  }
}
