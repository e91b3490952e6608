/// The playlist a player opens: it names the renditions' media playlists and what they need (RFC 8216bis-20 §4.4.6).
package struct MultivariantPlaylist: Equatable, Sendable {
  package var variants: [Variant] = []
  package var sounds: [Sound] = []
  /// Every segment of every list starts with a picture that needs none before it (EXT-X-INDEPENDENT-SEGMENTS,
  /// §4.4.2.1). It stands here alone, as the draft advises, and counts for all media playlists.
  package var isIndependent = false

  package init() {}

  /// EXT-X-STREAM-INF (§4.4.6.2).
  package struct Variant: Equatable, Sendable {
    package var uri: String
    /// Bits per second.
    package var bandwidth: Int64
    package var averageBandwidth: Int64
    package var codecs: [String]
    /// Pixels; nil without video.
    package var resolution: Resolution?
    /// Frames per second; nil without video.
    package var frameRate: Double?
    package var videoRange: SampleEntry.VideoRange?
    package var hasSoundGroup = false
  }

  package struct Resolution: Equatable, Sendable {
    package var width: Int
    package var height: Int
  }

  /// EXT-X-MEDIA of TYPE=AUDIO (§4.4.6.1), all in one group.
  package struct Sound: Equatable, Sendable {
    package var name: String
    /// Nil for the sound inside the variant itself.
    package var uri: String?
    package var isDefault: Bool
    package var channels: Int
  }

  private static let group = "sound"

  package func rendered() -> [UInt8] {
    var text = "#EXTM3U\n"
    if isIndependent { text += "#EXT-X-INDEPENDENT-SEGMENTS\n" }
    for sound in sounds {
      text += "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"\(Self.group)\",NAME=\"\(sound.name)\""
      text += ",DEFAULT=\(sound.isDefault ? "YES" : "NO"),AUTOSELECT=\(sound.isDefault ? "YES" : "NO")"
      if sound.channels > 0 { text += ",CHANNELS=\"\(sound.channels)\"" }
      if let uri = sound.uri { text += ",URI=\"\(uri)\"" }
      text += "\n"
    }
    for variant in variants {
      text += "#EXT-X-STREAM-INF:BANDWIDTH=\(variant.bandwidth),AVERAGE-BANDWIDTH=\(variant.averageBandwidth)"
      if !variant.codecs.isEmpty { text += ",CODECS=\"\(variant.codecs.joined(separator: ","))\"" }
      if let size = variant.resolution { text += ",RESOLUTION=\(size.width)x\(size.height)" }
      if let rate = variant.frameRate { text += ",FRAME-RATE=\(Self.threeDecimals(rate))" }
      if let range = variant.videoRange { text += ",VIDEO-RANGE=\(range.rawValue)" }
      if variant.hasSoundGroup { text += ",AUDIO=\"\(Self.group)\"" }
      text += "\n\(variant.uri)\n"
    }
    return Array(text.utf8)
  }

  /// A frame rate as §4.4.6.2 wants it: rounded to three decimals.
  private static func threeDecimals(_ rate: Double) -> String {
    let thousandths = Int64(min(max(rate, 0), 1e9) * 1_000 + 0.5)
    let fraction = String(thousandths % 1_000)
    return "\(thousandths / 1_000).\(String(repeating: "0", count: 3 - fraction.utf8.count))\(fraction)"
  }

  /// BANDWIDTH of each variant of a list that was written earlier, by its URI.
  package static func bandwidths(_ bytes: [UInt8]) -> [String: Int64] {
    var found: [String: Int64] = [:]
    var last: Int64?
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
      let tag = "#EXT-X-STREAM-INF:BANDWIDTH="
      if line.hasPrefix(tag) {
        last = Int64(line.dropFirst(tag.count).prefix { $0 != "," })
      } else if !line.hasPrefix("#"), let value = last {
        found[String(line)] = value
        last = nil
      }
    }
    return found
  }

  /// Whether a list that was written earlier claims independent segments. The claim, once taken back, does not return.
  package static func claimsIndependence(_ bytes: [UInt8]) -> Bool {
    String(decoding: bytes, as: UTF8.self).split(separator: "\n").contains("#EXT-X-INDEPENDENT-SEGMENTS")
  }
}

