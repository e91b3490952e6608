/// Why a text is not a playlist that `MediaPlaylist` wrote.
package struct PlaylistError: Error, Equatable, Sendable, CustomStringConvertible {
  /// Counted from 1; 0 where the text as a whole is meant.
  package let line: Int
  package let reason: String

  package var description: String { line == 0 ? reason : "line \(line): \(reason)" }
}

extension MediaPlaylist {
  /// Reads what `rendered()` wrote, and what was appended to it. A last line that is cut off, or a last entry without
  /// its URI, is left out: that is what a power cut can leave of an append. Tags this project does not write are passed
  /// over.
  /// - Throws: `PlaylistError` where the text is not a media playlist of a rendition.
  package init(parsing bytes: [UInt8]) throws(PlaylistError) {
    let end = bytes.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    var reader = Reader()
    var number = 0
    var start = 0
    while start < end {
      let stop = bytes[start..<end].firstIndex(of: UInt8(ascii: "\n")) ?? end
      number += 1
      try reader.read(String(decoding: bytes[start..<stop], as: UTF8.self), number: number)
      start = stop + 1
    }
    self = try reader.finished()
  }

  private struct Reader {
    var playlist = MediaPlaylist(kind: .sliding, targetDuration: 0)
    var isDiscontinuity = false
    var isGap = false
    var ticks: Int64?
    var date: WallClockTime?
    /// Where the clock stands: a date and the ticks since.
    var anchor: Anchor?

    struct Anchor {
      var date: WallClockTime
      var ticks: Int64
      var end: WallClockTime { date.advanced(byTicks: ticks) }
    }

    mutating func read(_ line: String, number: Int) throws(PlaylistError) {
      if number == 1 {
        guard line == "#EXTM3U" else { throw PlaylistError(line: 1, reason: "is not #EXTM3U") }
      } else if line.utf8.first != UInt8(ascii: "#") {
        // Most lines are of these two kinds, and a restart reads hours of them for each of many recordings.
        if !line.isEmpty { try readURI(line, number) }
      } else if let value = line.value(after: "#EXTINF:") {
        ticks = try duration(value, number)
      } else if let value = line.value(after: "#EXT-X-TARGETDURATION:") {
        playlist.targetDuration = try count(value, number)
      } else if let value = line.value(after: "#EXT-X-MEDIA-SEQUENCE:") {
        playlist.mediaSequence = try count(value, number)
      } else if let value = line.value(after: "#EXT-X-DISCONTINUITY-SEQUENCE:") {
        playlist.discontinuitySequence = try count(value, number)
      } else if let value = line.value(after: "#EXT-X-PLAYLIST-TYPE:") {
        playlist.kind = value == "EVENT" ? .event : .vod
      } else if line == "#EXT-X-ENDLIST" {
        playlist.isEnded = true
      } else if line == "#EXT-X-DISCONTINUITY" {
        isDiscontinuity = true
      } else if line == "#EXT-X-GAP" {
        isGap = true
      } else if let value = line.value(after: "#EXT-X-PROGRAM-DATE-TIME:") {
        guard let time = WallClockTime(rfc3339: value) else {
          throw PlaylistError(line: number, reason: "holds no date")
        }
        date = time
      }
    }

    private mutating func readURI(_ uri: String, _ number: Int) throws(PlaylistError) {
      guard let slash = uri.utf8.firstIndex(of: UInt8(ascii: "/")), let run = RunName(uri[..<slash]) else {
        throw PlaylistError(line: number, reason: "names no segment of a run")
      }
      let file = uri[uri.utf8.index(after: slash)...]
      guard let ticks else { throw PlaylistError(line: number, reason: "has no EXTINF before it") }
      if let date { anchor = Anchor(date: date, ticks: 0) }
      guard let anchor else { throw PlaylistError(line: number, reason: "has no date to count from") }
      var start = anchor.end
      if isGap {
        if file == MediaPlaylist.absence {
          playlist.entries.append(
            Entry(gapIn: run, sequence: 0, ticks: ticks, date: start, isDiscontinuity: isDiscontinuity))
          playlist.entries[playlist.entries.count - 1].isAbsence = true
          return goOn(anchor, start, ticks)
        }
        var scanner = NameScanner(file)
        guard let sequence = scanner.number(digits: 8), scanner.skip(".m4s"), scanner.isAtEnd else {
          throw PlaylistError(line: number, reason: "is no gap's name")
        }
        playlist.entries.append(
          Entry(gapIn: run, sequence: Int(sequence), ticks: ticks, date: start, isDiscontinuity: isDiscontinuity))
      } else {
        guard let name = SegmentName(file), name.ticks == ticks else {
          throw PlaylistError(line: number, reason: "is no segment's name, or its EXTINF says another duration")
        }
        if date == nil { start = MediaPlaylist.settle(start, named: name.start) }
        playlist.entries.append(Entry(run: run, name: name, date: start, isDiscontinuity: isDiscontinuity))
      }
      goOn(anchor, start, ticks)
    }

    /// What was read so far belongs to the entry that ends here.
    private mutating func goOn(_ anchor: Anchor, _ start: WallClockTime, _ ticks: Int64) {
      let goesOn = start == anchor.end
      self.anchor = Anchor(date: goesOn ? anchor.date : start, ticks: goesOn ? anchor.ticks + ticks : ticks)
      self.ticks = nil
      date = nil
      isGap = false
      isDiscontinuity = false
    }

    func finished() throws(PlaylistError) -> MediaPlaylist {
      guard playlist.targetDuration > 0 else { throw PlaylistError(line: 0, reason: "has no target duration") }
      return playlist
    }

    private func count(_ text: Substring, _ number: Int) throws(PlaylistError) -> Int {
      guard let value = Int(text), (0...(1 << 53)).contains(value) else {
        throw PlaylistError(line: number, reason: "holds no count")
      }
      return value
    }

    /// `5.000000,` in 90 kHz ticks.
    private func duration(_ text: Substring, _ number: Int) throws(PlaylistError) -> Int64 {
      var scanner = NameScanner(text)
      guard let whole = scanner.number(atMost: 12), scanner.skip("."), let fraction = scanner.number(digits: 6),
        scanner.isAtEnd || scanner.skip(",")
      else { throw PlaylistError(line: number, reason: "holds no duration") }
      let ticks = ((whole * 1_000_000 + fraction) * 9 + 50) / 100
      guard ticks > 0 else { throw PlaylistError(line: number, reason: "holds the duration 0") }
      return ticks
    }
  }
}

extension String {
  fileprivate func value(after prefix: String) -> Substring? {
    hasPrefix(prefix) ? self[utf8.index(startIndex, offsetBy: prefix.utf8.count)...] : nil
  }
}
