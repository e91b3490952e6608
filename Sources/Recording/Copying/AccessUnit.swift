import LibAV

/// What a coded picture is for cutting: read from the first slice of a packet. Pure; any bytes are safe to look at.
enum PictureKind: Equatable, Sendable {
  /// Decoding can start here, and all that follows can be decoded: IDR and the like.
  case start
  /// Decoding can start here; pictures that follow in decoding order but precede it in presentation may refer to what
  /// came before it: CRA (ITU-T H.265 §7.4.2.2), or a recovery point (H.264 §D.2.8).
  case openStart
  /// Cannot be decoded when decoding starts at the `openStart` before it: RASL.
  case skippedLeading
  case other

  /// - Parameters:
  ///   - isKey: what the demuxer says.
  ///   - lengthSize: bytes of a NAL unit's length (ISO/IEC 14496-15 §5.3.3.1), or nil for Annex B start codes.
  init(codec: CodecID, isKey: Bool, lengthSize: Int?, bytes: RawSpan) {
    let first = Self.firstSlice(codec, bytes, lengthSize: lengthSize)
    switch codec {
    case .h264:
      switch first.map({ $0 & 0x1F }) {
      case 5: self = .start
      case nil: self = isKey ? .start : .other
      default: self = isKey ? .openStart : .other
      }
    case .hevc:
      switch first.map({ $0 >> 1 & 0x3F }) {
      case 17, 18, 19, 20: self = .start
      case 16, 21, 22, 23: self = .openStart
      case 8, 9: self = .skippedLeading
      case nil: self = isKey ? .start : .other
      default: self = .other
      }
    default: self = isKey ? .start : .other
    }
  }

  /// No other picture refers to this one (ITU-T H.264 §7.4.1, nal_ref_idc; H.265 §7.4.2.2, sub-layer non-reference), as
  /// far as its codec lets one see.
  static func isReferredToByNone(_ codec: CodecID, _ lengthSize: Int?, _ bytes: RawSpan) -> Bool {
    guard let first = firstSlice(codec, bytes, lengthSize: lengthSize) else { return false }
    return codec == .h264 ? first & 0x60 == 0 : first & 0x22 == 0 && first < 32
  }

  /// No part of a picture of the codec is in it, although there are in every packet: what comes (Annex B) is another codec.
  static func isForeign(_ codec: CodecID, _ bytes: RawSpan) -> Bool {
    switch codec {
    // As H.265 has them, the first bytes of NAL units are even.
    case .h264: firstSlice(bytes, lengthSize: nil, isSlice: { $0 & 0x1F == 1 || $0 & 0x1F == 5 }) == nil
    // H.264 has odd ones but for what comes now and then; its delimiters and SEI read as types 4 and 3 here.
    case .hevc: firstSlice(bytes, lengthSize: nil, isSlice: { $0 < 64 && $0 & 1 == 0 && !(4...11).contains($0) }) == nil
    default: false
    }
  }

  /// `firstSlice` of a codec that has NAL units; nil for the others.
  private static func firstSlice(_ codec: CodecID, _ bytes: RawSpan, lengthSize: Int?) -> UInt8? {
    switch codec {
    case .h264: firstSlice(bytes, lengthSize: lengthSize, isSlice: { (1...5).contains($0 & 0x1F) })
    case .hevc: firstSlice(bytes, lengthSize: lengthSize, isSlice: { $0 >> 1 & 0x3F < 32 })
    default: nil
    }
  }

  /// The first byte of the first NAL unit that is part of a picture.
  private static func firstSlice(_ bytes: RawSpan, lengthSize: Int?, isSlice: (UInt8) -> Bool) -> UInt8? {
    func byte(_ offset: Int) -> UInt8 { unsafe bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self) }
    let count = bytes.byteCount
    var offset = 0
    if let lengthSize, (1...4).contains(lengthSize) {
      while offset + lengthSize < count {
        var length = 0
        for index in 0..<lengthSize { length = length << 8 | Int(byte(offset + index)) }
        let first = byte(offset + lengthSize)
        if isSlice(first) { return first }
        offset += lengthSize + length
      }
      return nil
    }
    // Start codes: 00 00 01.
    while offset + 3 < count {
      if byte(offset + 2) > 1 {
        offset += 3
      } else if byte(offset) == 0 && byte(offset + 1) == 0 && byte(offset + 2) == 1 {
        let first = byte(offset + 3)
        if isSlice(first) { return first }
        offset += 4
      } else {
        offset += 1
      }
    }
    return nil
  }

  /// Bytes of a NAL unit's length according to the codec configuration; nil for Annex B.
  static func lengthSize(codec: CodecID, extradata: [UInt8]) -> Int? {
    guard extradata.first == 1 else { return nil }
    switch codec {
    case .h264: return extradata.count > 4 ? Int(extradata[4] & 3) + 1 : nil
    case .hevc: return extradata.count > 21 ? Int(extradata[21] & 3) + 1 : nil
    default: return nil
    }
  }
}
