/// Writes JSON text (RFC 8259) piece by piece. The caller keeps the order: a key, then its value.
struct JSONText {
  private(set) var bytes: [UInt8] = []
  private var needsComma = false

  mutating func object(_ body: (inout JSONText) -> Void) { enclosed("{", "}", body) }
  mutating func array(_ body: (inout JSONText) -> Void) { enclosed("[", "]", body) }

  mutating func key(_ name: String) {
    value(name)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  mutating func value(_ text: String) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
      // `<` too, so that no text can end a script element that holds it.
      case 0..<0x20, UInt8(ascii: "<"):
        let digits = String(byte, radix: 16)
        bytes += Array("\\u00".utf8) + Array((digits.utf8.count == 1 ? "0" + digits : digits).utf8)
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  mutating func value(_ number: Int64) {
    separate()
    bytes += Array(String(number).utf8)
  }

  mutating func value(_ flag: Bool) {
    separate()
    bytes += Array((flag ? "true" : "false").utf8)
  }

  mutating func null() {
    separate()
    bytes += Array("null".utf8)
  }

  mutating func pair(_ name: String, _ text: String) {
    key(name)
    value(text)
  }

  mutating func pair(_ name: String, _ number: Int64?) {
    key(name)
    if let number { value(number) } else { null() }
  }

  /// Seconds with three decimals.
  mutating func pair(_ name: String, ticks: Int64) {
    key(name)
    separate()
    let milliseconds = (max(0, ticks) + 45) / 90
    let rest = String(milliseconds % 1000)
    bytes += Array("\(milliseconds / 1000).\(String(repeating: "0", count: 3 - rest.utf8.count))\(rest)".utf8)
  }

  private mutating func separate() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    needsComma = true
  }

  private mutating func enclosed(_ open: Unicode.Scalar, _ end: Unicode.Scalar, _ body: (inout JSONText) -> Void) {
    separate()
    bytes.append(UInt8(ascii: open))
    needsComma = false
    body(&self)
    bytes.append(UInt8(ascii: end))
    needsComma = true
  }
}
