import TestKit
import Testing

@testable import HLS

@Suite struct `Chunk scan` {
  static let track = TrackBytes()
  static let initSection = try? InitSection(parsing: initSectionBytes([track]))
  static let chunks: [[UInt8]] = [
    chunkBytes(decodeTime: 900_000, [SampleBytes(), SampleBytes(isSync: false)]),
    chunkBytes(decodeTime: 907_200, [SampleBytes(size: 7, isSync: false)]),
    chunkBytes(decodeTime: 910_800, [SampleBytes(duration: 1_800, isSync: false)]),
  ]

  private func scan() throws -> ChunkScan { ChunkScan(try #require(Self.initSection)) }

  @Test(arguments: [1, 2, 7, 16, 100, 10_000])
  func `pieces of any size give the same result`(size: Int) throws {
    var scan = try scan()
    let bytes = Self.chunks.flatMap(\.self)
    for start in stride(from: 0, to: bytes.count, by: size) {
      scan.feed(Array(bytes[start..<min(start + size, bytes.count)]))
    }
    #expect(scan.failure == nil)
    #expect(scan.wholeChunks == 3)
    #expect(scan.wholeLength == UInt64(bytes.count))
    let span = try #require(scan.tracks.first)
    #expect(span.firstDecodeTime == 900_000)
    #expect(span.endDecodeTime == 912_600)
    #expect(span.samples == 4)
    #expect(span.duration == 12_600)
    #expect(span.bytes == 307)
    #expect(span.frames.count == 4)
    #expect(span.startsWithSync)
    #expect(scan.tracks.ticks == 12_600)
  }

  @Test func `a cut anywhere leaves the chunks that are whole before it`() throws {
    let bytes = Self.chunks.flatMap(\.self)
    let ends = Self.chunks.reduce(into: [0]) { $0.append(($0.last ?? 0) + $1.count) }
    for cut in 0...bytes.count {
      var scan = try scan()
      scan.feed(Array(bytes[..<cut]))
      let whole = try #require(ends.last { $0 <= cut })
      #expect(scan.wholeLength == UInt64(whole))
      #expect(scan.failure == nil)
      #expect(scan.wholeChunks == ends.firstIndex(of: whole))
    }
  }

  @Test func `media data may be stepped over`() throws {
    var scan = try scan()
    for chunk in Self.chunks {
      let moof = chunk.count - Int(chunk.count - (chunk.firstRange(of: Array("mdat".utf8))?.upperBound ?? 0))
      scan.feed(Array(chunk[..<moof]))
      #expect(scan.skippable == UInt64(chunk.count - moof))
      scan.skip(scan.skippable)
    }
    #expect(scan.wholeChunks == 3)
    #expect(scan.wholeLength == UInt64(Self.chunks.flatMap(\.self).count))
  }

  @Test func `other boxes between chunks are passed over`() throws {
    var scan = try scan()
    let bytes = box("styp", [1, 2, 3, 4]) + Self.chunks[0] + box("free", [0, 0]) + Self.chunks[1]
    scan.feed(bytes)
    #expect(scan.wholeChunks == 2)
    #expect(scan.wholeLength == UInt64(bytes.count))
  }

  @Test func `zeros that a power cut left behind end the scan at the last whole chunk`() throws {
    var scan = try scan()
    scan.feed(Self.chunks[0] + [UInt8](repeating: 0, count: 4_096))
    #expect(scan.failure != nil)
    #expect(scan.wholeLength == UInt64(Self.chunks[0].count))
    scan.feed(Self.chunks[1])
    #expect(scan.wholeChunks == 1)
  }

  @Test func `a 64-bit box size is read`() throws {
    var scan = try scan()
    let chunk = Self.chunks[0]
    let boundary = try #require(chunk.firstRange(of: Array("mdat".utf8))).lowerBound - 4
    let payload = chunk[(boundary + 8)...]
    let large = be32(1) + Array("mdat".utf8) + be64(UInt64(payload.count + 16)) + payload
    scan.feed(chunk[..<boundary] + large)
    #expect(scan.wholeChunks == 1)
    #expect(scan.wholeLength == UInt64(chunk.count + 8))
  }

  @Test(
    arguments: [
      be32(0) + Array("mdat".utf8), be32(4) + Array("mdat".utf8), be32(1) + Array("mdat".utf8) + be64(3),
      be32(1) + Array("mdat".utf8) + be64(.max), box("mdat", [1, 2, 3]),
      be32(Int(UInt32.max)) + Array("moof".utf8), box("moof", box("traf")), box("moof", [1, 2, 3]),
      box("moof", box("traf", fullBox("tfhd", be32(9)))),
      box("moof", box("traf", fullBox("tfhd", be32(1)), fullBox("tfdt", version: 1, be64(.max)))),
      box("moof", box("traf", fullBox("tfhd", be32(1)), fullBox("trun", flags: 0x100, be32(Int(UInt32.max))))),
      box("moof") + box("moof"),
    ] as [[UInt8]])
  func `bytes that break the format stop the scan and say why`(bytes: [UInt8]) throws {
    var scan = try scan()
    scan.feed(bytes)
    #expect(scan.failure != nil)
    #expect(scan.wholeLength == 0)
  }

  @Test func `samples without fields of their own take the defaults`() throws {
    let track = TrackBytes(defaultDuration: 1_024, defaultSize: 9, defaultFlags: 0x1_0000)
    var scan = ChunkScan(try InitSection(parsing: initSectionBytes([track])))
    let traf = box("traf", fullBox("tfhd", be32(1)), fullBox("trun", be32(Int(UInt32.max))))
    scan.feed(box("moof", traf) + box("mdat"))
    let span = try #require(scan.tracks.first)
    #expect(span.samples == UInt64(UInt32.max))
    #expect(span.duration == UInt64(UInt32.max) * 1_024)
    #expect(!span.startsWithSync)
  }

  @Test func `damaged bytes never trap and never count more than they are`() throws {
    var random = SplitMix(seed: 0x5E61)
    let good = Self.chunks.flatMap(\.self)
    for _ in 0..<4_000 {
      var bytes = good
      for _ in 0..<random.next(below: 6) + 1 {
        switch random.next(below: 4) {
        case 0: bytes[random.next(below: bytes.count)] = UInt8(truncatingIfNeeded: random.next())
        case 1: bytes[random.next(below: bytes.count)] = [0, 0xFF, 0x7F, 0x80][random.next(below: 4)]
        case 2: bytes.removeSubrange(random.next(below: bytes.count)...)
        default: bytes.insert(contentsOf: be32(Int(random.next() & 0xFFFF_FFFF)), at: random.next(below: bytes.count))
        }
        if bytes.isEmpty { bytes = good }
      }
      var scan = try scan()
      var offset = 0
      while offset < bytes.count {
        if random.next(below: 3) == 0, scan.skippable > 0 {
          let step = min(Int(clamping: scan.skippable), bytes.count - offset)
          scan.skip(UInt64(step))
          offset += step
        } else {
          let end = min(bytes.count, offset + random.next(below: 64) + 1)
          scan.feed(Array(bytes[offset..<end]))
          offset = end
        }
      }
      #expect(scan.wholeLength <= scan.position)
      #expect(scan.position <= UInt64(bytes.count))
      _ = scan.tracks.ticks
    }
  }
}

/// A small random generator with a fixed seed (splitmix64), so that a failure can be seen again.
struct SplitMix {
  private var state: UInt64

  init(seed: UInt64) {
    state = seed
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  mutating func next(below bound: Int) -> Int { Int(next() % UInt64(bound)) }
}
