import LibAV

/// What fragmented MP4 carries and players of HLS play (RFC 6381 names are known for all of them).
enum CopyableCodecs {
  static let video: Set<CodecID> = [.h264, .hevc, .av1, .vp9]
  static let audio: Set<CodecID> = [.aac, .ac3, .eac3, .mp3, .opus, .flac]

  /// Why the stream cannot be copied; nil when it can.
  static func refusal(of stream: StreamInfo) -> String? {
    let codecs = stream.kind == .video ? video : audio
    if !codecs.contains(stream.codec) {
      return "\(stream.codec) cannot be copied into fragmented MP4 for HLS"
    }
    return nil
  }

  /// What players of HLS make of a copied picture that is to be turned: they show it as it is coded.
  static func turning(of stream: StreamInfo) -> String? {
    stream.rotation == .none ? nil : "the picture is to be turned, which players of HLS do not"
  }
}
