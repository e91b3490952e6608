package import HLS
import Platform

/// What became of a recording that was to be removed.
package enum RemovalOutcome: Equatable, Sendable {
  /// All of it is gone, but for foreign files.
  case removed
  /// Something came or went since it was counted: it is all there still.
  case changed
}

extension Tree {
  /// Removes a whole recording: playlists, segments and all.
  ///
  /// It leaves the tree in one step, by a rename to a hidden name, so that nobody sees half of it and no playlist ever
  /// names a file that is gone. Then it is counted once more: what has been received until now makes a difference, and the
  /// recording is put back; what is received later finds that its directory has left (`IncomingFile.commit`). A second
  /// rename says that there is no way back. A recording with foreign files is emptied where it stands instead, because
  /// those stay there.
  ///
  /// - Parameter judged: the census by which it was decided.
  package func removeRecording(
    _ lock: consuming RecordingLock, judgedBy judged: Census
  ) throws(StorageError) -> RemovalOutcome {
    let recording = lock.recording
    let name = recording.text
    return try storage { () throws(SystemError) in
      guard judged.foreign == 0 else {
        let directory = try top.subdirectory(name)
        guard try Tree.census(directory) == judged else { return .changed }
        try empty(directory, .recording, sparesForeign: true)
        try removeIfEmpty(name, in: top)
        return .removed
      }
      let suffix = name + "." + String(UInt32.random(in: 0 ... .max), radix: 16)
      try top.rename(name, to: Tree.leavingPrefix + suffix, in: top, replacing: true)
      let directory = try top.subdirectory(Tree.leavingPrefix + suffix)
      guard try Tree.census(directory) == judged else {
        try putBack(Tree.leavingPrefix + suffix, recording)
        return .changed
      }
      try top.rename(Tree.leavingPrefix + suffix, to: Tree.removedPrefix + suffix, in: top, replacing: true)
      try empty(directory, .recording)
      try removeIfEmpty(Tree.removedPrefix + suffix, in: top)
      try top.sync()
      return .removed
    }
  }

  /// Goes on with removals that were interrupted: what had left the tree for good is removed, what might still have been
  /// put back is put back.
  package func finishRemovals() throws(StorageError) {
    try storage { () throws(SystemError) in
      var names: [String] = []
      try top.list { name, kind in
        if kind == .directory, name.hasPrefix(Tree.leavingPrefix) || name.hasPrefix(Tree.removedPrefix) {
          names.append(name)
        }
        return true
      }
      for name in names {
        do throws(SystemError) {
          let directory = try top.subdirectory(name)
          guard try holdsLock(directory) ? true : holdsRuns(directory) else { continue }
          // Its cleaner, if alive, has the lock.
          guard case .acquired(let lock) = try directory.attemptLock(RecordingLock.fileName) else { continue }
          if name.hasPrefix(Tree.removedPrefix) {
            try empty(directory, .recording)
            try removeIfEmpty(name, in: top)
          } else {
            let end = name.lastIndex(of: ".") ?? name.endIndex
            if let recording = RecordingName(name[..<end].dropFirst(Tree.leavingPrefix.count)) {
              try putBack(name, recording)
            }
          }
          _ = consume lock
        } catch {
          // Another process was faster.
          if !error.isMissing { throw error }
        }
      }
    }
  }

  /// Out of the tree, but not yet lost.
  static let leavingPrefix = ".leaving-"
  /// About to be emptied, or half empty.
  static let removedPrefix = ".removed-"

  private func putBack(_ hidden: String, _ recording: RecordingName) throws(SystemError) {
    do throws(SystemError) {
      try top.rename(hidden, to: recording.text, in: top, replacing: true)
    } catch {
      guard error.isNotEmpty else { throw error }
      // Somebody began it anew at this moment: what arrived before is kept beside it.
      let suffix = "-" + String(UInt32.random(in: 0 ... .max), radix: 16)
      let beside = recording.text.prefix(PathName.maximumLength - suffix.utf8.count) + suffix
      try top.rename(hidden, to: String(beside), in: top, replacing: true)
    }
    try top.sync()
  }

