package import HLS
package import Platform
import Storage

/// What one pass of stitching found.
package struct StitchSummary: Equatable, Sendable {
  package var recordings = 0
  package var ended = 0
  /// Segments in the whole lists of ended recordings.
  package var segments = 0
  /// Gaps in them.
  package var gaps = 0
  /// Recordings that could not be stitched; each was said.
  package var failed = 0

  package init() {}
}

/// Makes the playlists of a tree or bucket current, once: of all its recordings, or of one.
///
/// Waiting counts from the times of the files, so that a command that runs every minute declares a gap at the same
/// moment as one that runs all the time.
/// - Throws: when the tree cannot be listed, or another process keeps its playlists current (`busy`). What goes
///   wrong with one recording is said and counted, and the others go on.
package func stitchOnce(
  _ store: any StitchStore, _ configuration: StitchConfiguration, recording only: RecordingName? = nil, log: Log
) throws(StitchError) -> StitchSummary {
  let lock: StitchLock? = if let tree = store.directory { try StitchLock(tree, configuration.shard) } else { nil }
  var summary = StitchSummary()
  let recordings: [RecordingName]
  do throws(StorageError) {
    if let only {
      recordings = try store.renditions(of: only).isEmpty ? [] : [only]
    } else {
      recordings = try store.recordings()
    }
  } catch {
    throw .storage(error)
  }
  for recording in recordings where configuration.shard.contains(recording) {
    summary.recordings += 1
    do throws(StorageError) {
      if store.isRemote, only == nil, try store.isSettled(recording) {
        summary.ended += 1
        continue
      }
      do throws(StorageError) {
        try pass(store, recording, configuration.policy, &summary, log)
      } catch {
        // What a worker at the same bucket has written meanwhile is read, and gone on from.
        guard error.remoteReason == .overtaken else { throw error }
        try pass(store, recording, configuration.policy, &summary, log)
      }
    } catch {
      summary.failed += 1
      log.error("stitch", "cannot stitch \(recording): \(error)", ["recording": .init(recording)])
    }
  }
  lock?.release()
  return summary
}

private func pass(
  _ store: any StitchStore, _ recording: RecordingName, _ policy: StitchingPolicy, _ summary: inout StitchSummary,
  _ log: Log
) throws(StorageError) {
  let now = ContinuousClock.now
  var stitching = try RecordingStitching(store, recording, policy, log, at: now)
  _ = try stitching.advance(at: now)
  guard stitching.isEnded else { return }
  let whole = try WholeRecording.write(store, recording)
  summary.ended += 1
  summary.segments += whole?.segments ?? 0
  summary.gaps += whole?.gaps ?? 0
}
