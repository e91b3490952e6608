import Platform

/// A file that is being written under a temporary name. It gets its own name in three steps: `seal`, `publish`, and a
/// sync of the directory. Unless it was published, it is removed when its owner lets go of it.
///
/// A class, because an owner that is itself `~Copyable` cannot lend an optional field.
final class PendingFile {
  let directory: any DiskDirectory
  private let file: any DiskFile
  private let temporaryName: String
  /// Bytes appended so far.
  private(set) var length: Int64 = 0
  private var isPublished = false
  /// An append failed half-way: what it wrote goes before anything else happens.
  private var isTorn = false

  /// What becomes of a file that somebody left under the temporary name.
  enum Leftover {
    case refused, replacing
    /// It is emptied and written again unless somebody has it open.
    case reusing
  }

  /// - Parameters:
  ///   - temporaryName: starts with a dot and ends in `.part`.
  ///   - buffer: where what is appended waits until `flush`; nil writes it at once.
  init(
    in directory: any DiskDirectory, temporaryName: String, _ leftover: Leftover = .refused,
    gatheringIn buffer: BlockBuffer? = nil
  ) throws(StorageError) {
    self.directory = directory
    self.temporaryName = temporaryName
    file = try storage { () throws(SystemError) in
      if leftover == .reusing, let file = try directory.openUnshared(temporaryName) {
        try file.truncate(to: 0)
        return file
      }
      do throws(SystemError) {
        return try directory.create(temporaryName)
      } catch {
        guard leftover != .refused, error.isTaken else { throw error }
        try directory.remove(temporaryName)
        return try directory.create(temporaryName)
      }
    }
    if let buffer { try storage { () throws(SystemError) in try file.gather(in: buffer) } }
  }

  deinit {
    if isPublished { return }
    // A temporary file that cannot be removed is found by recovery; there is nothing better to do about it here.
    do throws(SystemError) { try file.close() } catch {}
    do throws(SystemError) { try directory.remove(temporaryName) } catch {}
  }

  /// After a failure the same bytes can be appended again.
  func append(_ bytes: RawSpan) throws(StorageError) {
    if isTorn { try truncate(to: length) }
    do throws(SystemError) {
      try file.append(bytes)
    } catch {
      isTorn = true
      throw .system(error)
    }
    length += Int64(bytes.byteCount)
  }

  /// Writes what waits in the buffer, and can be repeated after a failure.
  func flush() throws(StorageError) {
    if isTorn { try truncate(to: length) }
    try storage { () throws(SystemError) in try file.flush() }
  }

  /// Cuts the file to its first `length` bytes.
  func truncate(to length: Int64) throws(StorageError) {
    do throws(SystemError) {
      try file.truncate(to: length)
    } catch {
      throw .system(error)
    }
    self.length = length
    isTorn = false
  }

  /// Leaves the file under its temporary name, for recovery to find.
  func leave() { isPublished = true }

  /// Makes the content durable, unless told not to. Nothing is appended after this.
  func seal(durably: Bool = true) throws(StorageError) {
    try flush()
    do throws(SystemError) {
      if durably { try file.sync() }
      try file.close()
    } catch {
      throw .notDurable(error)
    }
  }

  /// What has been written, for reading.
  func reopen() throws(SystemError) -> FileDescriptor { try directory.openForReading(temporaryName) }

  /// Gives the sealed file its own name, which is durable when `directory.sync` has returned after that. False when the
  /// name is taken.
  func publish(as name: String, replacing: Bool = false) throws(StorageError) -> Bool {
    do throws(SystemError) {
      try directory.rename(temporaryName, to: name, in: directory, replacing: replacing)
    } catch {
      if error.isTaken { return false }
      throw .system(error)
    }
    isPublished = true
    return true
  }

  /// Gives the sealed file its own name, and the file that had it the temporary one.
  func publish(exchanging name: String) throws(StorageError) {
    let isExchanged = try storage { () throws(SystemError) in try directory.exchange(temporaryName, with: name) }
    if isExchanged { isPublished = true } else { _ = try publish(as: name, replacing: true) }
  }
}
