import Glibc
package import HLS
import Platform

/// A file that arrives from elsewhere and takes its place in a tree once it is whole.
///
/// Nothing that is there is ever replaced, and a number belongs to one file: the same bytes under the same name are
/// taken as a repetition, anything else as a conflict. A file that is not committed leaves nothing behind.
package struct IncomingFile: ~Copyable {
  package enum Outcome: Equatable, Sendable {
    /// The file is in its place, durably.
    case stored
    /// The same file was there before.
    case same
    /// Another file has that name or number; it stays, and the new one is gone.
    case conflict
    /// Its number is not among those that the run's marker counts: the run was closed without it, and whoever reads it
    /// has been told that nothing more comes.
    case closed
  }

  package let entry: EntryPath
  private let tree: Tree
  private let file: PendingFile

  init(_ tree: Tree, _ entry: EntryPath) throws(StorageError) {
    self.tree = tree
    self.entry = entry
    let directory = try tree.arrivals.withTurn(entry.key) { run throws(StorageError) in
      if run.isKnown {
        do throws(SystemError) {
          return try tree.directory(of: entry.key)
        } catch {
          // Removed as empty since the last arrival.
          guard error.isMissing else { throw StorageError.system(error) }
        }
      }
      var known = Arrivals.Run(isBusy: true, isKnown: true)
      let (directory, isNew) = try tree.makeDirectories(of: entry.key)
      for area in Tree.Area.allCases where !isNew {
        try tree.entries(of: entry.key, area: area) { entry in
          known.add(entry)
          return true
        }
      }
      // Only now: after a failure the next arrival looks, and syncs, again.
      run = known
      return directory
    }
    file = try PendingFile(in: directory, temporaryName: randomTemporaryName())
  }

  /// Bytes so far.
  package var length: Int64 { file.length }

  package mutating func append(_ bytes: RawSpan) throws(StorageError) { try file.append(bytes) }

  /// Puts the file in its place. When this returns `stored` or `same`, the file survives a crash and a power cut.
  package consuming func commit() throws(StorageError) -> Outcome {
    let name = entry.entry.description
    let directory = file.directory
    try file.seal()
    let claim = try tree.arrivals.withTurn(entry.key) { run throws(StorageError) -> Claim in
      // A number that may be taken is settled below, outside the turn and by what is on the disk.
      if run.mayHold(entry.entry) {
        let claim = try claimant(of: entry, tree)
        if claim != .free { return claim }
      }
      guard try file.publish(as: name) else { return .taken }
      run.add(entry.entry)
      return .free
    }
    if claim == .closed { return .closed }
    if claim == .free {
      do throws(SystemError) {
        try directory.sync()
      } catch {
        // Nobody was told of it yet. Better that it comes again than that a name is trusted which may not last.
        do throws(SystemError) { try directory.remove(name) } catch {}
        throw .notDurable(error)
      }
      try requirePlace(of: directory)
      return .stored
    }
    guard try isSame() else { return .conflict }
    // The one that was faster may not have synced the directory yet.
    try RunWriter.sync(directory)
    return .same
  }

  /// Removes what has arrived.
  package consuming func abandon() {}

  /// Fails with `isMissing` when the file is not where its name says: while it arrived, its recording was taken out of
  /// the tree (`Tree.removeRecording`), or moved away by a person, and the directory this one wrote to went along.
  private func requirePlace(of directory: any DiskDirectory) throws(StorageError) {
    let name = entry.entry.description
    let (here, there) = try storage { () throws(SystemError) in
      (try directory.status(name).identity, try tree.directory(of: entry.key).status(name).identity)
    }
    guard here == there else {
      throw .system(SystemError(operation: "keep", subject: tree.path(of: entry), code: ENOENT))
    }
  }

  /// Whether the file under the same name, in the run or in one of its areas, has the same bytes.
  private func isSame() throws(StorageError) -> Bool {
    for area in Tree.Area.allCases {
      let there = try ifPresent { () throws(SystemError) in
        try tree.directory(of: entry.key, area: area).openForReading(entry.entry.description)
      }
      guard let there else { continue }
      return try storage { () throws(SystemError) in
        try haveSameBytes(there, file.reopen())
      }
    }
    return false
  }
}

// Sendable: it cannot be copied, and nobody else holds its pending file.
extension IncomingFile: @unchecked Sendable {}

/// Who has a number.
private enum Claim: Equatable {
  case free
  /// The run has a file with it, under whatever name and in whatever area.
  case taken
  /// The run's marker counts fewer.
  case closed
}

/// What the disk says about the number of an entry.
private func claimant(of entry: EntryPath, _ tree: Tree) throws(StorageError) -> Claim {
  for area in Tree.Area.allCases {
    if try tree.facts(of: entry, area: area) != nil { return .taken }
  }
  var isTaken = false
  var hasPieces = false
  var count = Int.max
  for area in Tree.Area.allCases {
    try tree.entries(of: entry.key, area: area) { other in
      isTaken = isTaken || other.claimsSameNumber(as: entry.entry)
      switch other {
      case .piece: hasPieces = true
      case .marker(let name): count = name.count
      case .segment, .initSection: break
      }
      return !isTaken
    }
  }
  if isTaken { return .taken }
  switch entry.entry {
  // A phone's marker counts pieces, whose segments have numbers of their own.
  case .segment(let name): return !hasPieces && name.sequence >= count ? .closed : .free
  case .piece(let sequence): return sequence >= count ? .closed : .free
  case .marker, .initSection: return .free
  }
}

/// Compares two files from their starts, in pieces of 64 kB.
private func haveSameBytes(
  _ a: borrowing FileDescriptor, _ b: borrowing FileDescriptor
) throws(SystemError) -> Bool {
  let size = try a.size()
  guard try size == b.size() else { return false }
  var first = [UInt8](repeating: 0, count: 64 * 1024)
  var second = first
  var offset: Int64 = 0
  while offset < size {
    let count = try a.read(into: &first, at: offset)
    guard count > 0 else { return false }
    var filled = 0
    // The other file may come in other portions.
    while filled < count {
      let more = try b.read(into: &second, at: offset + Int64(filled))
      guard more > 0, first[filled..<min(count, filled + more)].elementsEqual(second[..<min(count - filled, more)])
      else { return false }
      filled += more
    }
    offset += Int64(count)
  }
  return true
}

extension RunEntry {
  /// One number, one file; one run, one marker.
  fileprivate func claimsSameNumber(as other: RunEntry) -> Bool {
    switch (self, other) {
    case (.segment(let a), .segment(let b)): a.sequence == b.sequence
    case (.piece(let a), .piece(let b)): a == b
    case (.marker, .marker): true
    case (.initSection, .initSection): true
    default: false
    }
  }
}

extension Tree {
  /// Starts to receive a file: its run's directory is made when there is none.
  package func receive(_ entry: EntryPath) throws(StorageError) -> IncomingFile {
    try IncomingFile(self, entry)
  }
}
