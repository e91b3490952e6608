/// What a track's sample description says: its codec with the parameters a player asks for, and the shape of its
/// pictures or sound (ISO 14496-12 §8.5.2).
package struct SampleEntry: Equatable, Sendable {
  /// For CODECS (RFC 6381 §3.3 and the binding of each codec to the file format): `avc1.64001f`, `mp4a.40.2`.
  package private(set) var codec: String
  /// Coded width and height in pixels; 0 for sound.
  package private(set) var width = 0
  package private(set) var height = 0
  /// In hertz; 0 for pictures.
  package private(set) var sampleRate = 0
  package private(set) var channels = 0
  package private(set) var videoRange = VideoRange.sdr

  /// The values of VIDEO-RANGE (RFC 8216bis-20 §4.4.6.2).
  package enum VideoRange: String, Sendable { case sdr = "SDR", hlg = "HLG", pq = "PQ" }

  init(_ stsd: Box, kind: MediaTrack.Kind) throws(MediaFormatError) {
    var reader = stsd.reader
    _ = try reader.fullBoxHeader()
    guard try reader.u32() > 0, let entry = try Box.all(in: reader.rest, of: "stsd").first else {
      throw MediaFormatError(box: "stsd", reason: "has no sample entry")
    }
    switch kind {
    case .video: try self.init(video: entry)
    case .audio: try self.init(audio: entry)
    case .other: self.init(codec: entry.type.description)
    }
  }

  private init(codec: String) {
    self.codec = codec
  }

  private init(video entry: Box) throws(MediaFormatError) {
    self.init(codec: "")
    var reader = entry.reader
    try reader.skip(24)
    width = Int(try reader.u16())
    height = Int(try reader.u16())
    try reader.skip(50)
    let boxes = try Box.all(in: reader.rest, of: entry.type.description)
    codec = try CodecString.video(entry.type, boxes)
    if let colr = boxes.first("colr") {
      var reader = colr.reader
      // Transfer characteristics of ITU-T H.273: 16 is PQ, 18 is HLG.
      if try reader.u32() == FourCC("nclx").code {
        try reader.skip(2)
        switch try reader.u16() {
        case 16: videoRange = .pq
        case 18: videoRange = .hlg
        default: break
        }
      }
    }
  }

  private init(audio entry: Box) throws(MediaFormatError) {
    self.init(codec: "")
    var reader = entry.reader
    try reader.skip(8)
    let version = try reader.u16()
    try reader.skip(6)
    channels = Int(try reader.u16())
    try reader.skip(6)
    sampleRate = Int(try reader.u32() >> 16)
    // QuickTime's longer sound descriptions.
    if version == 1 { try reader.skip(16) }
    if version == 2 { try reader.skip(36) }
    let boxes = try Box.all(in: reader.rest, of: entry.type.description)
    let sound = try CodecString.audio(entry.type, boxes)
    codec = sound.codec
    if let counted = sound.channels { channels = counted }
    if let rate = sound.sampleRate { sampleRate = rate }
  }
}
