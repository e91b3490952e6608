/// What is wrong with bytes that should be ISO base media: the box being read, and the rule it breaks.
package struct MediaFormatError: Error, Hashable, Sendable, CustomStringConvertible {
  package let box: String
  package let reason: String

  package init(box: String, reason: String) {
    self.box = box
    self.reason = reason
  }

  package var description: String { "\(box): \(reason)" }
}

/// Reads big-endian fields from front to back and never past the end: what is missing is an error, not a trap.
struct ByteReader {
  private(set) var rest: ArraySlice<UInt8>
  /// Named in errors.
  let box: String

  init(_ bytes: ArraySlice<UInt8>, in box: String) {
    rest = bytes
    self.box = box
  }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func bytes(_ count: Int) throws(MediaFormatError) -> ArraySlice<UInt8> {
    guard count >= 0, rest.count >= count else { throw MediaFormatError(box: box, reason: "is truncated") }
    let taken = rest.prefix(count)
    rest = rest.dropFirst(count)
    return taken
  }

  mutating func skip(_ count: Int) throws(MediaFormatError) {
    _ = try bytes(count)
  }

  mutating func u8() throws(MediaFormatError) -> UInt8 {
    guard let first = rest.first else { throw MediaFormatError(box: box, reason: "is truncated") }
    rest = rest.dropFirst()
    return first
  }

  mutating func u16() throws(MediaFormatError) -> UInt16 {
    try bytes(2).reduce(0) { $0 << 8 | UInt16($1) }
  }

  mutating func u24() throws(MediaFormatError) -> UInt32 {
    try bytes(3).reduce(0) { $0 << 8 | UInt32($1) }
  }

  mutating func u32() throws(MediaFormatError) -> UInt32 {
    try bytes(4).reduce(0) { $0 << 8 | UInt32($1) }
  }

  mutating func u64() throws(MediaFormatError) -> UInt64 {
    try bytes(8).reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// The version and flags that open a full box (ISO 14496-12 §4.2).
  mutating func fullBoxHeader() throws(MediaFormatError) -> (version: UInt8, flags: UInt32) {
    let word = try u32()
    return (UInt8(word >> 24), word & 0xFF_FFFF)
  }
}
