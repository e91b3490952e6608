import Foundation
import TestKit
import Testing

@testable import Platform

@Suite struct `File descriptor` {
  let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  @Test func `what is written can be read at any place`() throws {
    let file = try FileDescriptor.create(replacing: directory.file("a"))
    let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
    try file.writeAll(bytes)
    try file.sync()
    #expect(try file.size() == 300_000)
    var buffer = [UInt8](repeating: 0, count: 100)
    #expect(try file.read(into: &buffer, at: 299_950) == 50)
    #expect(buffer[..<50].elementsEqual(bytes[299_950...]))
    #expect(try file.read(into: &buffer, at: 300_000) == 0)
    try file.truncate(to: 10)
    try file.seek(to: 0)
    #expect(try file.readAll(limit: 10) == Array(bytes[..<10]))
    try file.close()
  }

  @Test func `a file larger than the limit is refused, not cut`() throws {
    try Data(count: 11).write(to: URL(fileURLWithPath: directory.file("a")))
    #expect { try FileDescriptor.open(forReading: directory.file("a")).readAll(limit: 10) } throws: {
      ($0 as? SystemError)?.isFull == true
    }
  }

  @Test func `an error names the operation, the file and the cause`() throws {
    let path = directory.file("missing")
    #expect { _ = try FileDescriptor.open(forReading: path) } throws: {
      "\($0)" == "cannot open \(path): No such file or directory" && ($0 as? SystemError)?.isMissing == true
    }
    #expect(
      "\(SystemError(operation: "write", subject: "x", code: ENOSPC))" == "cannot write x: No space left on device")
    #expect { try FileDescriptor.open(forReading: "/dev/null").writeAll([1]) } throws: {
      "\($0)" == "cannot write /dev/null: Bad file descriptor"
    }
  }

  @Test func `a descriptor is closed with its owner, unless it was given away`() throws {
    var number: Int32 = -1
    do { number = try FileDescriptor.create(replacing: directory.file("a")).number }
    #expect(fcntl(number, F_GETFD) == -1)
    let given = try FileDescriptor.create(replacing: directory.file("a")).release()
    #expect(fcntl(given, F_GETFD) == FD_CLOEXEC)
    close(given)
  }
}

@Suite struct `Directory on disk` {
  let temporary: TemporaryDirectory

  init() throws { temporary = try TemporaryDirectory() }

  private func top() throws(SystemError) -> Directory { try Directory(path: temporary.path) }

  @Test func `what is written to a new file after it was cut follows what is left`() throws {
    let file = try top().create("a")
    try file.writeAll([1, 2, 3, 4])
    try file.truncate(to: 2)
    try file.writeAll([5])
    try file.seek(to: 0)
    #expect(try file.readAll(limit: 10) == [1, 2, 5])
  }

  @Test(arguments: ["", ".", "..", "a/b", "/etc", "a\0b", "../x"])
  func `a name is one component`(name: String) throws {
    let top = try top()
    #expect(throws: SystemError.self) { _ = try top.create(name) }
    #expect(throws: SystemError.self) { _ = try top.subdirectory(name) }
    #expect(throws: SystemError.self) { try top.makeDirectory(name) }
    #expect(throws: SystemError.self) { try top.remove(name) }
    #expect(throws: SystemError.self) { try top.removeDirectory(name) }
    #expect(throws: SystemError.self) { _ = try top.status(name) }
    try top.makeDirectory("here")
    #expect(throws: SystemError.self) { try top.rename("here", to: name, in: self.top(), replacing: true) }
    #expect(throws: SystemError.self) { try top.rename(name, to: "there", in: self.top(), replacing: true) }
  }

  @Test func `symbolic links are not followed`() throws {
    let top = try top()
    try FileManager.default.createSymbolicLink(atPath: temporary.file("out"), withDestinationPath: "/")
    try FileManager.default.createSymbolicLink(atPath: temporary.file("file"), withDestinationPath: "/etc/passwd")
    #expect(throws: SystemError.self) { _ = try top.subdirectory("out") }
    #expect(throws: SystemError.self) { try top.makeDirectory("out") }
    #expect(throws: SystemError.self) { _ = try top.openForReading("file") }
    #expect(throws: SystemError.self) { _ = try top.openForWriting("file") }
    #expect(throws: SystemError.self) { _ = try top.openOrCreate("file") }
    #expect(throws: SystemError.self) { _ = try top.create("file") }
    #expect(try top.status("out").kind == .symbolicLink)
  }

