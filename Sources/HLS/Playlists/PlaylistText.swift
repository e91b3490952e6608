/// Builds playlist text as UTF-8 bytes. Digits are written in place: a window of an hour is written anew for every
/// segment, and strings made for every field would cost more than everything else a segment costs.
struct PlaylistText {
  private(set) var bytes: [UInt8] = []
  private var day: (start: Int64, digits: [UInt8])?

  init(capacity: Int = 0) {
    bytes.reserveCapacity(capacity)
  }

  mutating func append(_ text: String) {
    bytes.append(contentsOf: text.utf8)
  }

  mutating func append(_ value: Int64, digits: Int = 1) {
    let start = bytes.count
    var rest = value.magnitude
    repeat {
      bytes.append(UInt8(ascii: "0") + UInt8(rest % 10))
      rest /= 10
    } while rest > 0
    while bytes.count - start < digits { bytes.append(UInt8(ascii: "0")) }
    if value < 0 { bytes.append(UInt8(ascii: "-")) }
    bytes[start...].reverse()
  }

  /// A duration in seconds with six decimals: more than a 90 kHz tick needs, so that it reads back to the same tick.
  mutating func append(seconds ticks: Int64) {
    let microseconds = (ticks * 100 + 4) / 9
    append(microseconds / 1_000_000)
    bytes.append(UInt8(ascii: "."))
    append(microseconds % 1_000_000, digits: 6)
  }

  mutating func append(_ run: RunName) {
    append(compact: run.start)
    bytes.append(UInt8(ascii: "_"))
    for shift in [12, 8, 4, 0] {
      let digit = UInt8(run.suffix >> UInt16(shift) & 0xF)
      bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
    }
  }

  mutating func append(_ name: SegmentName) {
    append(Int64(name.sequence), digits: 8)
    bytes.append(UInt8(ascii: "_"))
    append(compact: name.start)
    bytes.append(UInt8(ascii: "_"))
    append(name.ticks)
    append(".m4s")
  }

  /// `20261130T021308.123Z`. Nearly all times of a list are of one day, whose digits are kept.
  private mutating func append(compact time: WallClockTime) {
    let length = 86_400_000 as Int64
    var offset = time.milliseconds % length
    if offset < 0 { offset += length }
    let start = time.milliseconds - offset
    if day?.start != start {
      day = (start, Array(WallClockTime(milliseconds: start).compact.utf8.prefix { $0 != UInt8(ascii: "T") }))
    }
    if let day { bytes.append(contentsOf: day.digits) }
    bytes.append(UInt8(ascii: "T"))
    append(offset / 3_600_000, digits: 2)
    append(offset / 60_000 % 60, digits: 2)
    append(offset / 1_000 % 60, digits: 2)
    bytes.append(UInt8(ascii: "."))
    append(offset % 1_000, digits: 3)
    bytes.append(UInt8(ascii: "Z"))
  }
}
