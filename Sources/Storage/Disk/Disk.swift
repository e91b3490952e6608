package import Platform

// Everything a tree does to a disk, as protocols, so that tests can let each step fail and let the machine stop after
// each step (SimulatedDisk in the tests of this module).

/// A directory and the names in it. Each name is one component; see `Platform.Directory`.
package protocol DiskDirectory: AnyObject, Sendable {
  /// The name in error messages.
  var path: String { get }

  func subdirectory(_ name: String) throws(SystemError) -> any DiskDirectory
  /// False when it was there already.
  func makeDirectory(_ name: String) throws(SystemError) -> Bool
  /// Creates a file that must not be there yet.
  func create(_ name: String) throws(SystemError) -> any DiskFile
  func openForWriting(_ name: String) throws(SystemError) -> any DiskFile
  /// A file that is there and that nobody has open; nil where that is not so or cannot be told.
  func openUnshared(_ name: String) throws(SystemError) -> (any DiskFile)?
  func openForReading(_ name: String) throws(SystemError) -> FileDescriptor
  /// Both directories are of the same kind and on the same file system.
  func rename(_ name: String, to newName: String, in target: any DiskDirectory, replacing: Bool) throws(SystemError)
  /// Gives two files each other's name in one step. False where one is missing or the disk cannot do this.
  func exchange(_ name: String, with other: String) throws(SystemError) -> Bool
  func remove(_ name: String) throws(SystemError)
  func removeDirectory(_ name: String) throws(SystemError)
  func status(_ name: String) throws(SystemError) -> FileStatus
  func list(_ body: (_ name: String, _ kind: FileKind) -> Bool) throws(SystemError)
  /// Makes the names in it durable.
  func sync() throws(SystemError)
  func space() throws(SystemError) -> FileSystem.Space
  func attemptLock(_ name: String) throws(SystemError) -> FileLock.Attempt
}

/// What not every disk can do.
extension DiskDirectory {
  package func openUnshared(_ name: String) throws(SystemError) -> (any DiskFile)? { nil }
  package func exchange(_ name: String, with other: String) throws(SystemError) -> Bool { false }
}

/// A file that is being written. Used by one thread at a time.
package protocol DiskFile: AnyObject {
  /// Has what is appended wait in `buffer` until that is full, or `flush` is called. Before the first byte.
  func gather(in buffer: BlockBuffer) throws(SystemError)
  func append(_ bytes: RawSpan) throws(SystemError)
  /// Writes what was gathered, so that it is there when the program is gone.
  func flush() throws(SystemError)
  func truncate(to size: Int64) throws(SystemError)
  /// Makes content and size durable; everything has been flushed.
  func sync() throws(SystemError)
  /// The file is closed whatever comes back.
  func close() throws(SystemError)
}
