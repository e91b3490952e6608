import Glibc

/// An exclusive advisory lock on a file (fcntl(2), "open file description locks"), which the kernel lifts when its process
/// ends, however that happens. Unlike `flock` it can be asked for without being taken, so that whoever only looks never
/// is in the way of an owner to be. The file holds the owner's process number as text, for messages only.
package struct FileLock: ~Copyable, Sendable {
  private let file: FileDescriptor

  package enum Attempt: ~Copyable, Sendable {
    case acquired(FileLock)
    /// Another process, or another part of this one, holds it; its number where it could be read.
    case held(by: Int32?)
  }

  private init(_ file: consuming FileDescriptor) {
    self.file = file
  }

  // Closing is not enough: a child that another thread has just spawned has the description too, until it runs its program.
  deinit {
    var whole = FileLock.wholeFile(Int16(F_UNLCK))
    _ = unsafe fcntl(file.number, FileLock.setLock, &whole)
  }

  /// Takes the lock `name` in `directory` without waiting; the file is made when there is none.
  package static func attempt(in directory: borrowing Directory, name: String) throws(SystemError) -> Attempt {
    while true {
      let file = try directory.openOrCreate(name)
      var whole = wholeFile()
      if uninterrupted({ unsafe fcntl(file.number, setLock, &whole) }) == -1 {
        let code = errno
        guard code == EAGAIN || code == EACCES else {
          throw SystemError(operation: "lock", subject: file.path, code: code)
        }
        return .held(by: owner(in: file))
      }
      // The file may have been removed by its last owner between opening and locking: then the lock is on a file that
      // nobody else can find, and another try is needed.
      let locked = try file.status().identity
      let named: FileIdentity?
      do throws(SystemError) {
        named = try directory.status(name).identity
      } catch {
        guard error.isMissing else { throw error }
        named = nil
      }
      guard named == locked else { continue }
      try file.truncate(to: 0)
      try file.writeAll(Array("\(getpid())\n".utf8))
      return .acquired(FileLock(file))
    }
  }

  /// Whether somebody, another part of this process included, holds the lock on a file that is open for reading.
  package static func isHeld(_ file: borrowing FileDescriptor) throws(SystemError) -> Bool {
    var whole = wholeFile()
    let number = file.number
    try checked("ask for the lock", file.path) { unsafe fcntl(number, getLock, &whole) }
    return whole.l_type != Int16(F_UNLCK)
  }

  /// F_OFD_GETLK and F_OFD_SETLK of linux's fcntl.h, which Swift's Glibc module, built without _GNU_SOURCE, hides.
  private static let getLock: Int32 = 36
  private static let setLock: Int32 = 37

  /// For all of a file. The process number must be 0.
  private static func wholeFile(_ type: Int16 = Int16(F_WRLCK)) -> Glibc.flock {
    var request = Glibc.flock()
    request.l_type = type
    request.l_whence = Int16(SEEK_SET)
    return request
  }

  private static func owner(in file: borrowing FileDescriptor) -> Int32? {
    // The number only embellishes a message, so a failure to read it is no failure.
    guard let bytes = try? file.readAll(limit: 32) else { return nil }
    return Int32(String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
  }
}
