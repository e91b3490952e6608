import Platform

/// The file to be written: under a temporary name beside it until it is complete and on the disk.
struct ExportTarget: ~Copyable {
  let temporaryPath: String
  private let directory: Directory
  private let name: String
  private let path: String
  private let replaces: Bool
  private var temporaryName: String { ".\(name).part" }

  init(_ configuration: ExportConfiguration) throws(ExportError) {
    let path = configuration.path
    let slash = path.lastIndex(of: "/")
    let parent = slash.map { path[..<$0].isEmpty ? "/" : String(path[..<$0]) } ?? "."
    let name = slash.map { String(path[path.index(after: $0)...]) } ?? path
    directory = try ExportTarget.open(parent, refusing: configuration.replacesExisting ? nil : name, path)
    self.path = path
    self.name = name
    replaces = configuration.replacesExisting
    temporaryPath = "\(parent)/.\(name).part"
  }

  /// Opens the directory, where `name` must not be yet.
  private static func open(_ parent: String, refusing name: String?, _ path: String) throws(ExportError) -> Directory {
    do throws(SystemError) {
      let directory = try Directory(path: parent)
      guard let name else { return directory }
      do throws(SystemError) {
        _ = try directory.status(name)
      } catch {
        if error.isMissing { return directory }
        throw error
      }
    } catch {
      throw .system(SystemError(operation: "create", subject: path, code: error.code))
    }
    throw .exists(path: path)
  }

  /// Makes what was written durable and gives it its name.
  /// - Returns: its size in bytes.
  func commit() throws(ExportError) -> Int64 {
    do throws(SystemError) {
      let file = try directory.openForWriting(temporaryName)
      try file.sync()
      let size = try file.size()
      try directory.rename(temporaryName, to: name, in: directory, replacing: replaces)
      try directory.sync()
      return size
    } catch {
      if error.isTaken { throw .exists(path: path) }
      throw .system(error)
    }
  }

  /// Removes what was written so far, if anything was: why it ended is known by then and matters more.
  func abandon() {
    do throws(SystemError) {
      try directory.remove(temporaryName)
    } catch {
      return
    }
  }
}