/// What a multivariant playlist has to know of one media playlist.
package struct RenditionSummary: Equatable, Sendable {
  /// Of every run in the list, oldest first.
  package var initSections: [InitSection]
  package var frames: FrameDurations
  /// Bits per second.
  package var peak: Int64
  package var average: Int64
  package var isIndependent: Bool

  package init(
    initSections: [InitSection], frames: FrameDurations, peak: Int64, average: Int64, isIndependent: Bool
  ) {
    self.initSections = initSections
    self.frames = frames
    self.peak = peak
    self.average = average
    self.isIndependent = isIndependent
  }

  var hasVideo: Bool { initSections.contains { $0.videoTrack != nil } }
  var hasSound: Bool { initSections.contains { $0.audioTrack != nil } }

  /// Each codec of every run once, those of pictures first.
  var codecs: [String] {
    let tracks = initSections.flatMap(\.tracks)
    var found: [String] = []
    for kind in [MediaTrack.Kind.video, .audio] {
      for track in tracks where track.kind == kind && !found.contains(track.entry.codec) {
        found.append(track.entry.codec)
      }
    }
    return found
  }

  /// The largest picture of all runs.
  var resolution: MultivariantPlaylist.Resolution? {
    let tracks = initSections.compactMap(\.videoTrack)
    return tracks.max { $0.displayWidth * $0.displayHeight < $1.displayWidth * $1.displayHeight }
      .map { .init(width: $0.displayWidth, height: $0.displayHeight) }
  }

  /// Of the latest run; only what is not SDR is said.
  var videoRange: SampleEntry.VideoRange? {
    guard let range = initSections.compactMap(\.videoTrack).last?.entry.videoRange, range != .sdr else { return nil }
    return range
  }

  var channels: Int { initSections.compactMap(\.audioTrack).map(\.entry.channels).max() ?? 0 }
}

extension MultivariantPlaylist {
  /// Describes a recording: each rendition with pictures is a variant, each without is a choice of sound beside them,
  /// whichever variant is shown. Where no rendition has pictures, `main` (or else the first) is the variant. `main` stands
  /// first, because players begin with what does; the others follow by size.
  /// - Parameter list: file name of the media playlists, `live.m3u8` or `vod.m3u8`.
  package init(renditions: [RenditionName: RenditionSummary], list: String) {
    func place(_ name: RenditionName) -> (Int, Int, RenditionName) {
      let size = renditions[name]?.resolution
      return (name == .main ? 0 : 1, -(size?.width ?? 0) * (size?.height ?? 0), name)
    }
    let names = renditions.keys.sorted { place($0) < place($1) }
    let withVideo = names.filter { renditions[$0]?.hasVideo == true }
    let variantNames = withVideo.isEmpty ? Array(names.prefix(1)) : withVideo
    let soundNames = names.filter { !variantNames.contains($0) && renditions[$0]?.hasSound == true }
    let sounds = soundNames.compactMap { name in renditions[name].map { (name: name, summary: $0) } }

    let programme = variantNames.compactMap { renditions[$0] }.first { $0.hasSound }
    if !sounds.isEmpty {
      if let programme {
        self.sounds.append(Sound(name: "Programme", uri: nil, isDefault: true, channels: programme.channels))
      }
      for (index, sound) in sounds.enumerated() {
        self.sounds.append(
          Sound(
            name: sound.name == .mic ? "Microphone" : sound.name.text, uri: "\(sound.name)/\(list)",
            isDefault: programme == nil && index == 0, channels: sound.summary.channels))
      }
    }
    for name in variantNames {
      guard let summary = renditions[name] else { continue }
      var codecs = summary.codecs
      for sound in sounds { codecs += sound.summary.codecs.filter { !codecs.contains($0) } }
      variants.append(
        Variant(
          uri: "\(name)/\(list)", bandwidth: max(1, summary.peak + (sounds.map(\.summary.peak).max() ?? 0)),
          averageBandwidth: summary.average + (sounds.map(\.summary.average).max() ?? 0), codecs: codecs,
          resolution: summary.resolution, frameRate: summary.hasVideo ? summary.frames.rate : nil,
          videoRange: summary.videoRange, hasSoundGroup: !sounds.isEmpty))
    }
    isIndependent = !renditions.isEmpty && renditions.values.allSatisfy(\.isIndependent)
  }
}
