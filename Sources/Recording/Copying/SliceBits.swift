/// The bits of a NAL unit of H.264, read one field after another, and those of another unit made from it. Pure; any bytes are
/// safe to read: beyond the end there are zeros, and `isBroken` tells.
struct SliceBits {
  /// Without the bytes that keep start codes out (ITU-T H.264 §7.4.1.1).
  private let source: [UInt8]
  private var position = 0
  private var result: [UInt8] = []
  private var pending = 0
  private var pendingCount = 0
  private(set) var isBroken = false

  init(_ unit: some Sequence<UInt8>) {
    var source: [UInt8] = []
    var zeros = 0
    for byte in unit {
      if zeros >= 2, byte == 3 {
        zeros = 0
        continue
      }
      zeros = byte == 0 ? zeros + 1 : 0
      source.append(byte)
    }
    self.source = source
  }

  mutating func read(_ count: Int) -> Int {
    var value = 0
    for _ in 0..<count {
      guard position < source.count * 8 else {
        isBroken = true
        return 0
      }
      value = value << 1 | Int(source[position >> 3] >> UInt8(7 - position & 7) & 1)
      position += 1
    }
    return value
  }

  /// An Exp-Golomb code (§9.1) as an unsigned number.
  mutating func readCode() -> Int {
    var zeros = 0
    while !isBroken, read(1) == 0 { zeros += 1 }
    guard zeros < 32 else {
      isBroken = true
      return 0
    }
    return (1 << zeros) - 1 + read(zeros)
  }

  /// The same as a signed number.
  mutating func readSigned() -> Int {
    let code = readCode()
    return code & 1 == 1 ? (code + 1) / 2 : -(code / 2)
  }

  mutating func put(_ value: Int, _ count: Int) {
    for bit in (0..<count).reversed() {
      pending = pending << 1 | value >> bit & 1
      pendingCount += 1
      if pendingCount == 8 {
        result.append(UInt8(pending))
        pending = 0
        pendingCount = 0
      }
    }
  }

  mutating func putCode(_ value: Int) {
    let length = Int.bitWidth - (value + 1).leadingZeroBitCount
    put(value + 1, 2 * length - 1)
  }

  mutating func copy(_ count: Int) -> Int {
    let value = read(count)
    put(value, count)
    return value
  }

  /// Signed codes are copied like unsigned ones.
  @discardableResult
  mutating func copyCode() -> Int {
    let value = readCode()
    putCode(value)
    return value
  }

  /// What follows the header. Data of CABAC begins with a byte of its own (§7.3.4); the bits of CAVLC go on to the stop bit.
  mutating func copyRest(isCABAC: Bool) {
    if isCABAC {
      while pendingCount != 0 { put(1, 1) }
      result += source[min(source.count, (position + 7) / 8)...]
      return
    }
    guard let last = source.lastIndex(where: { $0 != 0 }) else { return }
    let end = last * 8 + 8 - source[last].trailingZeroBitCount
    while position < end {
      let count = min(8, end - position)
      put(read(count), count)
    }
    while pendingCount != 0 { put(0, 1) }
  }

  /// The unit made, in the form in which it is stored.
  func escaped() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(result.count + 16)
    var zeros = 0
    for byte in result {
      if zeros >= 2, byte <= 3 {
        bytes.append(3)
        zeros = 0
      }
      zeros = byte == 0 ? zeros + 1 : 0
      bytes.append(byte)
    }
    return bytes
  }
}
