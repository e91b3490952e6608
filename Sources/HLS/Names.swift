// The grammar of names on disk: segments/README.md has it in full. Every name has one spelling, so that text -> value ->
// text is the identity and two files cannot claim the same place.

/// A safe single path component: `[A-Za-z0-9._-]`, 1 to 128 bytes, not starting with a dot.
package struct PathName: Hashable, Comparable, Sendable, CustomStringConvertible {
  package let text: String
  package static let maximumLength = 128

  package init?(_ text: some StringProtocol) {
    let bytes = text.utf8
    guard (1...PathName.maximumLength).contains(bytes.count), bytes.first != UInt8(ascii: "."),
      bytes.allSatisfy(PathName.isAllowed)
    else { return nil }
    self.text = String(text)
  }

  /// What a person typed, made safe: every run of other characters becomes one `-`, leading dots and dashes go, and the
  /// rest is cut at the maximum length. Nil when nothing is left.
  package init?(madeSafe typed: some StringProtocol) {
    var kept: [UInt8] = []
    for byte in typed.utf8 {
      if PathName.isAllowed(byte) {
        kept.append(byte)
      } else if let last = kept.last, last != UInt8(ascii: "-") {
        kept.append(UInt8(ascii: "-"))
      }
    }
    let start = kept.firstIndex { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "-") } ?? kept.endIndex
    var body = kept[start...].prefix(PathName.maximumLength)
    while body.last == UInt8(ascii: "-") { body.removeLast() }
    self.init(String(decoding: body, as: UTF8.self))
  }

  package static func < (a: PathName, b: PathName) -> Bool { a.text < b.text }
  package var description: String { text }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
      true
    default: false
    }
  }
}

/// A recording: what a person asked for. Its directory stands directly under a root.
package typealias RecordingName = PathName

/// A rendition: one set of tracks of a recording (`main`, `mic`).
package typealias RenditionName = PathName

extension PathName {
  /// Video and programme audio.
  package static let main = PathName(known: "main")
  /// A separate microphone.
  package static let mic = PathName(known: "mic")

  private init(known: StaticString) {
    text = "\(known)"
  }

  /// True where the name may be a rendition's: stitching writes `live.m3u8` and `vod.m3u8` beside renditions.
  package var isUsableAsRendition: Bool { !text.hasSuffix(".m3u8") }
}

/// A run: one uninterrupted capture with one init section. `20261130T021308.123Z_a3f1`. The order of names is the order
/// of runs.
package struct RunName: Hashable, Comparable, Sendable, CustomStringConvertible {
  package let start: WallClockTime
  /// Four random hexadecimal digits that keep runs of one millisecond apart.
  package let suffix: UInt16

  package init(start: WallClockTime, suffix: UInt16) {
    self.start = start
    self.suffix = suffix
  }

  package init?(_ text: some StringProtocol) {
    var scanner = NameScanner(text)
    guard let start = WallClockTime(&scanner), scanner.skip("_"), let suffix = scanner.hexadecimal(digits: 4),
      scanner.isAtEnd
    else { return nil }
    self.init(start: start, suffix: UInt16(suffix))
  }

  package var description: String {
    let digits = String(suffix, radix: 16)
    return "\(start.compact)_\(String(repeating: "0", count: 4 - digits.utf8.count))\(digits)"
  }

  package static func < (a: RunName, b: RunName) -> Bool {
    a.start == b.start ? a.suffix < b.suffix : a.start < b.start
  }
}

/// A media segment's file name: `00000042_20261130T021308.123Z_450000.m4s`.
package struct SegmentName: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// Counts from 0 in each run; at most 99,999,999 (16 years of 5 s segments).
  package let sequence: Int
  /// Wall-clock time of the first sample.
  package let start: WallClockTime
  /// Duration in 90 kHz ticks, more than 0.
  package let ticks: Int64
  package static let maximumSequence = 99_999_999

  package init(sequence: Int, start: WallClockTime, ticks: Int64) {
    self.sequence = sequence
    self.start = start
    self.ticks = ticks
  }

  package init?(_ text: some StringProtocol) {
    var scanner = NameScanner(text)
    guard let sequence = scanner.number(digits: 8), scanner.skip("_"), let start = WallClockTime(&scanner),
      scanner.skip("_"), let ticks = scanner.number(atMost: 15), ticks > 0, scanner.skip(".m4s"), scanner.isAtEnd
    else { return nil }
    self.init(sequence: Int(sequence), start: start, ticks: ticks)
  }

  package var description: String { "\(eightDigits(sequence))_\(start.compact)_\(ticks).m4s" }

  package static func < (a: SegmentName, b: SegmentName) -> Bool {
    (a.sequence, a.start, a.ticks) < (b.sequence, b.start, b.ticks)
  }
}

