import Glibc

/// An exclusive advisory lock on a file (`flock`), which the kernel lifts when its process ends, however that happens.
/// The file holds the owner's process number as text, for messages only.
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

  /// Takes the lock `name` in `directory` without waiting; the file is made when there is none.
  package static func attempt(in directory: borrowing Directory, name: String) throws(SystemError) -> Attempt {
    while true {
      let file = try directory.openOrCreate(name)
      if uninterrupted({ flock(file.number, LOCK_EX | LOCK_NB) }) == -1 {
        let code = errno
        guard code == EWOULDBLOCK else {
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

  private static func owner(in file: borrowing FileDescriptor) -> Int32? {
    // The number only embellishes a message, so a failure to read it is no failure.
    guard let bytes = try? file.readAll(limit: 32) else { return nil }
    return Int32(String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
  }
}
