import HLS
import Platform
import Storage

/// Writes `vod.m3u8` of an ended recording: everything that is there, from one listing. Done once a recording, so that
/// its cost, unlike that of a live list, may grow with the recording: about 15 µs for each segment.
enum WholeRecording {
  static let name = "vod.m3u8"

  struct Result: Equatable {
    var segments = 0
    var gaps = 0
    /// 90 kHz ticks, of the longest rendition.
    var ticks: Int64 = 0
  }

  /// - Returns: nil when there is nothing to play.
  static func write(_ tree: Tree, _ recording: RecordingName) throws(StorageError) -> Result? {
    var listings: [RenditionName: [RunListing]] = [:]
    for rendition in try tree.renditions(of: recording) {
      var runs: [RunListing] = []
      for run in try tree.runs(of: recording, rendition: rendition) {
        runs.append(try listing(tree, RunKey(recording: recording, rendition: rendition, run: run)))
      }
      listings[rendition] = runs
    }
    // One for all renditions (RFC 8216bis-20 §4.4.6.2.1).
    let target = listings.values.map { MediaPlaylist.wholeTargetDuration($0) }.max() ?? 1
    var summaries: [RenditionName: RenditionSummary] = [:]
    var result = Result()
    for (rendition, runs) in listings.sorted(by: { $0.key < $1.key }) {
      let others = listings.filter { $0.key != rendition }.map(\.value)
      guard let playlist = MediaPlaylist.whole(runs, targetDuration: target, others: others) else { continue }
      summaries[rendition] = try summary(tree, recording, rendition, playlist)
      try tree.writeAtomically("\(recording)/\(rendition)/\(name)", playlist.rendered())
      let gaps = playlist.entries.count(where: \.isGap)
      result.segments += playlist.entries.count - gaps
      result.gaps += gaps
      result.ticks = max(result.ticks, playlist.ticks)
    }
    guard !summaries.isEmpty else { return nil }
    let multivariant = MultivariantPlaylist(renditions: summaries, list: name)
    try tree.writeAtomically("\(recording)/\(name)", multivariant.rendered())
    return result
  }

  private static func listing(_ tree: Tree, _ key: RunKey) throws(StorageError) -> RunListing {
    var listing = RunListing(run: key.run)
    try tree.entries(of: key) { entry in
      switch entry {
      case .initSection: listing.hasInitSection = true
      case .segment(let name): listing.segments.append(name)
      case .marker(let marker):
        if marker.count >= (listing.marker?.count ?? 0) { listing.marker = marker }
      case .piece: break
      }
      return true
    }
    // A file under the name that is no init section would make the run a promise nobody can keep.
    if listing.hasInitSection {
      do throws(StorageError) {
        listing.hasInitSection = try tree.initSection(of: key) != nil
      } catch {
        guard case .damaged = error else { throw error }
        listing.hasInitSection = false
      }
    }
    return listing
  }

  private static func summary(
    _ tree: Tree, _ recording: RecordingName, _ rendition: RenditionName, _ playlist: MediaPlaylist
  ) throws(StorageError) -> RenditionSummary {
    var summary = RenditionSummary(
      initSections: [], frames: FrameDurations(), peak: 0, average: 0, isIndependent: true)
    var meter = BandwidthMeter(targetDuration: playlist.targetDuration)
    var current: (run: RunName, initSection: InitSection)?
    for entry in playlist.entries {
      guard let name = entry.name else {
        meter.addGap()
        continue
      }
      let key = RunKey(recording: recording, rendition: rendition, run: entry.run)
      if current?.run != entry.run {
        guard let initSection = try tree.initSection(of: key) else { continue }
        current = (entry.run, initSection)
        summary.initSections.append(initSection)
      }
      guard let current, let facts = try tree.facts(of: name, in: key, current.initSection) else { continue }
      meter.add(bytes: facts.bytes, ticks: entry.ticks)
      summary.frames.add(facts.frames)
      if !facts.isIndependent { summary.isIndependent = false }
    }
    summary.peak = meter.peak
    summary.average = meter.average
    return summary
  }

  /// Whether an ended recording has all its playlists and nothing has changed since the whole list was written. Times of
  /// directories tell; a change within the file system's clock tick of the writing may be taken for older.
  static func isSettled(_ tree: Tree, _ recording: RecordingName) throws(StorageError) -> Bool {
    let directory = tree.path(of: recording)
    guard let whole = try modified("\(directory)/\(name)"), try modified("\(directory)/\(LiveListFile.name)") != nil
    else { return false }
    for rendition in try tree.renditions(of: recording) {
      for run in try tree.runs(of: recording, rendition: rendition) {
        let key = RunKey(recording: recording, rendition: rendition, run: run)
        guard let changed = try modified(tree.path(of: key)), changed < whole else { return false }
      }
    }
    return true
  }

  private static func modified(_ path: String) throws(StorageError) -> Int64? {
    do throws(SystemError) {
      return try FileSystem.status(of: path).modifiedNanoseconds
    } catch {
      if error.isMissing { return nil }
      throw .system(error)
    }
  }
}
