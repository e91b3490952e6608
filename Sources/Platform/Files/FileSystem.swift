import Glibc

/// Questions about file systems and paths that a person named.
package enum FileSystem {
  /// Room on a file system, in bytes and files.
  package struct Space: Equatable, Sendable {
    package let totalBytes: Int64
    /// What this user may still fill; less than what is free where some is reserved for root.
    package let availableBytes: Int64
    /// Files that can still be made; `Int64.max` where the file system sets no limit.
    package let availableFiles: Int64

    init(_ raw: statvfs) {
      let block = UInt64(raw.f_frsize)
      totalBytes = Int64(clamping: block.multipliedReportingOverflow(by: UInt64(raw.f_blocks)).partialValue)
      availableBytes = Int64(clamping: block.multipliedReportingOverflow(by: UInt64(raw.f_bavail)).partialValue)
      availableFiles = raw.f_files == 0 ? .max : Int64(clamping: UInt64(raw.f_favail))
    }
  }

  package static func space(at path: String) throws(SystemError) -> Space {
    var raw = statvfs()
    try checked("examine the file system of", path) { unsafe statvfs(path, &raw) }
    return Space(raw)
  }

  /// What is at `path`, symbolic links followed.
  package static func status(of path: String) throws(SystemError) -> FileStatus {
    var raw = stat()
    try checked("examine", path) { unsafe stat(path, &raw) }
    return FileStatus(raw)
  }

  /// Makes the directory `path` and those above it that are missing, each name synced, so that what is committed below
  /// survives a power cut. Returns the directories made, outermost first.
  @discardableResult
  package static func makeDirectories(_ path: String) throws(SystemError) -> [String] {
    var missing: [String] = []
    var current = path
    while current.count > 1, current.hasSuffix("/") { current.removeLast() }
    while true {
      if unsafe mkdir(current, 0o755) == 0 {
        missing.append(current)
        break
      }
      let code = errno
      if code == EEXIST || code == EROFS || code == EACCES || code == EISDIR {
        // Whether a directory stands there is what opening it will tell, with the better message.
        if let status = try? status(of: current), status.kind == .directory { break }
        throw SystemError(operation: "create directory", subject: current, code: code == EEXIST ? ENOTDIR : code)
      }
      guard code == ENOENT, let parent = parent(of: current) else {
        throw SystemError(operation: "create directory", subject: current, code: code)
      }
      missing.append(current)
      current = parent
    }
    var made: [String] = []
    for path in missing.reversed() {
      if unsafe mkdir(path, 0o755) == -1, errno != EEXIST {
        throw SystemError(operation: "create directory", subject: path, code: errno)
      }
      try Directory(path: parent(of: path) ?? ".").sync()
      made.append(path)
    }
    return made
  }

  /// Puts a file with `bytes` in place of what is at `path`, so that a reader sees the old or the new one. Not synced: for
  /// what is written again soon.
  package static func replace(_ path: String, with bytes: [UInt8]) throws(SystemError) {
    let part = "\(path).part"
    let file = try FileDescriptor.create(replacing: part)
    try file.writeAll(bytes)
    try file.close()
    try checked("replace", path) { unsafe rename(part, path) }
  }

  private static func parent(of path: String) -> String? {
    guard let slash = path.lastIndex(of: "/") else { return path == "." ? nil : "." }
    var parent = path[..<slash]
    while parent.count > 1, parent.hasSuffix("/") { parent = parent.dropLast() }
    return parent.isEmpty ? (path == "/" ? nil : "/") : String(parent)
  }
}
