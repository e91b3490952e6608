import Foundation

/// What this process and the programs it starts leave behind lies in one directory, which goes when the process exits.
/// The one of a process that could not tidy up (a trap, SIGKILL) goes when the next one starts.
public enum Scratch {
  private static let prefix = "segrec-tests."

  /// Its path; also TMPDIR of the programs under test.
  public static let path: String = {
    let all = NSTemporaryDirectory()
    for name in (try? FileManager.default.contentsOfDirectory(atPath: all)) ?? [] where name.hasPrefix(prefix) {
      guard let process = pid_t(name.dropFirst(prefix.count)), kill(process, 0) == -1, errno == ESRCH else { continue }
      try? FileManager.default.removeItem(atPath: all + "/" + name)
    }
    let own = all + (all.hasSuffix("/") ? "" : "/") + prefix + "\(getpid())"
    try? FileManager.default.createDirectory(
      atPath: own, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    atexit {
      Program.killAll()
      try? FileManager.default.removeItem(atPath: Scratch.path)
    }
    return own
  }()
}

/// A directory of its own for one test, removed with everything in it when the last reference goes.
public final class TemporaryDirectory: Sendable {
  public let path: String

  public init() throws {
    var template = Array((Scratch.path + "/XXXXXX").utf8CString)
    guard let made = mkdtemp(&template) else {
      throw CocoaError(.fileWriteUnknown, userInfo: [NSDebugDescriptionErrorKey: "mkdtemp: errno \(errno)"])
    }
    path = String(cString: made)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  /// The path of `name` inside.
  public func file(_ name: String) -> String { path + "/" + name }

  /// All regular files below, as paths relative to this directory, sorted.
  public func files(below directory: String = "") -> [String] {
    let root = directory.isEmpty ? path : file(directory)
    guard let walk = FileManager.default.enumerator(atPath: root) else { return [] }
    var found: [String] = []
    for case let name as String in walk where walk.fileAttributes?[.type] as? FileAttributeType == .typeRegular {
      found.append(name)
    }
    return found.sorted()
  }
}
