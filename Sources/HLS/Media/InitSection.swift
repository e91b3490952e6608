/// What an init section says of its tracks: `ftyp` and `moov` of a fragmented MP4 (ISO 14496-12 §8, CMAF §7.3.1).
package struct InitSection: Equatable, Sendable {
  package let tracks: [MediaTrack]

  /// The first video track, or else the first track: the one that times a segment.
  package var leadingTrack: MediaTrack? { tracks.first { $0.kind == .video } ?? tracks.first }
  package var videoTrack: MediaTrack? { tracks.first { $0.kind == .video } }
  package var audioTrack: MediaTrack? { tracks.first { $0.kind == .audio } }

  /// Largest init section read, in bytes. Ours have about 1,500; parameter sets and colour tables stay far below this.
  package static let maximumSize = 1 << 20

  /// - Throws: `MediaFormatError` where `bytes` has no `moov`, no track, or a box that contradicts its own size.
  package init(parsing bytes: [UInt8]) throws(MediaFormatError) {
    guard bytes.count <= InitSection.maximumSize else {
      throw MediaFormatError(box: "init section", reason: "has \(bytes.count) bytes, more than an init section needs")
    }
    let moov = try Box.all(in: bytes[...], of: "init section").required("moov", of: "init section")
    let boxes = try moov.children
    var defaults: [UInt32: SampleDefaults] = [:]
    if let mvex = boxes.first("mvex") {
      for trex in try mvex.children.all("trex") {
        let (id, values) = try SampleDefaults.parse(trex)
        defaults[id] = values
      }
    }
    var tracks: [MediaTrack] = []
    for trak in boxes.all("trak") {
      let track = try MediaTrack(trak, defaults: defaults)
      guard !tracks.contains(where: { $0.id == track.id }) else {
        throw MediaFormatError(box: "moov", reason: "has two tracks numbered \(track.id)")
      }
      tracks.append(track)
    }
    guard !tracks.isEmpty else { throw MediaFormatError(box: "moov", reason: "has no track") }
    self.tracks = tracks
  }
}

/// What samples of a track have unless a fragment says otherwise: `trex` (ISO 14496-12 §8.8.3).
package struct SampleDefaults: Equatable, Sendable {
  package var duration: UInt32 = 0
  package var size: UInt32 = 0
  package var flags: UInt32 = 0

  static func parse(_ trex: Box) throws(MediaFormatError) -> (UInt32, SampleDefaults) {
    var reader = trex.reader
    _ = try reader.fullBoxHeader()
    let id = try reader.u32()
    try reader.skip(4)
    return (id, SampleDefaults(duration: try reader.u32(), size: try reader.u32(), flags: try reader.u32()))
  }
}

/// One track of an init section.
package struct MediaTrack: Equatable, Sendable {
  package enum Kind: Equatable, Sendable { case video, audio, other }

  package let id: UInt32
  package let kind: Kind
  /// Units per second of decode times, more than 0.
  package let timescale: UInt32
  package let defaults: SampleDefaults
  package let entry: SampleEntry
  /// Size at which pictures are shown, in pixels: rotation and pixel shape applied; the coded size where the track
  /// does not say. 0 for sound.
  package let displayWidth: Int
  package let displayHeight: Int

  init(_ trak: Box, defaults: [UInt32: SampleDefaults]) throws(MediaFormatError) {
    let boxes = try trak.children
    let header = try TrackHeader(try boxes.required("tkhd", of: "trak"))
    id = header.id
    let mdia = try boxes.required("mdia", of: "trak").children
    timescale = try MediaTrack.timescale(try mdia.required("mdhd", of: "mdia"))
    kind = try MediaTrack.kind(try mdia.required("hdlr", of: "mdia"))
    self.defaults = defaults[id] ?? SampleDefaults()
    let minf = try mdia.required("minf", of: "mdia").children
    let stbl = try minf.required("stbl", of: "minf").children
    entry = try SampleEntry(try stbl.required("stsd", of: "stbl"), kind: kind)
    let isShown = kind == .video && header.width > 0 && header.height > 0
    displayWidth = isShown ? header.width : entry.width
    displayHeight = isShown ? header.height : entry.height
  }

  /// `tkhd` (ISO 14496-12 §8.3.2).
  private struct TrackHeader {
    let id: UInt32
    let width: Int
    let height: Int

    init(_ tkhd: Box) throws(MediaFormatError) {
      var reader = tkhd.reader
      let (version, _) = try reader.fullBoxHeader()
      try reader.skip(version == 1 ? 16 : 8)
      id = try reader.u32()
      try reader.skip(4 + (version == 1 ? 8 : 4) + 16)
      var matrix: [UInt32] = []
      for _ in 0..<9 { matrix.append(try reader.u32()) }
      let size = (Int(try reader.u32() >> 16), Int(try reader.u32() >> 16))
      // A quarter turn leaves nothing on the matrix's diagonal.
      let isTurned = matrix[0] == 0 && matrix[4] == 0 && matrix[1] != 0
      (width, height) = isTurned ? (size.1, size.0) : size
    }
  }

  private static func timescale(_ mdhd: Box) throws(MediaFormatError) -> UInt32 {
    var reader = mdhd.reader
    let (version, _) = try reader.fullBoxHeader()
    try reader.skip(version == 1 ? 16 : 8)
    let timescale = try reader.u32()
    guard timescale > 0 else { throw MediaFormatError(box: "mdhd", reason: "has timescale 0") }
    return timescale
  }

  private static func kind(_ hdlr: Box) throws(MediaFormatError) -> Kind {
    var reader = hdlr.reader
    try reader.skip(8)
    switch FourCC(code: try reader.u32()) {
    case FourCC("vide"): return .video
    case FourCC("soun"): return .audio
    default: return .other
    }
  }
}
