/// A media playlist on its way to a client: the text that stitching wrote, plus what only a server can promise. Pure.
///
/// A file on any web server cannot wait for the next segment or leave out what a client has; this server can
/// (RFC 8216bis-20 §6.2.5), so the tag that says so is added here and not by stitching.
struct ServedPlaylist {
  private struct Entry {
    /// Where the lines of the entry start.
    let offset: Int
    let milliseconds: Int64
  }

  private let bytes: [UInt8]
  private var entries: [Entry] = []
  private(set) var targetDuration = 0
  private(set) var mediaSequence = 0
  private(set) var isEnded = false
  private var version = 1
  /// Where the line after `#EXTM3U` starts.
  private var afterFirstLine = 0
  private var versionLine: Range<Int>?

  /// Reads the text. A last line that is not finished is left out: somebody is appending to the file.
  init(_ text: [UInt8]) {
    let end = (text.lastIndex(of: newline) ?? -1) + 1
    bytes = Array(text[..<end])
    var entryStart: Int?
    var milliseconds: Int64?
    var start = 0
    while start < end {
      guard let stop = bytes[start...].firstIndex(of: newline) else { break }
      let line = bytes[start..<stop]
      if start == 0 {
        afterFirstLine = stop + 1
      } else if line.first == UInt8(ascii: "#") {
        if let value = line.value(of: "#EXTINF:") {
          entryStart = entryStart ?? start
          milliseconds = value.milliseconds
        } else if line.value(of: "#EXT-X-GAP") != nil || line.value(of: "#EXT-X-DISCONTINUITY") == [][...]
          || line.value(of: "#EXT-X-MAP:") != nil || line.value(of: "#EXT-X-PROGRAM-DATE-TIME:") != nil
        {
          entryStart = entryStart ?? start
        } else if let value = line.value(of: "#EXT-X-TARGETDURATION:") {
          targetDuration = value.number
        } else if let value = line.value(of: "#EXT-X-MEDIA-SEQUENCE:") {
          mediaSequence = value.number
        } else if let value = line.value(of: "#EXT-X-VERSION:") {
          version = value.number
          versionLine = start..<(stop + 1)
        } else if line.value(of: "#EXT-X-ENDLIST") != nil {
          isEnded = true
        }
      } else if !line.isEmpty, let length = milliseconds {
        entries.append(Entry(offset: entryStart ?? start, milliseconds: length))
        entryStart = nil
        milliseconds = nil
      }
      start = stop + 1
    }
  }

  /// The media sequence number of the next entry that is still to come.
  var nextSequence: Int { mediaSequence + entries.count }

  /// Seconds before the end within which nothing is left out; at least six target durations (§4.4.3.8).
  private var skipBoundary: Int { 6 * max(1, targetDuration) }

  /// The text to send.
  /// - Parameter skips: the client has an earlier version and takes a delta update (§6.2.5.1).
  func rendered(skips: Bool) -> [UInt8] {
    guard !isEnded else { return bytes }
    let control =
      Array("#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL=\(skipBoundary).0\n".utf8)
    let skipped = skips ? skippable : 0
    guard skipped > 0 else {
      return bytes[..<afterFirstLine] + control + bytes[afterFirstLine...]
    }
    let header = entries[0].offset
    var text = Array(bytes[..<afterFirstLine])
    // EXT-X-SKIP needs version 9 (§8), whatever the rest needs.
    text += Array("#EXT-X-VERSION:\(max(9, version))\n".utf8) + control
    if let versionLine {
      text += bytes[afterFirstLine..<versionLine.lowerBound] + bytes[versionLine.upperBound..<header]
    } else {
      text += bytes[afterFirstLine..<header]
    }
    text += Array("#EXT-X-SKIP:SKIPPED-SEGMENTS=\(skipped)\n".utf8)
    let rest = skipped < entries.count ? entries[skipped].offset : bytes.endIndex
    return text + bytes[rest...]
  }

  /// How many entries from the front lie wholly before the skip boundary.
  private var skippable: Int {
    var kept: Int64 = 0
    var index = entries.count
    while index > 0, kept < Int64(skipBoundary) * 1_000 {
      index -= 1
      kept += entries[index].milliseconds
    }
    return index
  }
}

private let newline = UInt8(ascii: "\n")

extension ArraySlice<UInt8> {
  /// What follows `prefix`; nil when the line does not start with it.
  fileprivate func value(of prefix: StaticString) -> ArraySlice<UInt8>? {
    let width = prefix.utf8CodeUnitCount
    guard count >= width,
      unsafe self.prefix(width).elementsEqual(UnsafeBufferPointer(start: prefix.utf8Start, count: width))
    else { return nil }
    return dropFirst(width)
  }

  /// The decimal number at the start; 0 when there is none.
  fileprivate var number: Int {
    var value = 0
    for byte in prefix(12) {
      guard byte >= 0x30, byte <= 0x39 else { break }
      value = value * 10 + Int(byte - 0x30)
    }
    return value
  }

  /// A decimal number of seconds with or without fraction, as milliseconds.
  fileprivate var milliseconds: Int64 {
    var value = Int64(number) * 1_000
    guard let point = firstIndex(of: UInt8(ascii: ".")) else { return value }
    var scale: Int64 = 100
    for byte in self[index(after: point)...] {
      guard byte >= 0x30, byte <= 0x39, scale > 0 else { break }
      value += Int64(byte - 0x30) * scale
      scale /= 10
    }
    return value
  }
}
