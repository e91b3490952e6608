import HLS
import LibAV
import Storage

/// What one run contributes to an export.
struct ExportRun: Sendable {
  let key: RunKey
  let segments: [SegmentName]
  /// Video first, then audio, as libav reads them; at most one of each.
  let streams: [StreamInfo]

  var ticks: Int64 { segments.reduce(0) { $0 + $1.ticks } }
  /// Segments that the numbers say are missing.
  var missing: Int { (segments.last.map { $0.sequence + 1 } ?? 0) - segments.count }
}

/// Which tracks the MP4 has, decided from the runs: those of the leading rendition, and the sound that others bring. Other
/// renditions with pictures are the same in other sizes (`--ladder`), and left out. Pure.
struct ExportPlan: Sendable {
  struct Track: Sendable {
    let rendition: RenditionName
    let kind: MediaKind
    /// Of the first run that has it; all that have it agree.
    let stream: StreamInfo
  }
  let tracks: [Track]
  /// In the order of time, per rendition: `main` (or what stands in for it) first.
  let renditions: [(name: RenditionName, runs: [ExportRun])]

  /// - Throws: `.incompatible` where runs of a rendition differ in what an MP4 track can have only once: codec, its
  ///   configuration, picture size, sample rate, channels. (ISO/IEC 14496-12 §8.5.2 allows several sample entries, but
  ///   libav's mp4 muxer writes one.)
  init(_ runs: [ExportRun], recording: RecordingName) throws(ExportError) {
    // `main` leads, whatever else there is.
    var names = Set(runs.map(\.key.rendition)).sorted()
    if let index = names.firstIndex(of: .main) { names.insert(names.remove(at: index), at: 0) }
    var tracks: [Track] = []
    var renditions: [(name: RenditionName, runs: [ExportRun])] = []
    for name in names {
      let own = runs.filter { $0.key.rendition == name }.sorted { $0.key.run < $1.key.run }
      let hasVideo = own.contains { $0.streams.contains { $0.kind == .video } }
      if hasVideo, tracks.contains(where: { $0.kind == .video }) { continue }
      renditions.append((name, own))
      for kind in [MediaKind.video, .audio] {
        let having = own.filter { $0.streams.contains { $0.kind == kind } }
        guard let first = having.first?.streams.first(where: { $0.kind == kind }) else { continue }
        try ExportPlan.requireAgreement(of: having, kind, recording)
        tracks.append(Track(rendition: name, kind: kind, stream: first))
      }
    }
    guard !tracks.isEmpty else { throw .nothing(recording) }
    self.tracks = tracks
    self.renditions = renditions
  }

  func track(of rendition: RenditionName, _ kind: MediaKind) -> Int? {
    tracks.firstIndex { $0.rendition == rendition && $0.kind == kind }
  }

  private static func requireAgreement(
    of runs: [ExportRun], _ kind: MediaKind, _ recording: RecordingName
  ) throws(ExportError) {
    var groups: [(format: TrackFormat, runs: [RunName])] = []
    for run in runs {
      guard let stream = run.streams.first(where: { $0.kind == kind }) else { continue }
      let format = TrackFormat(stream)
      if let index = groups.firstIndex(where: { $0.format == format }) {
        groups[index].runs.append(run.key.run)
      } else {
        groups.append((format, [run.key.run]))
      }
    }
    guard groups.count > 1 else { return }
    let list = groups.map { group in
      let names = group.runs.prefix(3).map(\.description).joined(separator: ", ")
      return "\(group.format) in \(names)" + (group.runs.count > 3 ? " and \(group.runs.count - 3) more" : "")
    }
    throw .incompatible(
      "the runs of \(recording) differ in their \(kind == .video ? "video" : "audio"), which one MP4 cannot hold: "
        + list.joined(separator: "; ") + "; export them apart with --run")
  }
}

/// What has to agree for samples of two runs to share a sample entry.
struct TrackFormat: Equatable, CustomStringConvertible {
  let codec: CodecID
  let extradata: [UInt8]
  let width: Int
  let height: Int
  let sampleRate: Int
  let channels: Int

  init(_ stream: StreamInfo) {
    codec = stream.codec
    extradata = stream.extradata
    width = stream.width
    height = stream.height
    sampleRate = stream.sampleRate
    channels = stream.channels
  }

  var description: String {
    width > 0 ? "\(codec) \(width)x\(height)" : "\(codec) \(sampleRate) Hz with \(channels) channels"
  }
}
