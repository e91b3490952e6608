/// A box type: four characters (ISO 14496-12 §4.2).
package struct FourCC: Hashable, Sendable, CustomStringConvertible {
  package let code: UInt32

  package init(code: UInt32) {
    self.code = code
  }

  package init(_ text: StaticString) {
    var code: UInt32 = 0
    text.withUTF8Buffer { buffer in
      for index in buffer.indices { code = code << 8 | UInt32(unsafe buffer[index]) }
    }
    self.code = code
  }

  /// The four characters; what is not printable ASCII shows as a dot.
  package var description: String {
    let bytes = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: code >> $0) }
    return String(decoding: bytes.map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: ".") }, as: UTF8.self)
  }

  static let moof = FourCC("moof")
  static let mdat = FourCC("mdat")
}

/// The size and type that open a box (ISO 14496-12 §4.2).
struct BoxHeader: Equatable {
  let type: FourCC
  /// Bytes of the header itself: 8, or 16 with a 64-bit size.
  let headerSize: Int
  /// Bytes of what follows the header; nil when the box reaches to the end of the file (size 0).
  let payloadSize: UInt64?

  /// How many bytes a header can need at most.
  static let maximumSize = 16

  /// Reads a header from the front of `bytes`.
  /// - Returns: nil when `bytes` ends before the header does.
  static func parse(_ bytes: ArraySlice<UInt8>) throws(MediaFormatError) -> BoxHeader? {
    guard bytes.count >= 8 else { return nil }
    var reader = ByteReader(bytes, in: "box header")
    let size = try reader.u32()
    let type = FourCC(code: try reader.u32())
    switch size {
    case 0:
      return BoxHeader(type: type, headerSize: 8, payloadSize: nil)
    case 1:
      guard bytes.count >= 16 else { return nil }
      let large = try reader.u64()
      guard large >= 16, large <= UInt64(Int64.max) else {
        throw MediaFormatError(box: type.description, reason: "has the impossible size \(large)")
      }
      return BoxHeader(type: type, headerSize: 16, payloadSize: large - 16)
    case 2..<8:
      throw MediaFormatError(box: type.description, reason: "has the impossible size \(size)")
    default:
      return BoxHeader(type: type, headerSize: 8, payloadSize: UInt64(size) - 8)
    }
  }
}

/// A whole box in memory.
struct Box {
  let type: FourCC
  let payload: ArraySlice<UInt8>

  /// The boxes that fill `bytes`. A last box of size 0 reaches to the end; one that is longer than `bytes` is an error.
  static func all(in bytes: ArraySlice<UInt8>, of parent: String) throws(MediaFormatError) -> [Box] {
    var found: [Box] = []
    var rest = bytes
    while !rest.isEmpty {
      // A `udta` may close with a 32-bit zero (QuickTime), which is no box.
      if rest.count < 8, rest.allSatisfy({ $0 == 0 }) { break }
      guard let header = try BoxHeader.parse(rest) else {
        throw MediaFormatError(box: parent, reason: "ends inside a box header")
      }
      let body = rest.dropFirst(header.headerSize)
      let size = header.payloadSize ?? UInt64(body.count)
      guard size <= UInt64(body.count) else {
        throw MediaFormatError(box: header.type.description, reason: "is longer than the \(parent) around it")
      }
      let payload = body.prefix(Int(size))
      found.append(Box(type: header.type, payload: payload))
      rest = body.dropFirst(payload.count)
    }
    return found
  }

  var children: [Box] {
    get throws(MediaFormatError) { try Box.all(in: payload, of: type.description) }
  }

  var reader: ByteReader { ByteReader(payload, in: type.description) }
}

extension [Box] {
  func first(_ type: StaticString) -> Box? {
    let wanted = FourCC(type)
    return first { $0.type == wanted }
  }

  func all(_ type: StaticString) -> [Box] {
    let wanted = FourCC(type)
    return filter { $0.type == wanted }
  }

  func required(_ type: StaticString, of parent: String) throws(MediaFormatError) -> Box {
    guard let box = first(type) else { throw MediaFormatError(box: parent, reason: "has no \(FourCC(type))") }
    return box
  }
}