/// An empty file that closes a run: `42.next` or `42.end`.
package struct MarkerName: Hashable, Sendable, CustomStringConvertible {
  /// What follows the run.
  package enum Kind: String, Sendable {
    /// The recording goes on in another run.
    case next
    /// The recording is over.
    case end
  }
  /// Segments (or phone pieces) the run has in all, 0 included.
  package let count: Int
  package let kind: Kind

  package init(count: Int, kind: Kind) {
    self.count = count
    self.kind = kind
  }

  package init?(_ text: some StringProtocol) {
    var scanner = NameScanner(text)
    guard let count = scanner.number(atMost: 8) else { return nil }
    if scanner.skip(".next") {
      self.init(count: Int(count), kind: .next)
    } else if scanner.skip(".end") {
      self.init(count: Int(count), kind: .end)
    } else {
      return nil
    }
    guard scanner.isAtEnd else { return nil }
  }

  package var description: String { "\(count).\(kind.rawValue)" }
}

/// What a name inside a run's directory stands for.
package enum RunEntry: Hashable, Sendable, CustomStringConvertible {
  case initSection
  case segment(SegmentName)
  case marker(MarkerName)
  /// A phone's independent faststart MP4: `<sequence>.mp4`, eight digits like a segment's number.
  case piece(sequence: Int)

  /// Nil for a foreign name; those are left alone wherever they turn up.
  package init?(_ text: some StringProtocol) {
    if text == "init.mp4" {
      self = .initSection
    } else if let segment = SegmentName(text) {
      self = .segment(segment)
    } else if let marker = MarkerName(text) {
      self = .marker(marker)
    } else {
      var scanner = NameScanner(text)
      guard let sequence = scanner.number(digits: 8), scanner.skip(".mp4"), scanner.isAtEnd else { return nil }
      self = .piece(sequence: Int(sequence))
    }
  }

  package var description: String {
    switch self {
    case .initSection: "init.mp4"
    case .segment(let name): name.description
    case .marker(let name): name.description
    case .piece(let sequence): "\(eightDigits(sequence)).mp4"
    }
  }
}

/// One run of one rendition of one recording.
package struct RunKey: Hashable, Comparable, Sendable, CustomStringConvertible {
  package let recording: RecordingName
  package let rendition: RenditionName
  package let run: RunName

  package init(recording: RecordingName, rendition: RenditionName, run: RunName) {
    self.recording = recording
    self.rendition = rendition
    self.run = run
  }

  package var description: String { "\(recording)/\(rendition)/\(run)" }

  package static func < (a: RunKey, b: RunKey) -> Bool {
    (a.recording, a.rendition, a.run) < (b.recording, b.rendition, b.run)
  }
}

/// A file of the contract, named from the root: `lecture/main/20261130T021308.123Z_a3f1/init.mp4`.
package struct EntryPath: Hashable, Sendable, CustomStringConvertible {
  package let key: RunKey
  package let entry: RunEntry

  package init(key: RunKey, entry: RunEntry) {
    self.key = key
    self.entry = entry
  }

  /// Reads a relative path of exactly four components; nil for anything outside the grammar.
  package init?(_ path: some StringProtocol) {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 4, let recording = RecordingName(parts[0]), let rendition = RenditionName(parts[1]),
      rendition.isUsableAsRendition, let run = RunName(parts[2]), let entry = RunEntry(parts[3])
    else { return nil }
    self.init(key: RunKey(recording: recording, rendition: rendition, run: run), entry: entry)
  }

  package var description: String { "\(key)/\(entry)" }
}

package func eightDigits(_ value: Int) -> String {
  let digits = String(value)
  return String(repeating: "0", count: max(0, 8 - digits.utf8.count)) + digits
}
