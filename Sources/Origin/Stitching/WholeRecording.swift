import HLS
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
  static func write(_ store: any StitchStore, _ recording: RecordingName) throws(StorageError) -> Result? {
    var bytes: [RunKey: [SegmentName: Int64]] = [:]
    // Before anything is listed: a list that another worker makes from more than this one sees must not be replaced.
    let path = "\(recording)/\(name)"
    var version = try store.version(of: path)
    var versions: [RenditionName: FileVersion] = [:]
    let renditions = try store.renditions(of: recording)
    for rendition in renditions { versions[rendition] = try store.version(of: "\(recording)/\(rendition)/\(name)") }
    var summaries: [RenditionName: RenditionSummary] = [:]
    var result = Result()
    for (rendition, playlist) in try playlists(store, recording, renditions, &bytes) {
      summaries[rendition] = try summary(store, recording, rendition, playlist, bytes)
      var version = versions[rendition] ?? .unknown
      try store.replace("\(recording)/\(rendition)/\(name)", playlist.rendered(), &version, durable: true)
      let gaps = playlist.entries.count(where: \.isGap)
      result.segments += playlist.entries.count - gaps
      result.gaps += gaps
      result.ticks = max(result.ticks, playlist.ticks)
    }
    guard !summaries.isEmpty else { return nil }
    var live = FileVersion.unknown
    if store.isRemote,
      let text = try store.read("\(recording)/\(LiveListFile.name)", limit: 1 << 20, &live),
      !MultivariantPlaylist.claimsIndependence(text)
    {
      for name in summaries.keys { summaries[name]?.isIndependent = false }
    }
    let multivariant = MultivariantPlaylist(renditions: summaries, list: name)
    try store.replace(path, multivariant.rendered(), &version, durable: true)
    return result
  }

  /// A list of all that a rendition has now, the others not looked at; nil when there is nothing to play.
  static func playlist(
    _ store: any StitchStore, _ recording: RecordingName, _ rendition: RenditionName
  ) throws(StorageError) -> MediaPlaylist? {
    var bytes: [RunKey: [SegmentName: Int64]] = [:]
    guard try store.renditions(of: recording).contains(rendition) else { return nil }
    return try playlists(store, recording, [rendition], &bytes).first?.playlist
  }

  private static func playlists(
    _ store: any StitchStore, _ recording: RecordingName, _ renditions: [RenditionName],
    _ bytes: inout [RunKey: [SegmentName: Int64]]
  ) throws(StorageError) -> [(rendition: RenditionName, playlist: MediaPlaylist)] {
    var listings: [RenditionName: [RunListing]] = [:]
    for rendition in renditions {
      var runs: [RunListing] = []
      for run in try store.runs(of: recording, rendition: rendition) {
        let key = RunKey(recording: recording, rendition: rendition, run: run)
        runs.append(try listing(store, key, &bytes[key, default: [:]]))
      }
      listings[rendition] = runs
    }
    // One for all renditions (RFC 8216bis-20 §4.4.6.2.1).
    let target = listings.values.map { MediaPlaylist.wholeTargetDuration($0) }.max() ?? 1
    return listings.sorted { $0.key < $1.key }.compactMap { rendition, runs in
      let others = listings.filter { $0.key != rendition }.map(\.value)
      return MediaPlaylist.whole(runs, targetDuration: target, others: others).map { (rendition, $0) }
    }
  }

  private static func listing(
    _ store: any StitchStore, _ key: RunKey, _ bytes: inout [SegmentName: Int64]
  ) throws(StorageError) -> RunListing {
    var listing = RunListing(run: key.run)
    try store.list(key) { entry, size in
      switch entry {
      case .initSection: listing.hasInitSection = true
      case .segment(let name):
        listing.segments.append(name)
        bytes[name] = size
      case .marker(let marker):
        if marker.count >= (listing.marker?.count ?? 0) { listing.marker = marker }
      case .piece: break
      }
    }
    // A file under the name that is no init section would make the run a promise nobody can keep.
    if listing.hasInitSection {
      do throws(StorageError) {
        listing.hasInitSection = try store.initSection(of: key) != nil
      } catch {
        guard case .damaged = error else { throw error }
        listing.hasInitSection = false
      }
    }
    return listing
  }

  /// Segments whose heads are read where the listing tells lengths and each head is a request. What the live list found
  /// out about all of them stands in its multivariant playlist.
  private static let sample = 64

  private static func summary(
    _ store: any StitchStore, _ recording: RecordingName, _ rendition: RenditionName, _ playlist: MediaPlaylist,
    _ bytes: [RunKey: [SegmentName: Int64]]
  ) throws(StorageError) -> RenditionSummary {
    var summary = RenditionSummary(
      initSections: [], frames: FrameDurations(), peak: 0, average: 0, isIndependent: true)
    var meter = BandwidthMeter(targetDuration: playlist.targetDuration)
    var current: (run: RunName, initSection: InitSection)?
    let step = max(1, playlist.entries.count / sample)
    for (index, entry) in playlist.entries.enumerated() {
      guard let name = entry.name else {
        meter.addGap()
        continue
      }
      let key = RunKey(recording: recording, rendition: rendition, run: entry.run)
      if current?.run == entry.run, index % step > 0, let size = bytes[key]?[name] {
        meter.add(bytes: size, ticks: entry.ticks)
        continue
      }
      if current?.run != entry.run {
        guard let initSection = try store.initSection(of: key) else { continue }
        current = (entry.run, initSection)
        summary.initSections.append(initSection)
      }
      guard let current, let facts = try store.facts(of: name, in: key, current.initSection) else { continue }
      meter.add(bytes: facts.bytes, ticks: entry.ticks)
      summary.frames.add(facts.frames)
      if !facts.isIndependent { summary.isIndependent = false }
    }
    summary.peak = meter.peak
    summary.average = meter.average
    return summary
  }
}
