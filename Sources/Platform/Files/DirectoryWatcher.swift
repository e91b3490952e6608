import Glibc

/// Watches directories for names that come and go (inotify). Its events are hints to look again: the kernel may drop
/// some, which comes out as `overflow`.
package struct DirectoryWatcher: ~Copyable, Sendable {
  /// Names a watched directory; the same directory has the same number however often it is added.
  package struct Watch: Hashable, Sendable {
    fileprivate let number: Int32
  }

  package enum Event: Equatable, Sendable {
    /// A name appeared whole: a file was moved in, or closed after writing, or a directory was made or moved in.
    case appeared(Watch, name: String, isDirectory: Bool)
    case vanished(Watch, name: String, isDirectory: Bool)
    /// The watched directory itself is gone, and the watch with it.
    case ended(Watch)
    /// Events were lost: everything must be looked at again.
    case overflow
  }

  private let descriptor: FileDescriptor

  package init() throws(SystemError) {
    let number = try checked("watch directories on", "this system") {
      inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
    }
    descriptor = FileDescriptor(owning: number, path: "inotify")
  }

  /// For `poll`: readable when `events` has something.
  package var number: Int32 { descriptor.number }

  /// Watches the directory `path`. `ENOSPC` means the user's limit of watches (fs.inotify.max_user_watches).
  package func add(_ path: String) throws(SystemError) -> Watch {
    let mask =
      UInt32(IN_CREATE) | UInt32(IN_CLOSE_WRITE) | UInt32(IN_MOVED_TO) | UInt32(IN_MOVED_FROM) | UInt32(IN_DELETE)
      | UInt32(IN_ONLYDIR) | UInt32(IN_DONT_FOLLOW)
    return Watch(number: try checked("watch", path) { unsafe inotify_add_watch(descriptor.number, path, mask) })
  }

  /// Ends a watch; one that has ended by itself is no failure.
  package func remove(_ watch: Watch) {
    inotify_rm_watch(descriptor.number, watch.number)
  }

  /// What happened, waiting up to `timeout` for the first event (nil: without end). Empty when nothing did.
  package func events(timeout: Duration?) throws(SystemError) -> [Event] {
    guard try Poll.wait(readable: descriptor.number, timeout: timeout) else { return [] }
    var buffer = [UInt8](repeating: 0, count: 16 * 1024)
    var events: [Event] = []
    while true {
      let count: Int
      do throws(SystemError) {
        count = try descriptor.read(into: &buffer)
      } catch {
        if error.code == EAGAIN { return events }
        throw error
      }
      if count == 0 { return events }
      DirectoryWatcher.decode(buffer[..<count], into: &events)
      if events.count >= 4096 { return events }
    }
  }

  /// Records of `inotify_event`: watch, mask, cookie and name length, four bytes each, then the padded name.
  private static func decode(_ bytes: ArraySlice<UInt8>, into events: inout [Event]) {
    var rest = bytes
    func word(_ at: Int) -> UInt32 {
      (0..<4).reversed().reduce(0) { $0 << 8 | UInt32(rest[rest.startIndex + at + $1]) }
    }
    while rest.count >= 16 {
      let watch = Watch(number: Int32(bitPattern: word(0)))
      let mask = word(4)
      let length = Int(word(12))
      guard rest.count >= 16 + length else { return }
      let name = String(decoding: rest.dropFirst(16).prefix(length).prefix { $0 != 0 }, as: UTF8.self)
      rest = rest.dropFirst(16 + length)
      let isDirectory = mask & UInt32(IN_ISDIR) != 0
      if mask & UInt32(IN_Q_OVERFLOW) != 0 {
        events.append(.overflow)
      } else if mask & UInt32(IN_IGNORED) != 0 {
        events.append(.ended(watch))
      } else if mask & (UInt32(IN_MOVED_TO) | UInt32(IN_CLOSE_WRITE)) != 0
        || mask & UInt32(IN_CREATE) != 0 && isDirectory
      {
        events.append(.appeared(watch, name: name, isDirectory: isDirectory))
      } else if mask & (UInt32(IN_MOVED_FROM) | UInt32(IN_DELETE)) != 0 {
        events.append(.vanished(watch, name: name, isDirectory: isDirectory))
      }
    }
  }
}
