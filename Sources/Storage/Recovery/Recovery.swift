package import HLS
import Platform

/// What recovery of one recording did.
package struct RecoveryReport: Equatable, Sendable {
  /// Segments made of what a crash left, each up to its last whole chunk.
  package var salvaged: [EntryPath] = []
  /// Runs that got their marker.
  package var closed: [EntryPath] = []
  /// Temporary files removed because they held nothing whole.
  package var removed = 0
  /// What could not be done; each leaves its files as they are, for another attempt.
  package var problems: [StorageError] = []

  package var didNothing: Bool { salvaged.isEmpty && closed.isEmpty && removed == 0 && problems.isEmpty }
}

extension Tree {
  /// Finishes what a recorder that is gone left behind: segments that were being written become short segments that end
  /// with their last whole chunk, and runs without a marker get one.
  ///
  /// It may be interrupted at any point and repeated. A problem with one file does not keep it from the others.
  ///
  /// - Parameters:
  ///   - lock: which proves that nobody is at work.
  ///   - kind: what follows the newest run of each rendition: `next` when a recorder is about to go on with the recording,
  ///     else `end`. Then a recording whose recorder stopped between two runs also gets its end, as an empty run.
  ///   - now: wall-clock time, for the name of such an empty run.
  package func recover(
    _ lock: borrowing RecordingLock, closingWith kind: MarkerName.Kind, now: WallClockTime
  ) throws(StorageError) -> RecoveryReport {
    var report = RecoveryReport()
    let renditions = try renditions(of: lock.recording)
    for rendition in renditions {
      let runs = try runs(of: lock.recording, rendition: rendition)
      if let newest = runs.last {
        do throws(StorageError) {
          try settle(RunKey(recording: lock.recording, rendition: rendition, run: newest))
        } catch {
          report.problems.append(error)
          continue
        }
      }
      for run in runs {
        let key = RunKey(recording: lock.recording, rendition: rendition, run: run)
        do throws(StorageError) {
          try recover(key, closingWith: run == runs.last ? kind : .next, beside: renditions, &report)
        } catch {
          report.problems.append(error)
        }
      }
      guard kind == .end, let newest = runs.last else { continue }
      do throws(StorageError) {
        let last = RunKey(recording: lock.recording, rendition: rendition, run: newest)
        guard try state(of: last).marker?.kind == .next else { continue }
        let name = RunName(after: newest, now: now, suffix: UInt16.random(in: 0 ... .max))
        let key = RunKey(recording: lock.recording, rendition: rendition, run: name)
        var writer = try RunWriter(tree: self, key: key, lock: lock)
        report.closed.append(EntryPath(key: key, entry: .marker(try writer.close(.end))))
      } catch {
        report.problems.append(error)
      }
    }
    return report
  }

  /// Makes the names durable that a recorder may have been killed before syncing: its newest run, the directories above
  /// it and what the run holds. Everybody sees them already, and what is seen is taken as committed.
  private func settle(_ key: RunKey) throws(StorageError) {
    let (run, _) = try makeDirectories(of: key)
    try RunWriter.sync(run)
  }

  /// Where the first of a run's other renditions ends that a recorder left; nil without one.
  ///
  /// A kill between two writes leaves a chunk more of one rendition than of another: a second of picture without the
  /// sound that belongs to it, and the like, which no playlist can make good.
  private func end(beside key: RunKey, in renditions: [RenditionName]) -> WallClockTime? {
    renditions.filter { $0 != key.rendition }.compactMap { rendition in
      let other = RunKey(recording: key.recording, rendition: rendition, run: key.run)
      do throws(StorageError) {
        let state = try state(of: other)
        let salvage = Salvage(key: other, directory: try storage { () throws(SystemError) in try directory(of: other) })
        let partials = state.temporaryNames.compactMap { PartialSegmentName($0) }
        for partial in partials where !state.isClosed {
          if let scan = try salvage.scan(partial), scan.tracks.ticks > 0 {
            return partial.start.advanced(byTicks: scan.tracks.ticks)
          }
        }
        if let last = state.allSegments.last { return last.start.advanced(byTicks: last.ticks) }
        // What came before a later segment has been cleaned away.
        return partials.allSatisfy { $0.sequence == 0 } ? key.run.start : nil
      } catch {
        // Told where that rendition itself is recovered.
        return nil
      }
    }.min()
  }

  private func recover(
    _ key: RunKey, closingWith kind: MarkerName.Kind, beside renditions: [RenditionName],
    _ report: inout RecoveryReport
  ) throws(StorageError) {
    let state = try state(of: key)
    let directory = try storage { () throws(SystemError) in try self.directory(of: key) }
    var count = state.highestCount
    let partials = state.temporaryNames.compactMap { PartialSegmentName($0) }
    let taken = Set(state.allSegments.map(\.sequence))
    let salvage = Salvage(key: key, directory: directory)
    for partial in partials {
      // The recorder had committed all before the one it was writing, wherever those are now.
      count = max(count, partial.sequence)
      do throws(StorageError) {
        if !taken.contains(partial.sequence), !state.isClosed,
          let name = try salvage.finish(partial, with: end(beside: key, in: renditions))
        {
          count = max(count, name.sequence + 1)
          report.salvaged.append(EntryPath(key: key, entry: .segment(name)))
          continue
        }
      } catch {
        // Without its init section nothing in the run can be decoded, today or later; but nothing is removed either.
        guard case .damaged = error else { throw error }
        report.problems.append(error)
        continue
      }
      try storage { () throws(SystemError) in try directory.remove(partial.description) }
      report.removed += 1
    }
    for name in state.temporaryNames where RunWriter.otherTemporaryNames.contains(name) {
      try storage { () throws(SystemError) in try directory.remove(name) }
      report.removed += 1
    }
    if state.isClosed { return }
    let marker = RunEntry.marker(MarkerName(count: count, kind: kind))
    try RunWriter.commit(
      PendingFile(in: directory, temporaryName: RunWriter.markerTemporaryName), as: marker)
    report.closed.append(EntryPath(key: key, entry: marker))
  }

  /// Removes temporary files that a crash of a receiver or of a playlist's writer left, wherever they lie in a recording.
  /// A recorder's are recovered instead, and are not touched here.
  ///
  /// - Parameter before: milliseconds since the epoch; what has changed since then may still be being written.
  /// - Returns: how many were removed.
  package func removeAbandonedTemporaries(
    of recording: RecordingName, before: Int64
  ) throws(StorageError) -> Int {
    let keys = try runs(of: recording)
    let renditions = try renditions(of: recording)
    return try ifPresent { () throws(SystemError) in
      let directory = try top.subdirectory(recording.text)
      var removed = try removeTemporaries(in: directory, before: before)
      for rendition in renditions {
        removed += try removeTemporaries(in: directory.subdirectory(rendition.text), before: before)
      }
      for key in keys { removed += try removeTemporaries(in: self.directory(of: key), before: before) }
      return removed
    } ?? 0
  }

  private func removeTemporaries(
    in directory: any DiskDirectory, before: Int64
  ) throws(SystemError) -> Int {
    var names: [String] = []
    try directory.list { name, kind in
      if kind == .regular, isTemporaryName(name), PartialSegmentName(name) == nil,
        !RunWriter.otherTemporaryNames.contains(name)
      {
        names.append(name)
      }
      return true
    }
    var removed = 0
    for name in names {
      do throws(SystemError) {
        guard try directory.status(name).modified < before else { continue }
        try directory.remove(name)
        removed += 1
      } catch {
        // Committed or removed by its writer since it was listed.
        if !error.isMissing { throw error }
      }
    }
    return removed
  }
}
