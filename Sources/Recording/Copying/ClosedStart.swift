/// Makes an IDR picture of a recovery point of H.264 (ITU-T H.264 §D.2.8) that consists of I slices, and numbers what
/// follows anew, up to the next IDR picture: some streams have none, and players begin at nothing else. Only headers of
/// slices change. Pure; any bytes are safe to look at.
package struct ClosedStart {
  /// What the headers of slices depend on (§7.3.2.1.1, §7.3.2.2).
  private struct Sequence {
    let frameNumberBits: Int
    /// 0 where the order of output is that of decoding.
    let orderBits: Int
    let hasFields: Bool
    let hasSeparatePlanes: Bool
    let hasColor: Bool

    /// Nil for what is not understood.
    init?(_ unit: ArraySlice<UInt8>) {
      var bits = SliceBits(unit)
      _ = bits.read(8)
      let profile = bits.read(8)
      _ = bits.read(16)
      _ = bits.readCode()
      var chroma = 1
      var hasSeparatePlanes = false
      if [100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135].contains(profile) {
        chroma = bits.readCode()
        if chroma == 3 { hasSeparatePlanes = bits.read(1) == 1 }
        _ = bits.readCode()
        _ = bits.readCode()
        _ = bits.read(1)
        if bits.read(1) == 1 {
          for list in 0..<(chroma == 3 ? 12 : 8) where bits.read(1) == 1 {
            var last = 8
            var next = 8
            for _ in 0..<(list < 6 ? 16 : 64) {
              if next != 0 { next = (last + bits.readSigned()) & 0xFF }
              if next != 0 { last = next }
            }
          }
        }
      }
      self.hasSeparatePlanes = hasSeparatePlanes
      hasColor = chroma != 0 && !hasSeparatePlanes
      frameNumberBits = bits.readCode() + 4
      let orderType = bits.readCode()
      orderBits = orderType == 0 ? bits.readCode() + 4 : 0
      _ = bits.readCode()
      _ = bits.read(1)
      _ = bits.readCode()
      _ = bits.readCode()
      hasFields = bits.read(1) == 0
      // Cycles of order counts begin where the numbers of frames do.
      guard !bits.isBroken, orderType != 1, frameNumberBits <= 16, orderBits <= 16 else { return nil }
    }
  }

  private struct Picture {
    let isCABAC: Bool
    let hasBottomOrder: Bool
    let references: [Int]
    let isWeighted: Bool
    let isBiweighted: Bool
    let hasDeblocking: Bool
    let hasRedundancy: Bool

    init?(_ bits: inout SliceBits) {
      _ = bits.readCode()
      isCABAC = bits.read(1) == 1
      hasBottomOrder = bits.read(1) == 1
      let groups = bits.readCode()
      references = [bits.readCode() + 1, bits.readCode() + 1]
      isWeighted = bits.read(1) == 1
      isBiweighted = bits.read(2) == 1
      for _ in 0..<3 { _ = bits.readCode() }
      hasDeblocking = bits.read(1) == 1
      _ = bits.read(1)
      hasRedundancy = bits.read(1) == 1
      guard !bits.isBroken, groups == 0 else { return nil }
    }
  }

  private let sequence: Sequence
  private var pictures: [Int: Picture] = [:]
  /// Bytes of a NAL unit's length; nil: start codes.
  private let lengthSize: Int?
  /// Of the picture that decoding starts with; nil before it.
  private var first: (number: Int, order: Int)?
  /// Frames since then.
  private var number = 0
  /// The numbers have begun anew by themselves (memory management 5).
  private(set) var isOver = false

  /// - Parameter extradata: the codec configuration, as avcC (ISO/IEC 14496-15 §5.3.3.1) or with start codes.
  package init?(extradata: [UInt8], lengthSize: Int?) {
    var units: [ArraySlice<UInt8>] = []
    if extradata.first == 1 {
      var offset = 5
      for mask: UInt8 in [0x1F, 0xFF] where offset < extradata.count {
        let count = extradata[offset] & mask
        offset += 1
        for _ in 0..<count where offset + 2 <= extradata.count {
          let end = offset + 2 + Int(extradata[offset]) << 8 + Int(extradata[offset + 1])
          guard end <= extradata.count else { return nil }
          units.append(extradata[offset + 2..<end])
          offset = end
        }
      }
    } else {
      units = Self.units(extradata[...], lengthSize: nil) ?? []
    }
    guard let sequence = units.first(where: { $0.first.map { $0 & 0x1F } == 7 }).flatMap({ Sequence($0) }) else {
      return nil
    }
    self.sequence = sequence
    self.lengthSize = lengthSize
    for unit in units where unit.first.map({ $0 & 0x1F }) == 8 {
      var bits = SliceBits(unit)
      _ = bits.read(8)
      let id = bits.readCode()
      pictures[id] = Picture(&bits)
    }
  }

  /// The next picture with its numbers changed; nil when it is not understood. The first one becomes an IDR picture.
  package mutating func renumber(_ bytes: [UInt8]) -> [UInt8]? {
    guard let units = Self.units(bytes[...], lengthSize: lengthSize) else { return nil }
    let isFirst = first == nil
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count + 64)
    for unit in units {
      var changed: [UInt8]?
      if unit.first.map({ $0 & 0x1F }) == 1 {
        changed = slice(unit, isFirst: isFirst)
        guard changed != nil else { return nil }
      }
      let count = changed?.count ?? unit.count
      for shift in (0..<(lengthSize ?? 4)).reversed() {
        result.append(UInt8(truncatingIfNeeded: lengthSize == nil ? 1 >> (8 * shift) : count >> (8 * shift)))
      }
      if let changed { result += changed } else { result += unit }
    }
    return first == nil ? nil : result
  }

  /// A slice with its header changed (§7.3.3).
  private mutating func slice(_ unit: ArraySlice<UInt8>, isFirst: Bool) -> [UInt8]? {
    var bits = SliceBits(unit)
    let head = bits.read(8)
    let isReference = head & 0x60 != 0
    bits.put(isFirst ? head & 0xE0 | 5 : head, 8)
    bits.copyCode()
    let type = bits.copyCode() % 5
    let isB = type == 1
    guard type < 3, let picture = pictures[bits.copyCode()], !isFirst || type == 2 && isReference else { return nil }
    if sequence.hasSeparatePlanes { _ = bits.copy(2) }
    let read = bits.read(sequence.frameNumberBits)
    let start = first?.number ?? read
    let mask = 1 << sequence.frameNumberBits - 1
    number += ((read - start) & mask - number) & mask
    bits.put(number & mask, sequence.frameNumberBits)
    let isField = sequence.hasFields && bits.copy(1) == 1
    if isField { _ = bits.copy(1) }
    if isFirst {
      guard !isField else { return nil }
      bits.putCode(0)
    }
    if sequence.orderBits > 0 {
      let order = bits.read(sequence.orderBits)
      if isFirst, first == nil { first = (read, order) }
      bits.put((order - (first?.order ?? 0)) & (1 << sequence.orderBits - 1), sequence.orderBits)
      if picture.hasBottomOrder, !isField { bits.copyCode() }
    } else if isFirst, first == nil {
      first = (read, 0)
    }
    if picture.hasRedundancy { bits.copyCode() }
    if isB { _ = bits.copy(1) }
    var references = type == 2 ? [] : isB ? picture.references : [picture.references[0]]
    if type != 2, bits.copy(1) == 1 { for list in references.indices { references[list] = bits.copyCode() + 1 } }
    for _ in references where bits.copy(1) == 1 {
      while !bits.isBroken, bits.copyCode() != 3 { bits.copyCode() }
    }
    if isB ? picture.isBiweighted : type == 0 && picture.isWeighted {
      for _ in 0..<(sequence.hasColor ? 2 : 1) { bits.copyCode() }
      for count in references {
        for _ in 0..<min(count, 32) {
          if bits.copy(1) == 1 { for _ in 0..<2 { bits.copyCode() } }
          if sequence.hasColor, bits.copy(1) == 1 { for _ in 0..<4 { bits.copyCode() } }
        }
      }
    }
    if isReference { manageMemory(&bits, isFirst: isFirst, isField: isField) }
    if picture.isCABAC, type != 2 { bits.copyCode() }
    bits.copyCode()
    if picture.hasDeblocking, bits.copyCode() != 1 { for _ in 0..<2 { bits.copyCode() } }
    bits.copyRest(isCABAC: picture.isCABAC)
    return bits.isBroken ? nil : bits.escaped()
  }

  /// Which pictures are referred to no longer (§7.3.3.3): those before the start are not there.
  private mutating func manageMemory(_ bits: inout SliceBits, isFirst: Bool, isField: Bool) {
    let isAdaptive = bits.read(1) == 1
    if isFirst { bits.put(0, 2) } else { bits.put(isAdaptive ? 1 : 0, 1) }
    guard isAdaptive else { return }
    while !bits.isBroken {
      let operation = bits.readCode()
      var values: [Int] = []
      if operation != 0, operation != 5 { values.append(bits.readCode()) }
      if operation == 3 { values.append(bits.readCode()) }
      if operation == 5 { isOver = true }
      var isThere = true
      if operation == 1 || operation == 3 {
        let current = isField ? 2 * number + 1 : number
        isThere = current - values[0] - 1 >= 0
      }
      if !isFirst, isThere {
        bits.putCode(operation)
        for value in values { bits.putCode(value) }
      }
      if operation == 0 { return }
    }
  }

  /// The NAL units of a packet; nil where lengths do not add up.
  private static func units(_ bytes: ArraySlice<UInt8>, lengthSize: Int?) -> [ArraySlice<UInt8>]? {
    var units: [ArraySlice<UInt8>] = []
    var offset = bytes.startIndex
    if let lengthSize {
      while offset + lengthSize < bytes.endIndex {
        let length = bytes[offset..<offset + lengthSize].reduce(0) { $0 << 8 | Int($1) }
        offset += lengthSize + length
        guard offset <= bytes.endIndex else { return nil }
        units.append(bytes[offset - length..<offset])
      }
      return units
    }
    var start: Int?
    func close(_ end: Int) {
      guard let start else { return }
      var end = end
      while end > start, bytes[end - 1] == 0 { end -= 1 }
      if end > start { units.append(bytes[start..<end]) }
    }
    while offset + 2 < bytes.endIndex {
      if bytes[offset + 2] > 1 {
        offset += 3
      } else if bytes[offset + 2] == 1, bytes[offset] == 0, bytes[offset + 1] == 0 {
        close(offset)
        start = offset + 3
        offset += 3
      } else {
        offset += 1
      }
    }
    close(bytes.endIndex)
    return units
  }
}
