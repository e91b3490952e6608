import Platform

@testable import Storage

/// A directory of the system's in which some files cannot be removed, as if an administrator had forbidden it: a test
/// that runs as root is not stopped by permissions.
final class RefusingDirectory: DiskDirectory {
  private let real: any DiskDirectory
  private let refuses: @Sendable (String) -> Bool

  /// - Parameter refuses: asked with the path of each file that is to be removed.
  init(_ path: String, refuses: @escaping @Sendable (String) -> Bool) throws(SystemError) {
    real = SystemDirectory(try Directory(path: path))
    self.refuses = refuses
  }

  private init(_ real: any DiskDirectory, _ refuses: @escaping @Sendable (String) -> Bool) {
    self.real = real
    self.refuses = refuses
  }

  var path: String { real.path }

  func remove(_ name: String) throws(SystemError) {
    if refuses("\(path)/\(name)") { throw SystemError(operation: "remove", subject: "\(path)/\(name)", code: 1) }
    try real.remove(name)
  }

  func subdirectory(_ name: String) throws(SystemError) -> any DiskDirectory {
    RefusingDirectory(try real.subdirectory(name), refuses)
  }

  func rename(_ name: String, to new: String, in target: any DiskDirectory, replacing: Bool) throws(SystemError) {
    try real.rename(name, to: new, in: (target as? RefusingDirectory)?.real ?? target, replacing: replacing)
  }

  func makeDirectory(_ name: String) throws(SystemError) -> Bool { try real.makeDirectory(name) }
  func create(_ name: String) throws(SystemError) -> any DiskFile { try real.create(name) }
  func openForWriting(_ name: String) throws(SystemError) -> any DiskFile { try real.openForWriting(name) }
  func openForReading(_ name: String) throws(SystemError) -> FileDescriptor { try real.openForReading(name) }
  func removeDirectory(_ name: String) throws(SystemError) { try real.removeDirectory(name) }
  func status(_ name: String) throws(SystemError) -> FileStatus { try real.status(name) }
  func list(_ body: (String, FileKind) -> Bool) throws(SystemError) { try real.list(body) }
  func sync() throws(SystemError) { try real.sync() }
  func space() throws(SystemError) -> FileSystem.Space { try real.space() }
  func attemptLock(_ name: String) throws(SystemError) -> FileLock.Attempt { try real.attemptLock(name) }
}
