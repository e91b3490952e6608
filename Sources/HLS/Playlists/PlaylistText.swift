/// Builds playlist text as UTF-8 bytes. A window of an hour is written anew for every segment, so this is where stitching
/// spends its time: digits are written in place, and what an entry has in common with the one before is kept as text.
struct PlaylistText {
  private(set) var bytes: [UInt8] = []
  private var day: (start: Int64, text: [UInt8])?
  private var run: (name: RunName, text: [UInt8])?
  private var length: (ticks: Int64, seconds: [UInt8], text: [UInt8])?

  init(capacity: Int = 0) {
    bytes.reserveCapacity(capacity)
  }

  mutating func append(_ text: String) {
    bytes.append(contentsOf: text.utf8)
  }

  mutating func append(_ text: [UInt8]) {
    bytes.append(contentsOf: text)
  }

  /// At least `digits` digits, of a value of at most 32 bits.
  mutating func append(_ value: UInt32, digits: Int = 1) {
    var divisor: UInt32 = 1
    var count = 1
    while count < digits || value / divisor >= 10 {
      if count == 10 { break }
      divisor *= 10
      count += 1
    }
    while divisor > 0 {
      bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value / divisor % 10))
      divisor /= 10
    }
  }

  /// A duration in seconds with six decimals: more than a 90 kHz tick needs, so that it reads back to the same tick.
  mutating func append(seconds ticks: Int64) {
    keep(ticks)
    if let length { bytes.append(contentsOf: length.seconds) }
  }

  mutating func append(_ name: RunName) {
    if run?.name != name { run = (name, Array(name.description.utf8)) }
    if let run { bytes.append(contentsOf: run.text) }
  }

  mutating func append(_ name: SegmentName) {
    append(UInt32(clamping: name.sequence), digits: 8)
    bytes.append(UInt8(ascii: "_"))
    append(compact: name.start)
    bytes.append(UInt8(ascii: "_"))
    keep(name.ticks)
    if let length { bytes.append(contentsOf: length.text) }
    append(".m4s")
  }

  private mutating func keep(_ ticks: Int64) {
    if length?.ticks == ticks { return }
    let microseconds = (ticks * 100 + 4) / 9
    let fraction = String(microseconds % 1_000_000)
    let zeros = String(repeating: "0", count: max(0, 6 - fraction.utf8.count))
    length = (ticks, Array("\(microseconds / 1_000_000).\(zeros)\(fraction)".utf8), Array(String(ticks).utf8))
  }

  /// `20261130T021308.123Z`. Nearly all times of a list are of one day.
  private mutating func append(compact time: WallClockTime) {
    let dayLength = 86_400_000 as Int64
    var offset = time.milliseconds % dayLength
    if offset < 0 { offset += dayLength }
    let start = time.milliseconds - offset
    if day?.start != start {
      let text = WallClockTime(milliseconds: start).compact.utf8.prefix { $0 != UInt8(ascii: "T") }
      day = (start, Array(text) + [UInt8(ascii: "T")])
    }
    if let day { bytes.append(contentsOf: day.text) }
    let milliseconds = UInt32(offset)
    append(milliseconds / 3_600_000, digits: 2)
    append(milliseconds / 60_000 % 60, digits: 2)
    append(milliseconds / 1_000 % 60, digits: 2)
    bytes.append(UInt8(ascii: "."))
    append(milliseconds % 1_000, digits: 3)
    bytes.append(UInt8(ascii: "Z"))
  }
}
