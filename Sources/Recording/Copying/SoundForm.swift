import LibAV

/// What a frame of sound says of its own rate and channels: streams change them without notice. Two forms can be compared
/// only. Pure; any bytes are safe to look at.
struct SoundForm: Equatable {
  private let bits: [UInt8]

  /// Nil where the frames of a codec say nothing, or these bytes are none: ADTS (ISO/IEC 13818-7 §6.2.1), AC-3 and E-AC-3
  /// (ETSI TS 102 366 §4.4.1, §E.1.2.2) and MP3 (ISO/IEC 11172-3 §2.4.2.3) do.
  init?(_ codec: CodecID, _ bytes: RawSpan) {
    guard bytes.byteCount > 7 else { return nil }
    let head = (0..<7).map { unsafe bytes.unsafeLoad(fromByteOffset: $0, as: UInt8.self) }
    switch codec {
    case .aac where head[0] == 0xFF && head[1] & 0xF6 == 0xF0: bits = [head[2] & 0xFD, head[3] & 0xC0]
    case .ac3 where head[0] == 0x0B && head[1] == 0x77: bits = [head[4] & 0xC0, head[6] & 0xE0]
    case .eac3 where head[0] == 0x0B && head[1] == 0x77 && head[2] & 0xF8 == 0: bits = [head[4] & 0xCF]
    // Frames of stereo may be coded as two channels or jointly.
    case .mp3 where head[0] == 0xFF && head[1] & 0xE0 == 0xE0:
      bits = [head[1] & 0x18, head[2] & 0x0C, head[3] & 0xC0 == 0xC0 ? 1 : 0]
    default: return nil
    }
  }
}
