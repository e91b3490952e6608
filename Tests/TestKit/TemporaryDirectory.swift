import Foundation

/// A directory of its own for one test, removed with everything in it when the last reference goes.
public final class TemporaryDirectory: Sendable {
  public let path: String

  public init() throws {
    var template = Array((NSTemporaryDirectory() + "/segrec-test.XXXXXX").utf8CString)
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
