import Glibc

/// Owns an open directory and works on the names in it.
///
/// Every name is one component: a slash, `.`, `..` or an empty name is refused with `EINVAL`, and symbolic links are not
/// followed. Whoever walks down with `subdirectory` from a root therefore never leaves it, whatever the names say and
/// whatever another process puts in their place meanwhile.
package struct Directory: ~Copyable, Sendable {
  private let descriptor: FileDescriptor

  /// The name in error messages.
  package var path: String { descriptor.path }

  /// Opens a directory that a person named; symbolic links are followed here, and only here.
  package init(path: String) throws(SystemError) {
    let number = try checked("open directory", path) {
      unsafe Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    }
    descriptor = FileDescriptor(owning: number, path: path)
  }

  private init(owning descriptor: consuming FileDescriptor) {
    self.descriptor = descriptor
  }

  /// Opens the directory `name`; `ENOTDIR` or `ELOOP` where a symbolic link stands in its place.
  package func subdirectory(_ name: String) throws(SystemError) -> Directory {
    Directory(owning: try open(name, O_RDONLY | O_DIRECTORY, "open directory"))
  }

  /// Makes the directory `name`. Returns false when it was there already.
  @discardableResult
  package func makeDirectory(_ name: String) throws(SystemError) -> Bool {
    try require(name, "create directory")
    if unsafe mkdirat(descriptor.number, name, 0o755) == 0 { return true }
    let code = errno
    if code == EEXIST, (try? status(name))?.kind == .directory { return false }
    throw SystemError(operation: "create directory", subject: subject(name), code: code)
  }

  /// Opens a regular file for reading. Anything else under that name, a pipe for one, is refused without waiting.
  package func openForReading(_ name: String) throws(SystemError) -> FileDescriptor {
    let file = try open(name, O_RDONLY | O_NONBLOCK, "open")
    guard try file.status().kind == .regular else {
      throw SystemError(operation: "open", subject: subject(name), code: EINVAL)
    }
    return file
  }

  /// Opens an existing file for reading and writing.
  package func openForWriting(_ name: String) throws(SystemError) -> FileDescriptor {
    try open(name, O_RDWR | O_NONBLOCK, "open")
  }

  /// Opens an existing file for reading and writing; nil when it is not there, when somebody else has it open, or when
  /// the file system cannot tell.
  package func openUnshared(_ name: String) throws(SystemError) -> FileDescriptor? {
    do throws(SystemError) {
      let file = try openForWriting(name)
      if file.isOpenOnlyHere { return file }
      return nil
    } catch {
      if error.isMissing { return nil }
      throw error
    }
  }

  /// Opens a file for reading and writing, made empty first when there is none.
  package func openOrCreate(_ name: String) throws(SystemError) -> FileDescriptor {
    try open(name, O_RDWR | O_CREAT | O_NONBLOCK, "open")
  }

  /// Creates a file that must not be there yet; `EEXIST` when it is. Writes go to its end, wherever that is by then.
  package func create(_ name: String) throws(SystemError) -> FileDescriptor {
    try open(name, O_RDWR | O_CREAT | O_EXCL | O_APPEND, "create")
  }

  /// Gives the file `name` the name `newName` in `target`, at once for everybody who looks.
  ///
  /// - Parameter replacing: whether a file that has the new name already is replaced; else `EEXIST`.
  package func rename(
    _ name: String, to newName: String, in target: borrowing Directory, replacing: Bool
  ) throws(SystemError) {
    try require(name, "rename")
    try target.require(newName, "rename")
    let result =
      replacing
      ? unsafe renameat(descriptor.number, name, target.descriptor.number, newName)
      : renameWithoutReplacing(descriptor.number, name, target.descriptor.number, newName)
    if result == -1 {
      let code = errno
      throw SystemError(
        operation: "rename \(subject(name)) to", subject: target.subject(newName), code: code)
    }
  }

  /// Gives two files each other's name, at once for everybody who looks. False when one of them is not there or the file
  /// system cannot do this.
  package func exchange(_ name: String, with other: String) throws(SystemError) -> Bool {
    try require(name, "rename")
    try require(other, "rename")
    if exchangeNames(descriptor.number, name, other) == 0 { return true }
    let code = errno
    if code == ENOENT || code == EINVAL || code == ENOSYS { return false }
    throw SystemError(operation: "exchange \(subject(name)) with", subject: subject(other), code: code)
  }

  package func remove(_ name: String) throws(SystemError) {
    try require(name, "remove")
    if unsafe unlinkat(descriptor.number, name, 0) == -1 { throw failure("remove", name) }
  }

  /// Removes the directory `name`; `ENOTEMPTY` when something is in it.
  package func removeDirectory(_ name: String) throws(SystemError) {
    try require(name, "remove directory")
    if unsafe unlinkat(descriptor.number, name, AT_REMOVEDIR) == -1 { throw failure("remove directory", name) }
  }

  /// What is under `name`, a symbolic link itself and not its target.
  package func status(_ name: String) throws(SystemError) -> FileStatus {
    try require(name, "examine")
    var raw = stat()
    if unsafe fstatat(descriptor.number, name, &raw, AT_SYMLINK_NOFOLLOW) == -1 { throw failure("examine", name) }
    return FileStatus(raw)
  }

  /// Makes the names in this directory durable: those that appeared, vanished or changed.
  package func sync() throws(SystemError) { try descriptor.sync() }

  package func identity() throws(SystemError) -> FileIdentity { try descriptor.status().identity }

  /// Room on the file system that holds this directory.
  package func space() throws(SystemError) -> FileSystem.Space {
    var raw = statvfs()
    try checked("examine the file system of", path) { unsafe fstatvfs(descriptor.number, &raw) }
    return FileSystem.Space(raw)
  }

  /// Calls `body` with each name, in the file system's order and one at a time, `.` and `..` left out, until it answers
  /// false. Names that are not UTF-8 come with replacement characters and cannot be opened by them.
  ///
  /// What is added or removed meanwhile may be seen or not.
  package func list(_ body: (_ name: String, _ kind: FileKind) -> Bool) throws(SystemError) {
    let stream = try DirectoryStream(open(unchecked: ".", O_RDONLY | O_DIRECTORY, "list"))
    while let (name, known) = try stream.next(path) {
      var kind = known
      if kind == nil {
        do throws(SystemError) {
          kind = try status(name).kind
        } catch {
          // Gone since it was listed.
          if !error.isMissing { throw error }
        }
      }
      if let kind, !body(name, kind) { return }
    }
  }

  private func open(_ name: String, _ flags: Int32, _ operation: String) throws(SystemError) -> FileDescriptor {
    try require(name, operation)
    return try open(unchecked: name, flags, operation)
  }

  private func open(
    unchecked name: String, _ flags: Int32, _ operation: String
  ) throws(SystemError) -> FileDescriptor {
    let number = try checked(operation, subject(name)) {
      unsafe openat(descriptor.number, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0o644)
    }
    return FileDescriptor(owning: number, path: subject(name))
  }

  private func require(_ name: String, _ operation: String) throws(SystemError) {
    guard !name.isEmpty, name != ".", name != "..", name.utf8.allSatisfy({ $0 != UInt8(ascii: "/") && $0 != 0 }) else {
      throw SystemError(operation: operation, subject: subject(name), code: EINVAL)
    }
  }

  private func subject(_ name: String) -> String { name == "." ? path : "\(path)/\(name)" }

  private func failure(_ operation: String, _ name: String) -> SystemError {
    let code = errno
    return SystemError(operation: operation, subject: subject(name), code: code)
  }
}