  /// Whether a hidden directory has a recording's lock, which goes last: without one, and without a run, it is not ours.
  private func holdsLock(_ directory: any DiskDirectory) throws(SystemError) -> Bool {
    do throws(SystemError) {
      return try directory.status(RecordingLock.fileName).kind == .regular
    } catch {
      if error.isMissing { return false }
      throw error
    }
  }

  /// Removes all of the contract from a directory and from those below it; its lock goes last.
  ///
  /// - Parameter sparesForeign: leaves directories that could be renditions but hold no run. Not for what has been
  ///   renamed: nothing foreign was in it, and an interrupted removal has left renditions without runs.
  private func empty(
    _ directory: any DiskDirectory, _ place: FoundPlace, sparesForeign: Bool = false
  ) throws(SystemError) {
    var below: [(name: String, place: FoundPlace)] = []
    try directory.list { name, kind in
      if case .directory(let place) = place.classify(name, kind) { below.append((name, place)) }
      return true
    }
    for (name, place) in below {
      if sparesForeign, case .rendition = place, try !isRendition(name, in: directory) { continue }
      do throws(SystemError) {
        try empty(directory.subdirectory(name), place)
      } catch {
        if !error.isMissing { throw error }
      }
      try removeIfEmpty(name, in: directory)
    }
    while true {
      var names: [String] = []
      var locks: [String] = []
      try directory.list { name, kind in
        switch place.classify(name, kind) {
        case .entry, .derived, .temporary: names.append(name)
        case .lock: locks.append(name)
        case .directory, .foreign: break
        }
        // In portions, so that memory does not grow with the directory.
        return names.count < 4096
      }
      for name in names.isEmpty ? locks : names { try removeIfPresent(name, in: directory) }
      if names.isEmpty { return }
    }
  }

  /// Removes a run of a spool of which nothing is left but its init section, its marker and directories.
  ///
  /// - Returns: what went; nil when something else is in it, and then it is all there still.
  package func removeFinishedRun(_ key: RunKey) throws(StorageError) -> Census? {
    var isFinished = true
    let census = try census(of: key) { entry, _, _ in
      switch entry {
      case .initSection, .marker: break
      case .segment, .piece: isFinished = false
      }
    }
    guard isFinished, census.foreign == 0, census.temporaries == 0 else { return nil }
    return try ifPresent { () throws(SystemError) in
      let rendition = try top.subdirectory(key.recording.text).subdirectory(key.rendition.text)
      let hidden = Tree.removedPrefix + key.run.description
      // At once: of a run that lost its marker first, recovery would think that it never had a segment.
      try rendition.rename(key.run.description, to: hidden, in: rendition, replacing: true)
      try removeHiddenRun(hidden, in: rendition)
      return census
    }
  }

  /// Goes on with removals of runs that were interrupted.
  package func finishRunRemovals(of recording: RecordingName) throws(StorageError) {
    for name in try renditions(of: recording) {
      _ = try ifPresent { () throws(SystemError) in
        let rendition = try top.subdirectory(recording.text).subdirectory(name.text)
        var hidden: [String] = []
        try rendition.list { name, kind in
          if kind == .directory, name.hasPrefix(Tree.removedPrefix) { hidden.append(name) }
          return true
        }
        for name in hidden { try removeHiddenRun(name, in: rendition) }
      }
    }
  }

  private func removeHiddenRun(_ hidden: String, in rendition: any DiskDirectory) throws(SystemError) {
    guard let run = RunName(hidden.dropFirst(Tree.removedPrefix.count)) else { return }
    do throws(SystemError) {
      try empty(rendition.subdirectory(hidden), .run(.main, run))
      try removeIfEmpty(hidden, in: rendition)
    } catch {
      // Another cleaner was faster.
      if !error.isMissing { throw error }
    }
  }

  private func removeIfPresent(_ name: String, in directory: any DiskDirectory) throws(SystemError) {
    do throws(SystemError) {
      try directory.remove(name)
    } catch {
      if !error.isMissing { throw error }
    }
  }
}
