/// Finds what to change in a segment for its times to count on from another run's end: its `tfdt` boxes (ISO 14496-12
/// §8.8.12), nothing else. The caller reads what is `wanted` and feeds it; samples are passed over.
package struct DecodeTimeMove: Sendable {
  /// Bytes to put in place of others, from an offset in the file.
  package struct Change: Equatable, Sendable {
    package let offset: Int64
    package let bytes: [UInt8]

    package init(offset: Int64, bytes: [UInt8]) {
      self.offset = offset
      self.bytes = bytes
    }
  }

  package private(set) var changes: [Change] = []
  /// The part of the file to feed next; nil when the rest is of no interest. It may reach beyond the end of the file: feed
  /// what there is.
  package private(set) var wanted: Range<Int64>? = 0..<Int64(BoxHeader.maximumSize)

  private let tracks: [MediaTrack]
  private let ticks: Int64
  private var isFragmentHeader = false

  /// - Parameter ticks: added to every decode time, at 90 kHz; not negative.
  package init(_ initSection: InitSection, by ticks: Int64) {
    tracks = initSection.tracks
    self.ticks = ticks
  }

  package mutating func feed(_ bytes: [UInt8]) throws(MediaFormatError) {
    guard let start = wanted?.lowerBound else { return }
    wanted = nil
    guard let header = try BoxHeader.parse(bytes[...]), let payload = header.payloadSize else { return }
    let size = Int64(header.headerSize) + Int64(payload)
    if isFragmentHeader {
      guard bytes.count == size else { throw MediaFormatError(box: "moof", reason: "is truncated") }
      for traf in try Box.all(in: bytes[header.headerSize...], of: "moof").all("traf") { try move(traf, from: start) }
    }
    isFragmentHeader = !isFragmentHeader && header.type == .moof && payload <= UInt64(ChunkScan.maximumFragmentHeader)
    if isFragmentHeader {
      wanted = start..<start + size
    } else if size <= Int64.max / 2 - start {
      wanted = start + size..<start + size + Int64(BoxHeader.maximumSize)
    }
  }

  private mutating func move(_ traf: Box, from start: Int64) throws(MediaFormatError) {
    let boxes = try traf.children
    var reader = try boxes.required("tfhd", of: "traf").reader
    _ = try reader.fullBoxHeader()
    let id = try reader.u32()
    guard let track = tracks.first(where: { $0.id == id }), let tfdt = boxes.first("tfdt") else { return }
    reader = tfdt.reader
    let (version, _) = try reader.fullBoxHeader()
    // libav's muxer writes the long form only; a short one may have no room for the sum.
    guard version == 1 else { return }
    let offset = reader.rest.startIndex
    // A timescale has up to 32 bits, ticks up to 63: the product may not fit, the quotient does or is nobody's time.
    let product = UInt64(ticks).multipliedFullWidth(by: UInt64(track.timescale))
    guard product.high < 90_000 else { throw MediaFormatError(box: "tfdt", reason: "would hold an impossible time") }
    let moved = try reader.u64() &+ UInt64(90_000).dividingFullWidth(product).quotient
    let bytes = (0..<8).map { UInt8(truncatingIfNeeded: moved >> (56 - 8 * $0)) }
    changes.append(Change(offset: start + Int64(offset), bytes: bytes))
  }
}
