import TestKit
import Testing

@testable import HLS

@Suite struct `Decode times` {
  private let chunks = [
    chunkBytes(decodeTime: 900_000, [SampleBytes(), SampleBytes(isSync: false)]),
    chunkBytes(decodeTime: 907_200, [SampleBytes(size: 7, isSync: false)]),
  ].flatMap(\.self)
  private let initSection: InitSection

  init() throws { initSection = try InitSection(parsing: initSectionBytes([TrackBytes()])) }

  /// - Returns: how many bytes were asked for.
  @discardableResult
  private func feed(_ move: inout DecodeTimeMove, _ bytes: [UInt8]) throws -> Int {
    var count = 0
    while let part = move.wanted, part.lowerBound < bytes.count {
      let piece = Array(bytes[part.clamped(to: 0..<Int64(bytes.count)).map(Int.init)])
      count += piece.count
      try move.feed(piece)
    }
    return count
  }

  @Test func `are moved in every chunk, and nothing else is read or changed`() throws {
    var move = DecodeTimeMove(initSection, by: 90_000 * 3_600)
    #expect(try feed(&move, chunks) < chunks.count)
    #expect(move.changes.count == 2)
    var moved = chunks
    for change in move.changes {
      moved.replaceSubrange(Int(change.offset)..<Int(change.offset) + change.bytes.count, with: change.bytes)
    }
    var scan = ChunkScan(initSection)
    scan.feed(moved)
    let span = try #require(scan.tracks.first)
    let hour = UInt64(span.timescale) * 3_600
    #expect(span.firstDecodeTime == 900_000 + hour)
    #expect(span.duration + 900_000 + hour == span.endDecodeTime)
    #expect(zip(chunks, moved).count { $0 != $1 } <= 16)
  }

  @Test(arguments: [1 << 42, Int64.max])
  func `of a track with an absurd timescale move or are refused`(ticks: Int64) throws {
    let initSection = initSectionBytes([TrackBytes(timescale: 0xFFFF_FFFF)])
    var move = DecodeTimeMove(try InitSection(parsing: initSection), by: ticks)
    if ticks == .max {
      #expect(throws: MediaFormatError.self) { try feed(&move, chunks) }
    } else {
      try feed(&move, chunks)
      #expect(move.changes.count == 2)
    }
  }

  @Test func `of damaged bytes are refused or left alone, never read out of bounds`() throws {
    var random = SeededRandom(7)
    for _ in 0..<2_000 {
      var bytes = chunks
      for _ in 0..<4 {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      var move = DecodeTimeMove(initSection, by: 1)
      do {
        try feed(&move, Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random))))
      } catch is MediaFormatError {}
      #expect(move.changes.allSatisfy { $0.offset >= 0 && $0.offset + 8 <= bytes.count })
    }
  }
}

extension Range<Int64> {
  fileprivate func map(_ body: (Int64) -> Int) -> Range<Int> { body(lowerBound)..<body(upperBound) }
}
