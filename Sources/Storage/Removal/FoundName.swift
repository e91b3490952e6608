import HLS
import Platform

/// What a name somewhere below a recording's directory stands for.
enum FoundName: Equatable {
  case entry(RunEntry)
  /// A playlist, made from the segments.
  case derived
  /// Being written, or left by somebody who was.
  case temporary
  case lock
  case directory(FoundPlace)
  /// Outside the contract: never touched.
  case foreign
}

/// The directories of the contract.
enum FoundPlace: Equatable {
  case recording
  case rendition(RenditionName)
  case run(RenditionName, RunName)
  case area(RenditionName, RunName, Tree.Area)

  /// What `name` stands for here.
  func classify(_ name: String, _ kind: FileKind) -> FoundName {
    switch kind {
    case .regular: return isTemporaryName(name) ? .temporary : classifyFile(name)
    case .directory: return directory(name).map { .directory($0) } ?? .foreign
    case .symbolicLink, .other: return .foreign
    }
  }

  private func classifyFile(_ name: String) -> FoundName {
    switch self {
    case .recording:
      if Tree.derivedNames.contains(name) { return .derived }
      return name.hasPrefix(".") && name.hasSuffix("lock") ? .lock : .foreign
    case .rendition: return Tree.derivedNames.contains(name) ? .derived : .foreign
    case .run, .area: return RunEntry(name).map { .entry($0) } ?? .foreign
    }
  }

  private func directory(_ name: String) -> FoundPlace? {
    switch self {
    case .recording:
      guard let rendition = RenditionName(name), rendition.isUsableAsRendition else { return nil }
      return .rendition(rendition)
    case .rendition(let rendition): return RunName(name).map { .run(rendition, $0) }
    case .run(let rendition, let run):
      guard let area = Tree.Area(rawValue: name), area != .run else { return nil }
      return .area(rendition, run, area)
    case .area: return nil
    }
  }
}

extension Tree {
  /// Playlists beside renditions and runs.
  static let derivedNames: Set<String> = ["live.m3u8", "vod.m3u8"]
}

/// Whether a directory of a recording is a rendition: one without a run may be a person's own. False for one that is gone.
func isRendition(_ name: String, in recording: any DiskDirectory) throws(SystemError) -> Bool {
  var isFound = false
  do throws(SystemError) {
    try recording.subdirectory(name).list { name, kind in
      let isHidden = name.hasPrefix(Tree.removedPrefix)
      isFound = kind == .directory && RunName(isHidden ? name.dropFirst(Tree.removedPrefix.count) : name[...]) != nil
      return !isFound
    }
  } catch {
    if !error.isMissing { throw error }
  }
  return isFound
}

/// Whether a directory holds a rendition with a run.
func holdsRuns(_ directory: any DiskDirectory) throws(SystemError) -> Bool {
  var names: [String] = []
  try directory.list { name, kind in
    if case .directory = FoundPlace.recording.classify(name, kind) { names.append(name) }
    return true
  }
  for name in names where try isRendition(name, in: directory) { return true }
  return false
}

/// Whether a directory holds a recording's locks, which tell a process's number, and nothing else.
func holdsLockOnly(_ directory: any DiskDirectory) throws(SystemError) -> Bool {
  var locks: [String] = []
  var isAlone = true
  try directory.list { name, kind in
    isAlone = kind == .regular && (name == RecordingLock.fileName || name == UploadLock.fileName)
    locks.append(name)
    return isAlone
  }
  guard isAlone else { return false }
  for name in locks {
    // Longer than a number is no lock of ours; an empty one is being taken.
    do throws(SystemError) {
      let bytes = try directory.openForReading(name).readAll(limit: 16)
      guard bytes.allSatisfy({ $0 == UInt8(ascii: "\n") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
      else {
        return false
      }
    } catch {
      if error.isFull { return false }
      if !error.isMissing { throw error }
    }
  }
  return !locks.isEmpty
}

/// Calls `visit` with each name of a directory and of those of the contract below it, in the file system's order.
func walk(
  _ directory: any DiskDirectory, _ place: FoundPlace,
  _ visit: (any DiskDirectory, String, FoundName, FoundPlace) throws(SystemError) -> Void
) throws(SystemError) {
  var below: [(name: String, place: FoundPlace)] = []
  var failure: SystemError?
  try directory.list { name, kind in
    do throws(SystemError) {
      var found = place.classify(name, kind)
      if case .directory(.rendition) = found, try !isRendition(name, in: directory) { found = .foreign }
      if case .directory(let place) = found { below.append((name, place)) }
      try visit(directory, name, found, place)
    } catch {
      // Gone since it was listed.
      if error.isMissing { return true }
      failure = error
    }
    return failure == nil
  }
  if let failure { throw failure }
  for (name, place) in below {
    do throws(SystemError) {
      try walk(directory.subdirectory(name), place, visit)
    } catch {
      if !error.isMissing { throw error }
    }
  }
}
