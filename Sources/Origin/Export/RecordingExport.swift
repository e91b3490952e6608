package import HLS
package import LibAV
package import Platform
package import Storage

/// What to export and where to.
package struct ExportConfiguration: Sendable {
  package var recording: RecordingName
  /// The file to write. It appears when it is complete, not before.
  package var path: String
  /// Only these runs, of any rendition; nil takes all.
  package var runs: Set<RunName>?
  /// Replaces a file that is there already.
  package var replacesExisting = false

  package init(recording: RecordingName, path: String) {
    self.recording = recording
    self.path = path
  }
}

package struct ExportProgress: Equatable, Sendable {
  /// Media written and media in all, in 90 kHz ticks of the leading rendition.
  package var ticks: Int64 = 0
  package var totalTicks: Int64 = 0
}

package struct ExportSummary: Equatable, Sendable {
  /// Duration of the file in 90 kHz ticks.
  package var ticks: Int64 = 0
  package var bytes: Int64 = 0
  package var tracks = 0
  package var runs = 0
  package var segments = 0
  /// Segments that the numbers say are missing; their time stays in the file, as a picture that stands still.
  package var missing = 0
}

/// Writes one MP4 with its index in front (faststart) from all segments of a recording on disk, without encoding: each
/// rendition's video and audio as a track, runs one behind the other.
///
/// The file is written under a temporary name beside `path`, synced and renamed. Memory is libav's index of the samples,
/// about 90 bytes each (an hour at 25 fps with AAC: 25 MB).
/// - Parameter progress: called about once per second of media, on the calling thread.
package func exportRecording(
  _ tree: Tree, _ configuration: ExportConfiguration, log: Log, interruption: Interruption,
  progress: (ExportProgress) -> Void = { _ in }
) throws(ExportError) -> ExportSummary {
  let runs = try findRuns(tree, configuration, log, interruption)
  let plan = try ExportPlan(runs, recording: configuration.recording)
  let target = try ExportTarget(configuration)
  do throws(ExportError) {
    var summary = try writeTracks(
      tree, plan, to: target.temporaryPath, named: configuration.path, interruption, progress)
    summary.bytes = try target.commit()
    return summary
  } catch {
    target.abandon()
    throw error
  }
}

private func findRuns(
  _ tree: Tree, _ configuration: ExportConfiguration, _ log: Log, _ interruption: Interruption
) throws(ExportError) -> [ExportRun] {
  let recording = configuration.recording
  var keys = try stored { () throws(StorageError) in try tree.runs(of: recording) }
  if let wanted = configuration.runs {
    if let absent = wanted.sorted().first(where: { name in !keys.contains { $0.run == name } }) {
      throw .noSuchRun(absent, recording)
    }
    keys.removeAll { !wanted.contains($0.run) }
  }
  var runs: [ExportRun] = []
  for key in keys {
    let state = try stored { () throws(StorageError) in try tree.state(of: key) }
    let segments = withoutRepeats(state.allSegments)
    guard state.hasInitSection, !segments.isEmpty else {
      if !segments.isEmpty || !state.pieces.isEmpty {
        let reason = state.pieces.isEmpty ? "its init section is missing" : "its pieces have not been stitched yet"
        log.warning("export", "the run \(key) is left out: \(reason)", ["run": .text("\(key)")])
      }
      continue
    }
    let streams = try RunReader.streams(tree, key, segments, interruption: interruption)
    let run = ExportRun(key: key, segments: segments, streams: streams)
    if run.missing > 0 {
      log.warning(
        "gap", "the run \(key) misses \(run.missing) segments; their time stays empty",
        ["run": .text("\(key)"), "missing": .integer(Int64(run.missing))])
    }
    runs.append(run)
  }
  return runs
}

/// The same number twice is the same segment in two areas, between a copy and its removal.
private func withoutRepeats(_ segments: [SegmentName]) -> [SegmentName] {
  var kept: [SegmentName] = []
  for segment in segments where kept.last?.sequence != segment.sequence { kept.append(segment) }
  return kept
}

private func writeTracks(
  _ tree: Tree, _ plan: ExportPlan, to path: String, named name: String, _ interruption: Interruption,
  _ progress: (ExportProgress) -> Void
) throws(ExportError) -> ExportSummary {
  var state = ExportProgress()
  state.totalTicks = plan.renditions.first?.runs.reduce(0) { $0 + $1.ticks } ?? 0
  let merger = ExportMerger(tree, plan, interruption)
  var packet = try newPacket()
  var muxer = try openMuxer(plan, path, named: name)
  while let track = try merger.next(into: &packet) {
    do throws(AVError) {
      try muxer.write(&packet, track: track)
    } catch {
      throw notWritten(error, name)
    }
    if merger.timeline.end >= state.ticks + 90_000 {
      state.ticks = merger.timeline.end
      progress(state)
    }
    if interruption.isStopped { throw .stopped }
  }
  do throws(AVError) {
    try muxer.finish()
  } catch {
    throw notWritten(error, name)
  }
  state.ticks = merger.timeline.end
  progress(state)
  let runs = plan.renditions.flatMap(\.runs)
  var summary = ExportSummary()
  summary.ticks = merger.timeline.end
  summary.tracks = plan.tracks.count
  summary.runs = runs.count
  summary.segments = runs.reduce(0) { $0 + $1.segments.count }
  summary.missing = runs.reduce(0) { $0 + $1.missing }
  return summary
}

/// The disk's fault is the disk's, and is told of the file that was asked for; only what the muxer itself does not like is
/// the recording's.
private func notWritten(_ error: AVError, _ name: String, operation: String = "write") -> ExportError {
  guard let code = error.systemCode else { return .media(error) }
  return .system(SystemError(operation: operation, subject: name, code: code))
}

private func openMuxer(
  _ plan: ExportPlan, _ path: String, named name: String
) throws(ExportError) -> OutputMuxer {
  do throws(AVError) {
    // "file:" keeps libav from taking a colon in a name for a protocol.
    return try OutputMuxer(
      format: "mp4", url: "file:" + path,
      tracks: plan.tracks.map { FragmentTrack(parameters: $0.stream.parameters, frameRate: $0.stream.frameRate) },
      options: [
        MediaOption("movflags", "faststart"), MediaOption("video_track_timescale", "90000"),
        MediaOption("strict", "experimental"),
      ])
  } catch {
    if case .mux = error.operation { throw notWritten(error, name, operation: "create") }
    throw notWritten(error, name)
  }
}

func stored<R>(_ body: () throws(StorageError) -> R) throws(ExportError) -> R {
  do throws(StorageError) {
    return try body()
  } catch {
    throw .storage(error)
  }
}