/// Owns one `DIR *`, freed with `closedir`.
@safe private struct DirectoryStream: ~Copyable {
  private let raw: OpaquePointer

  init(_ descriptor: consuming FileDescriptor) throws(SystemError) {
    let path = descriptor.path
    let number = descriptor.release()
    guard let raw = unsafe fdopendir(number) else {
      let code = errno
      close(number)
      throw SystemError(operation: "list", subject: path, code: code)
    }
    unsafe self.raw = raw
  }

  deinit { unsafe closedir(raw) }

  /// The next name, nil at the end. The kind is nil where the file system does not tell.
  func next(_ path: String) throws(SystemError) -> (name: String, kind: FileKind?)? {
    while true {
      errno = 0
      guard let entry = unsafe readdir(raw) else {
        let code = errno
        if code != 0 { throw SystemError(operation: "list", subject: path, code: code) }
        return nil
      }
      let kind: FileKind?
      switch unsafe Int(entry.pointee.d_type) {
      case DT_REG: kind = .regular
      case DT_DIR: kind = .directory
      case DT_LNK: kind = .symbolicLink
      case DT_UNKNOWN: kind = nil
      default: kind = .other
      }
      // The record is shorter than `dirent`, so the name is reached by its offset and never copied as a whole.
      guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { continue }
      let name = unsafe String(
        cString: UnsafeRawPointer(entry).advanced(by: offset).assumingMemoryBound(to: CChar.self))
      if name == "." || name == ".." { continue }
      return (name, kind)
    }
  }
}
