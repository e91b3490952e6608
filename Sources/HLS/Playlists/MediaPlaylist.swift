/// A media playlist of one rendition (RFC 8216bis-20 §4). URIs are relative to the rendition's directory, where the
/// playlist lies: `<run>/<name>`.
package struct MediaPlaylist: Equatable, Sendable {
  package enum Kind: Equatable, Sendable {
    /// The oldest segments leave as new ones come; no EXT-X-PLAYLIST-TYPE.
    case sliding
    /// Segments are only added (§4.4.3.5).
    case event
    /// Complete; never changes (§4.4.3.5).
    case vod
  }

  package var kind: Kind
  /// Seconds, at least 1; no EXTINF, rounded to the nearest second, is greater (§4.4.3.1).
  package var targetDuration: Int
  /// Number of the first entry (§4.4.3.2).
  package var mediaSequence: Int
  /// Discontinuities that have left the list (§4.4.3.3).
  package var discontinuitySequence: Int
  package var entries: [Entry]
  /// Whether nothing more will come (EXT-X-ENDLIST, §4.4.3.4).
  package var isEnded: Bool

  package init(
    kind: Kind, targetDuration: Int, mediaSequence: Int = 0, discontinuitySequence: Int = 0, entries: [Entry] = [],
    isEnded: Bool = false
  ) {
    self.kind = kind
    self.targetDuration = targetDuration
    self.mediaSequence = mediaSequence
    self.discontinuitySequence = discontinuitySequence
    self.entries = entries
    self.isEnded = isEnded
  }

  /// A media segment, or the hole one left.
  package struct Entry: Equatable, Sendable {
    package var run: RunName
    /// Number of the segment in its run; a hole may take several entries of one number.
    package var sequence: Int
    /// Wall-clock start in the segment's name; of no meaning in a gap.
    package var nameStart: WallClockTime
    /// Duration in 90 kHz ticks, more than 0.
    package var ticks: Int64
    /// When its first sample was taken: what EXT-X-PROGRAM-DATE-TIME says or would say.
    package var date: WallClockTime
    /// The segment is absent (EXT-X-GAP, §4.4.4.7).
    package var isGap = false
    /// A gap for a run that this rendition lacks and another has: there is no init section to name.
    package var isAbsence = false
    /// EXT-X-DISCONTINUITY stands before it (§4.4.4.3).
    package var isDiscontinuity = false

    package init(
      run: RunName, name: SegmentName, date: WallClockTime, isDiscontinuity: Bool = false
    ) {
      self.run = run
      sequence = name.sequence
      nameStart = name.start
      ticks = name.ticks
      self.date = date
      self.isDiscontinuity = isDiscontinuity
    }

    package init(
      gapIn run: RunName, sequence: Int, ticks: Int64, date: WallClockTime, isDiscontinuity: Bool = false
    ) {
      self.run = run
      self.sequence = sequence
      nameStart = date
      self.ticks = ticks
      self.date = date
      isGap = true
      self.isDiscontinuity = isDiscontinuity
    }

    /// Nil for a gap.
    package var name: SegmentName? {
      isGap ? nil : SegmentName(sequence: sequence, start: nameStart, ticks: ticks)
    }
  }

  /// The lowest protocol version that allows what the list uses (§8): EXT-X-MAP needs 6, and readers know EXT-X-GAP
  /// since 8.
  package var version: Int {
    if entries.contains(where: \.isGap) { 8 } else if entries.isEmpty { 1 } else { 6 }
  }

  /// Sum of the entries' durations in 90 kHz ticks, gaps included.
  package var ticks: Int64 { entries.reduce(0) { $0 + $1.ticks } }

  /// The date of an entry whose segment is named `named` where durations lead to `expected`: the name, unless the two
  /// differ by more than a recorder's slewing does (40 ms a segment). A list that lost its front, or that was read back,
  /// then comes to the same dates, and rounding does not add up.
  package static func settle(_ expected: WallClockTime, named: WallClockTime) -> WallClockTime {
    abs(named.milliseconds(since: expected)) <= 45 ? named : expected
  }

  /// `ticks` in whole seconds as EXT-X-TARGETDURATION counts them: rounded to the nearest, at least 1.
  package static func roundedSeconds(_ ticks: Int64) -> Int {
    max(1, Int((ticks + 45_000) / 90_000))
  }
}

extension MediaPlaylist {
  /// The whole text, UTF-8.
  package func rendered() -> [UInt8] {
    var text = PlaylistText(capacity: entries.count * 110)
    for entry in entries { MediaPlaylist.append(entry, to: &text) }
    return rendered(lines: text.bytes)
  }

  /// The whole text, where `lines` are those of all entries.
  func rendered(lines: [UInt8]) -> [UInt8] {
    var text = PlaylistText(capacity: 512 + lines.count)
    text.append("#EXTM3U\n")
    if version > 1 { text.append("#EXT-X-VERSION:\(version)\n") }
    text.append("#EXT-X-TARGETDURATION:\(targetDuration)\n#EXT-X-MEDIA-SEQUENCE:\(mediaSequence)\n")
    switch kind {
    case .sliding: text.append("#EXT-X-DISCONTINUITY-SEQUENCE:\(discontinuitySequence)\n")
    case .event: text.append("#EXT-X-PLAYLIST-TYPE:EVENT\n")
    case .vod: text.append("#EXT-X-PLAYLIST-TYPE:VOD\n")
    }
    // The first entry of a list says which init section and which time it starts from, whatever has left before it.
    if let first = entries.first, !first.isDiscontinuity { MediaPlaylist.appendStart(of: first, to: &text) }
    text.append(lines)
    if isEnded { text.append(MediaPlaylist.endTag) }
    return text.bytes
  }

  /// The lines of `entries` alone, to be appended to a list that already holds an entry.
  package static func rendered(adding entries: ArraySlice<Entry>) -> [UInt8] {
    var text = PlaylistText(capacity: entries.count * 110)
    for entry in entries { append(entry, to: &text) }
    return text.bytes
  }

  /// File name of a gap that stands for a run this rendition lacks; nothing can have it.
  static let absence = "absent.m4s"
  /// Whether the name is that of a gap in a run.
  package static func isGapName(_ name: some StringProtocol) -> Bool {
    if name == absence { return true }
    var scanner = NameScanner(name)
    return scanner.number(digits: 8) != nil && scanner.skip(".m4s") && scanner.isAtEnd
  }

  package static let endTag = "#EXT-X-ENDLIST\n"

  private static func appendStart(of entry: Entry, to text: inout PlaylistText) {
    if !entry.isAbsence {
      text.append("#EXT-X-MAP:URI=\"")
      text.append(entry.run)
      text.append("/init.mp4\"\n")
    }
    text.append("#EXT-X-PROGRAM-DATE-TIME:\(entry.date.rfc3339)\n")
  }

  private static func append(_ entry: Entry, to text: inout PlaylistText) {
    if entry.isDiscontinuity {
      text.append("#EXT-X-DISCONTINUITY\n")
      appendStart(of: entry, to: &text)
    }
    text.append(entry.isGap ? "#EXT-X-GAP\n#EXTINF:" : "#EXTINF:")
    text.append(seconds: entry.ticks)
    text.append(",\n")
    text.append(entry.run)
    text.append("/")
    if let name = entry.name {
      text.append(name)
    } else if entry.isAbsence {
      text.append(MediaPlaylist.absence)
    } else {
      // No segment can have this name, so that nothing that comes late makes the entry a lie.
      text.append(UInt32(clamping: entry.sequence), digits: 8)
      text.append(".m4s")
    }
    text.append("\n")
  }
}
