import Glibc
import Platform

/// A directory of the system's own file systems.
final class SystemDirectory: DiskDirectory {
  private let directory: Directory

  init(_ directory: consuming Directory) {
    self.directory = directory
  }

  var path: String { directory.path }

  func subdirectory(_ name: String) throws(SystemError) -> any DiskDirectory {
    SystemDirectory(try directory.subdirectory(name))
  }

  func makeDirectory(_ name: String) throws(SystemError) -> Bool { try directory.makeDirectory(name) }

  func create(_ name: String) throws(SystemError) -> any DiskFile { SystemFile(try directory.create(name)) }

  func openForWriting(_ name: String) throws(SystemError) -> any DiskFile {
    SystemFile(try directory.openForWriting(name))
  }

  func openUnshared(_ name: String) throws(SystemError) -> (any DiskFile)? {
    guard let file = try directory.openUnshared(name) else { return nil }
    return SystemFile(file)
  }

  func openForReading(_ name: String) throws(SystemError) -> FileDescriptor { try directory.openForReading(name) }

  func rename(
    _ name: String, to newName: String, in target: any DiskDirectory, replacing: Bool
  ) throws(SystemError) {
    guard let target = target as? SystemDirectory else {
      throw SystemError(operation: "rename \(path)/\(name) to", subject: "\(target.path)/\(newName)", code: EXDEV)
    }
    try directory.rename(name, to: newName, in: target.directory, replacing: replacing)
  }

  func exchange(_ name: String, with other: String) throws(SystemError) -> Bool {
    try directory.exchange(name, with: other)
  }

  func remove(_ name: String) throws(SystemError) { try directory.remove(name) }
  func removeDirectory(_ name: String) throws(SystemError) { try directory.removeDirectory(name) }
  func status(_ name: String) throws(SystemError) -> FileStatus { try directory.status(name) }

  func list(_ body: (_ name: String, _ kind: FileKind) -> Bool) throws(SystemError) { try directory.list(body) }

  func sync() throws(SystemError) { try directory.sync() }
  func space() throws(SystemError) -> FileSystem.Space { try directory.space() }

  func attemptLock(_ name: String) throws(SystemError) -> FileLock.Attempt {
    try FileLock.attempt(in: directory, name: name)
  }
}

/// A file of the system's own file systems.
final class SystemFile: DiskFile {
  private var file: FileDescriptor?
  private var buffer: BlockBuffer?

  init(_ file: consuming FileDescriptor) {
    self.file = consume file
  }

  func gather(in buffer: BlockBuffer) throws(SystemError) {
    self.buffer = buffer
    try lend { file in buffer.begin(file) }
  }

  func append(_ bytes: RawSpan) throws(SystemError) {
    guard let buffer else { try file?.writeAll(bytes); return }
    try lend { file throws(SystemError) in try buffer.append(bytes, to: file) }
  }

  func flush() throws(SystemError) {
    guard let buffer else { return }
    try lend { file throws(SystemError) in try buffer.flush(to: file) }
  }

  func truncate(to size: Int64) throws(SystemError) {
    guard let buffer else { try file?.truncate(to: size); return }
    try lend { file throws(SystemError) in try buffer.truncate(to: size, file) }
  }

  func sync() throws(SystemError) {
    if let buffer { try lend { file throws(SystemError) in try buffer.cut(file) } }
    try file?.sync()
  }

  func close() throws(SystemError) { try file.take()?.close() }

  private func lend(_ body: (borrowing FileDescriptor) throws(SystemError) -> Void) throws(SystemError) {
    switch file {
    case .some(let file): try body(file)
    case nil: break
    }
  }
}