  @Test func `a pipe in a file's place is refused without waiting`() throws {
    #expect(mkfifo(temporary.file("pipe"), 0o600) == 0)
    #expect(throws: SystemError.self) { _ = try top().openForReading("pipe") }
  }

  @Test func `renaming replaces only where that is asked for`() throws {
    let top = try top()
    try top.create("a").writeAll([1])
    try top.create("b").writeAll([2])
    #expect { try top.rename("a", to: "b", in: self.top(), replacing: false) } throws: {
      ($0 as? SystemError)?.isTaken == true
    }
    #expect(try top.openForReading("b").readAll(limit: 9) == [2])
    try top.rename("a", to: "c", in: self.top(), replacing: false)
    try top.rename("c", to: "b", in: self.top(), replacing: true)
    #expect(try top.openForReading("b").readAll(limit: 9) == [1])
    #expect(try names(in: top) == ["b"])
  }

  @Test func `two files change names in one step, and a missing one is told`() throws {
    let files = try top()
    for (name, byte) in [("a", UInt8(1)), ("b", 2)] { try files.create(name).writeAll([byte]) }
    #expect(try files.exchange("a", with: "b"))
    #expect(try files.openForReading("a").readAll(limit: 9) == [2])
    #expect(try files.openForReading("b").readAll(limit: 9) == [1])
    #expect(try !files.exchange("a", with: "c"))
    #expect(throws: SystemError.self) { _ = try files.exchange("a", with: "../b") }
  }

  @Test func `a file is opened unshared only while nobody else has it open`() throws {
    let files = try top()
    func isUnshared() throws -> Bool {
      guard let file = try files.openUnshared("a") else { return false }
      // Nobody who opens it now has to wait: the lease was given back.
      return try files.openForReading("a").readAll(limit: 9) == [1] && file.size() == 1
    }
    #expect(try !isUnshared())
    try files.create("a").writeAll([1])
    do {
      let reader = try files.openForReading("a")
      #expect(try !isUnshared())
      #expect(try reader.size() == 1)
    }
    #expect(try isUnshared())
  }

  @Test func `a file system that cannot rename without replacing gets two steps that do not either`() throws {
    let top = try top()
    try top.create("a").writeAll([1])
    try top.create("b").writeAll([2])
    let number = open(temporary.path, O_RDONLY | O_DIRECTORY)
    defer { close(number) }
    #expect(linkWithoutReplacing(number, "a", number, "b") == -1)
    #expect(errno == EEXIST)
    #expect(linkWithoutReplacing(number, "a", number, "c") == 0)
    #expect(try names(in: top) == ["b", "c"])
    #expect(try top.openForReading("c").readAll(limit: 9) == [1])
  }

  @Test func `creating is exclusive, and making a directory twice is not`() throws {
    let top = try top()
    do { _ = try top.create("a") }
    #expect { _ = try top.create("a") } throws: { ($0 as? SystemError)?.isTaken == true }
    #expect(try top.makeDirectory("d"))
    #expect(try !top.makeDirectory("d"))
    #expect(throws: SystemError.self) { try top.makeDirectory("a") }
    do { _ = try top.subdirectory("d").create("x") }
    #expect { try top.removeDirectory("d") } throws: { ($0 as? SystemError)?.isNotEmpty == true }
    #expect(try names(in: top, ofKind: .directory) == ["d"])
    #expect(try names(in: top, ofKind: .regular) == ["a"])
  }

  @Test func `a listing ends when the caller has enough`() throws {
    let top = try top()
    for index in 0..<10 { _ = try top.create("f\(index)").size() }
    var seen = 0
    try top.list { _, _ in
      seen += 1
      return seen < 3
    }
    #expect(seen == 3)
  }

  @Test func `missing directories are made, and a file in their way is told`() throws {
    let path = temporary.file("a/b/c")
    #expect(try FileSystem.makeDirectories(path) == ["a", "a/b", "a/b/c"].map(temporary.file))
    #expect(try FileSystem.makeDirectories(path + "/") == [])
    do { _ = try top().create("file") }
    #expect(throws: SystemError.self) { try FileSystem.makeDirectories(temporary.file("file")) }
    #expect(throws: SystemError.self) { try FileSystem.makeDirectories(temporary.file("file/x")) }
    #expect(throws: SystemError.self) { try FileSystem.makeDirectories("/proc/x/y") }
    #expect(throws: SystemError.self) { try FileSystem.makeDirectories("") }
  }

  @Test func `room on a file system is told in bytes`() throws {
    let space = try FileSystem.space(at: temporary.path)
    #expect(space.totalBytes > 1 << 20)
    #expect((0...space.totalBytes).contains(space.availableBytes))
    #expect(space.availableFiles > 0)
    #expect(try top().space().totalBytes == space.totalBytes)
  }

  @Test func `a lock is held by one, names its owner, and ends with its value`() throws {
    let top = try top()
    func holder() throws -> Int32? {
      switch try FileLock.attempt(in: self.top(), name: "lock") {
      case .acquired: return nil
      case .held(let owner): return owner
      }
    }
    do {
      let attempt = try FileLock.attempt(in: top, name: "lock")
      #expect(try holder() == getpid())
      _ = consume attempt
    }
    #expect(try holder() == nil)
  }

  @Test func `a lock ends with its value though a child that is being started still has its file`() throws {
    let lock = try FileLock.attempt(in: top(), name: "lock")
    let path = temporary.file("lock")
    let numbers = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
    let own = try #require(
      numbers.first { (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == path })
    // As `fork` would leave it.
    let child = dup(own)
    defer { close(child) }
    _ = consume lock
    guard case .acquired = try FileLock.attempt(in: top(), name: "lock") else {
      Issue.record("still held")
      return
    }
  }

  @Test func `a lock whose file its owners remove is still held by one`() throws {
    let path = temporary.path
    let holders = Counter()
    let overlaps = Counter()
    let threads = try (0..<4).map { _ in
      try Platform.Thread("locker") {
        for _ in 0..<500 {
          guard let directory = try? Directory(path: path),
            case .acquired(let lock)? = try? FileLock.attempt(in: directory, name: "lock")
          else { continue }
          if holders.value.add(1, ordering: .sequentiallyConsistent).newValue != 1 {
            overlaps.value.add(1, ordering: .relaxed)
          }
          // The removal comes last, so that nothing of this owner's turn is left when another file can be locked.
          holders.value.subtract(1, ordering: .sequentiallyConsistent)
          if (try? directory.remove("lock")) == nil { overlaps.value.add(1, ordering: .relaxed) }
          _ = consume lock
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(overlaps.now == 0)
  }

  @Test func `a watcher sees what appears whole and what goes`() throws {
    let watcher = try DirectoryWatcher()
    let watch = try watcher.add(temporary.path)
    #expect(try watcher.events(timeout: .zero) == [])
    let top = try top()
    let file = try top.create("a")
    try file.writeAll([1])
    #expect(try watcher.events(timeout: .zero) == [], "an unfinished file is none of its business")
    try file.close()
    #expect(try watcher.events(timeout: .seconds(60)) == [.appeared(watch, name: "a", isDirectory: false)])
    try top.makeDirectory("d")
    try top.rename("a", to: "b", in: self.top(), replacing: false)
    try top.remove("b")
    #expect(
      try watcher.events(timeout: .seconds(60)) == [
        .appeared(watch, name: "d", isDirectory: true), .vanished(watch, name: "a", isDirectory: false),
        .appeared(watch, name: "b", isDirectory: false), .vanished(watch, name: "b", isDirectory: false),
      ])
    watcher.remove(watch)
    #expect(try watcher.events(timeout: .seconds(60)) == [.ended(watch)])
    #expect(throws: SystemError.self) { _ = try watcher.add(temporary.file("missing")) }
  }
}

private func names(in directory: borrowing Directory, ofKind wanted: FileKind? = nil) throws(SystemError) -> [String] {
  var names: [String] = []
  try directory.list { name, kind in
    if wanted == nil || kind == wanted { names.append(name) }
    return true
  }
  return names.sorted()
}
