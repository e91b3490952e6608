import Testing

@testable import Origin

@Suite struct `Sound of pieces` {
  /// A piece whose sound begins `priming` samples before it and holds `content` samples, padded to whole frames.
  private static func sources(priming: Int64, content: Int64, frame: Int64 = 1024) -> [PieceSound.Source] {
    stride(from: -priming, to: content, by: Int(frame)).map { PieceSound.Source(time: $0, length: frame) }
  }

  private static func piece(_ content: Int64, at moved: Int64, frame: Int64 = 1024) -> PieceSound {
    PieceSound(frame: frame, overlaps: true, content: 0..<content, moved: moved)
  }

  private func place(
    _ piece: PieceSound, _ sources: [PieceSound.Source], after before: PieceSound.Before?
  ) -> (taken: [PieceSound.Taken], left: PieceSound.Before?) {
    let taken = piece.place(sources, after: before)
    let left = taken.last.map { last in
      let source = sources[last.index]
      return PieceSound.Before(end: last.time + source.length, heard: piece.moved + piece.content.upperBound)
    }
    return (taken, left)
  }

  /// Priming as ffmpeg's, fdk's and Apple's encoders have it; pieces whose sound is as long as their pictures, shorter and
  /// longer.
  @Test(arguments: [1024, 1600, 2048, 2112] as [Int64], [0, 441, -1023] as [Int64])
  func `goes on from piece to piece without silence and without drift`(priming: Int64, difference: Int64) throws {
    let pictures: Int64 = 88_200
    let sources = Self.sources(priming: priming, content: pictures + difference)
    var before: PieceSound.Before?
    for number in 0..<500 as Range<Int64> {
      let piece = Self.piece(min(pictures, pictures + difference), at: number * pictures)
      // Restarts know only what lies on the disk.
      if number % 7 == 3 { before?.heard = nil }
      let (taken, left) = place(piece, sources, after: before)
      let first = try #require(taken.first)
      let last = try #require(taken.last)
      // Each frame once and in order, but for one step back.
      let steps = zip(taken, taken.dropFirst()).map { $1.index - $0.index }.filter { $0 != 1 }
      try #require(steps.count <= 1 && steps.allSatisfy { (-3...0).contains($0) }, "\(number): \(steps)")
      try #require(first.time == before?.end ?? max(0, sources[first.index].time), "\(number)")
      try #require(zip(taken, taken.dropFirst()).allSatisfy { $0.time + 1024 == $1.time }, "\(number)")
      try #require(sources[first.index].time >= -448, "\(number)")
      try #require(sources[last.index].time + 1024 + 576 <= piece.content.upperBound, "\(number)")
      try #require(abs(last.time - sources[last.index].time - piece.moved) <= 512, "\(number)")
      before = left
    }
  }

  @Test func `is taken to its end where no piece follows`() throws {
    for content: Int64 in [96_000, 95_700, 95_300] {
      var piece = Self.piece(content, at: 0)
      piece.isLast = true
      let end = try #require(piece.place(Self.sources(priming: 1024, content: content), after: nil).last)
      #expect(abs(end.time + 1024 - content) <= 512)
    }
  }

  @Test func `leaves a hole of the source's own where it is longer than a frame`() throws {
    let pictures: Int64 = 96_000
    for hole: Int64 in [1_000, 1_100, 20_000] {
      let sources = Self.sources(priming: 1024, content: pictures - hole)
      let (_, left) = place(Self.piece(pictures - hole, at: 0), sources, after: nil)
      let first = try #require(place(Self.piece(pictures - hole, at: pictures), sources, after: left).taken.first)
      #expect(first.time == (hole > 1024 ? pictures : left?.end))
    }
  }

  @Test func `joins at frames without an edge, where there are some near`() throws {
    var sources = Self.sources(priming: 1024, content: 96_000)
    for index in [1, 2, 92, 93] { sources[index].isEven = false }
    let before = PieceSound.Before(end: 95_000, heard: 96_000)
    var taken = Self.piece(96_000, at: 96_000).place(sources, after: before)
    #expect(taken.first?.index == 3)
    #expect(taken.last?.index == 91)
    // Nothing is joined at the beginning.
    #expect(Self.piece(96_000, at: 0).place(sources, after: nil).first?.index == 1)
    for index in sources.indices { sources[index].isEven = false }
    taken = Self.piece(96_000, at: 96_000).place(sources, after: before)
    #expect(taken.first?.index == 1)
    #expect(taken.last?.index == 93)
  }

  @Test func `reaches not beyond what follows already`() {
    var piece = Self.piece(96_000, at: 96_000)
    piece.limit = 190_000
    piece.isLast = true
    let taken = piece.place(Self.sources(priming: 1024, content: 96_000), after: .init(end: 95_000, heard: 96_000))
    #expect(taken.last.map { $0.time + 1024 <= 190_000 && $0.time + 2048 > 190_000 } == true)
  }

  /// FLAC: no priming, and a last frame as long as what is left.
  @Test func `of codecs without overlap is taken as it is`() {
    let sources = stride(from: 0, to: 96_000, by: 4_608).map {
      PieceSound.Source(time: $0, length: min(4_608, 96_000 - $0))
    }
    let piece = PieceSound(frame: 4_608, overlaps: false, content: 0..<96_000, moved: 96_000)
    let taken = piece.place(sources, after: .init(end: 96_000, heard: 96_000))
    #expect(taken.map(\.index) == Array(sources.indices))
    #expect(taken.map(\.time) == sources.map { $0.time + 96_000 })
  }

  @Test(
    arguments: [
      ([0x00, 0xA8, 0x00], true), ([0x00, 0xA8, 0x40], false), ([0x00, 0xA8, 0x80], false),
      ([0x00, 0xA8, 0xC0], false),
      ([0x21, 0x00, 0xFF], true), ([0x21, 0x20, 0x00], false), ([0x21, 0x40, 0x00], false), ([0x20, 0xFF, 0x1F], true),
      ([0x20, 0x00, 0x20], false), ([0xC0, 0xFF, 0xFF], true), ([0x00], true),
    ] as [([UInt8], Bool)])
  func `knows a frame of one long transform by its head`(bytes: [UInt8], isEven: Bool) {
    #expect(PieceSound.Source.isEven(aac: bytes) == isEven)
  }
}
