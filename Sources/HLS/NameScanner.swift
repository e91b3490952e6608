/// Reads the fixed-width fields of a name on disk from front to back. Every step that does not match leaves nil or
/// false behind, so a parser is one `guard`.
struct NameScanner {
  private var rest: ArraySlice<UInt8>

  init(_ text: some StringProtocol) {
    rest = Array(text.utf8)[...]
  }

  var isAtEnd: Bool { rest.isEmpty }

  /// Exactly `digits` ASCII digits.
  mutating func number(digits: Int) -> Int64? {
    guard rest.count >= digits else { return nil }
    var value: Int64 = 0
    for byte in rest.prefix(digits) {
      guard byte >= 0x30, byte <= 0x39 else { return nil }
      value = value * 10 + Int64(byte - 0x30)
    }
    rest = rest.dropFirst(digits)
    return value
  }

  /// A decimal number without leading zeros, of at most `atMost` digits.
  mutating func number(atMost: Int) -> Int64? {
    let digits = rest.prefix(while: { $0 >= 0x30 && $0 <= 0x39 }).count
    guard digits >= 1, digits <= atMost, digits == 1 || rest.first != 0x30 else { return nil }
    return number(digits: digits)
  }

  /// Exactly `count` lower-case hexadecimal digits.
  mutating func hexadecimal(digits count: Int) -> UInt32? {
    guard rest.count >= count else { return nil }
    var value: UInt32 = 0
    for byte in rest.prefix(count) {
      switch byte {
      case 0x30...0x39: value = value << 4 | UInt32(byte - 0x30)
      case 0x61...0x66: value = value << 4 | UInt32(byte - 0x61 + 10)
      default: return nil
      }
    }
    rest = rest.dropFirst(count)
    return value
  }

  /// Steps over `literal`.
  mutating func skip(_ literal: StaticString) -> Bool {
    let width = literal.utf8CodeUnitCount
    guard rest.count >= width,
      unsafe rest.prefix(width).elementsEqual(UnsafeBufferPointer(start: literal.utf8Start, count: width))
    else { return false }
    rest = rest.dropFirst(width)
    return true
  }
}
