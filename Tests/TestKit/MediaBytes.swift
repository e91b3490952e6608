// Builds ISO base media by hand, so that tests say every field they depend on.

package func be16(_ value: Int) -> [UInt8] { (0..<2).map { UInt8(truncatingIfNeeded: value >> (8 - 8 * $0)) } }
package func be32(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) } }
package func be64(_ value: UInt64) -> [UInt8] {
  (0..<8).map { UInt8(truncatingIfNeeded: value >> UInt64(56 - 8 * $0)) }
}

package func box(_ type: String, _ payload: [UInt8]...) -> [UInt8] {
  let body = payload.flatMap(\.self)
  return be32(body.count + 8) + Array(type.utf8) + body
}

package func fullBox(_ type: String, version: Int = 0, flags: Int = 0, _ payload: [UInt8]...) -> [UInt8] {
  box(type, be32(version << 24 | flags), payload.flatMap(\.self))
}

/// A track of an init section; `entry` is the whole sample entry box.
package struct TrackBytes {
  package var id: Int
  package var handler: String
  package var timescale: Int
  package var entry: [UInt8]
  package var defaultDuration: Int
  package var defaultSize: Int
  package var defaultFlags: Int

  package init(
    id: Int = 1, handler: String = "vide", timescale: Int = 90_000,
    entry: [UInt8] = visualEntry("avc1", [box("avcC", [1, 0x64, 0x00, 0x1F, 0xFF, 0xE0])]), defaultDuration: Int = 0,
    defaultSize: Int = 0, defaultFlags: Int = 0
  ) {
    self.id = id
    self.handler = handler
    self.timescale = timescale
    self.entry = entry
    self.defaultDuration = defaultDuration
    self.defaultSize = defaultSize
    self.defaultFlags = defaultFlags
  }

  package var trak: [UInt8] {
    box(
      "trak", fullBox("tkhd", be32(0), be32(0), be32(id), [UInt8](repeating: 0, count: 68)),
      box(
        "mdia", fullBox("mdhd", be32(0), be32(0), be32(timescale), be32(0), be32(0)),
        fullBox("hdlr", be32(0), Array(handler.utf8), [UInt8](repeating: 0, count: 13)),
        box("minf", box("stbl", fullBox("stsd", be32(1), entry)))))
  }

  package var trex: [UInt8] {
    fullBox("trex", be32(id), be32(1), be32(defaultDuration), be32(defaultSize), be32(defaultFlags))
  }
}

package func visualEntry(_ type: String, width: Int = 1280, height: Int = 720, _ boxes: [[UInt8]]) -> [UInt8] {
  box(
    type, [UInt8](repeating: 0, count: 6), be16(1), [UInt8](repeating: 0, count: 16), be16(width), be16(height),
    [UInt8](repeating: 0, count: 50), boxes.flatMap(\.self))
}

package func audioEntry(_ type: String, channels: Int = 2, rate: Int = 48_000, _ boxes: [[UInt8]]) -> [UInt8] {
  box(
    type, [UInt8](repeating: 0, count: 6), be16(1), [UInt8](repeating: 0, count: 8), be16(channels), be16(16),
    [UInt8](repeating: 0, count: 4), be16(rate > 65_535 ? 0 : rate), be16(0), boxes.flatMap(\.self))
}

package func initSectionBytes(_ tracks: [TrackBytes]) -> [UInt8] {
  box("ftyp", Array("iso6".utf8), be32(0), Array("iso6".utf8))
    + box("moov", tracks.flatMap(\.trak), box("mvex", tracks.flatMap(\.trex)))
}

package struct SampleBytes {
  package var duration: Int
  package var size: Int
  package var isSync: Bool

  package init(duration: Int = 3_600, size: Int = 100, isSync: Bool = true) {
    self.duration = duration
    self.size = size
    self.isSync = isSync
  }
}

/// One chunk with one track; `tfdt` 64 bits wide as libav writes it.
package func chunkBytes(track: Int = 1, decodeTime: UInt64, _ samples: [SampleBytes]) -> [UInt8] {
  let rows = samples.flatMap { be32($0.duration) + be32($0.size) + be32($0.isSync ? 0x0200_0000 : 0x0101_0000) }
  let traf = box(
    "traf", fullBox("tfhd", flags: 0x020000, be32(track)), fullBox("tfdt", version: 1, be64(decodeTime)),
    fullBox("trun", flags: 0x701, be32(samples.count), be32(0), rows))
  let size = samples.reduce(0) { $0 + $1.size }
  return box("moof", fullBox("mfhd", be32(1)), traf) + box("mdat", [UInt8](repeating: 0xAB, count: size))
}
