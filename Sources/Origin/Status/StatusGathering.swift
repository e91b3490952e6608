package import HLS
package import Storage

extension StatusReport {
  /// Looks at a tree once: every directory is listed once, and nothing is written or locked.
  ///
  /// A recording that cannot be read says so in its `problem`, and the others are told all the same.
  ///
  /// - Parameter now: for the ages of what is there.
  package static func gather(
    _ tree: Tree, _ place: Place, now: WallClockTime
  ) throws(StorageError) -> StatusReport {
    var recordings: [Recording] = []
    for name in try tree.recordings() {
      let recording = gather(name, tree, place)
      // A directory that somebody has emptied or is about to fill.
      if recording.runs > 0 || recording.problem != nil { recordings.append(recording) }
    }
    return StatusReport(
      place: place, root: tree.root, time: now, recordings: recordings, availableBytes: try tree.space().availableBytes)
  }

  private static func gather(_ name: RecordingName, _ tree: Tree, _ place: Place) -> Recording {
    var count = RecordingCount(name, in: place)
    var isLocked = false
    var problem: StorageError?
    do throws(StorageError) {
      for key in try tree.runs(of: name) {
        _ = try tree.census(of: key) { entry, area, facts in count.add(entry, of: key, area, bytes: facts.size) }
        count.finish(key)
      }
      isLocked = try tree.isLocked(name)
    } catch {
      problem = error
    }
    var recording = count.finished(isLocked: isLocked)
    recording.problem = problem?.description
    return recording
  }
}
