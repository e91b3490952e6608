/// Which frames of one piece's sound are taken, and where they go. Pure; all times in samples.
///
/// The sound between two pieces is no whole number of frames, and the frames at the join hold silence: the encoder's
/// priming before a piece, its padding behind. So a frame is taken only where it holds sound beyond the middle of its
/// overlap with what it now follows or is followed by; there the two pieces fade into each other. What this costs is made
/// up for by giving real frames twice, as decoders do for frames that were lost.
struct PieceSound {
  /// A frame as it lies in its piece.
  struct Source: Equatable {
    /// Of its first sample out of the decoder; 0 is where the piece begins.
    var time: Int64
    var length: Int64
    /// Whether it fades evenly into any other frame like it; a frame with an edge in it does not.
    var isEven = true
  }

  /// A frame that is taken: which one, and where it goes in the run.
  struct Taken: Equatable {
    var index: Int
    var time: Int64
  }

  /// What the piece before has left.
  struct Before: Equatable {
    /// Where its last frame ends in the run.
    var end: Int64
    /// Where its sound ended in the source, as the run's time goes; nil where that is not known.
    var heard: Int64?
  }

  /// Usual length of a frame.
  var frame: Int64
  /// Whether each frame fades into the next one over its whole length (AAC's transform, ISO 14496-3 §4.6.11).
  var overlaps: Bool
  /// What the piece holds beside priming and padding, in its own time.
  var content: Range<Int64>
  /// From the piece's own time to the run's.
  var moved: Int64
  /// Nothing reaches beyond it in the run.
  var limit: Int64 = .max
  /// No other piece fades in behind this one, so its sound is taken to the end.
  var isLast = false

  /// Frames that are given up at most for an even one.
  private static let patience: Int64 = 4

  /// The frames that are taken, so that sound goes on from `before` without silence and lies within half a frame of where
  /// the piece has it. After a hole of the source's own that is longer than a frame, and at the beginning (nil), it lies
  /// where the piece has it.
  func place(_ sources: [Source], after before: Before?) -> [Taken] {
    var next = before?.end
    if let before {
      let heard = before.heard ?? before.end + PieceSound.patience * frame
      if moved + content.lowerBound - heard > frame { next = nil }
    }
    let held = usable(sources, joins: next != nil)
    guard let first = held.first.map({ sources[$0] }) else { return [] }
    var repeats = next.map { Int(max(0, first.time + moved - $0 + frame / 2) / frame) } ?? 0
    var taken: [Taken] = []
    var place = held.startIndex
    while place < held.endIndex {
      let index = held[place]
      place += 1
      let source = sources[index]
      let ideal = source.time + moved - Int64(repeats) * frame
      if let next, ideal + frame / 2 < next { continue }
      let at = if let next, abs(ideal - next) <= frame { next } else { max(ideal, before?.end ?? 0) }
      guard !isLast || at + frame / 2 < moved + content.upperBound, at + source.length <= limit else { break }
      taken.append(Taken(index: index, time: at))
      next = at + source.length
      // In one step, so that there is only one more place where a frame follows another than in the piece.
      if repeats > 0, taken.count > repeats {
        place -= repeats
        repeats = 0
      }
    }
    return taken
  }

  /// Those that hold sound as far as it is heard.
  private func usable(_ sources: [Source], joins: Bool) -> Range<Int> {
    // An overlap with silence may be a short one about the middle of the frame: sound must reach beyond that.
    let edge = frame / 16
    let lead = overlaps ? frame / 2 - edge : edge
    let reach = overlaps ? frame / 2 + edge : 0
    var first = sources.firstIndex { content.lowerBound - $0.time <= lead } ?? sources.count
    var end =
      isLast ? sources.count : 1 + (sources.lastIndex { $0.time + $0.length + reach <= content.upperBound } ?? -1)
    if joins {
      first = sources.prefix(first + Int(PieceSound.patience)).dropFirst(first).firstIndex(where: \.isEven) ?? first
    }
    if !isLast, let even = sources.prefix(end).suffix(Int(PieceSound.patience)).lastIndex(where: \.isEven) {
      end = even + 1
    }
    return first..<max(first, end)
  }
}

extension PieceSound.Source {
  /// Whether a frame of AAC is one long transform (`ONLY_LONG_SEQUENCE`, ISO 14496-3 tables 4.4, 4.5, 4.6 and 4.50), which
  /// may follow and be followed by another; true where another element comes first.
  static func isEven(aac bytes: [UInt8]) -> Bool {
    guard bytes.count > 2 else { return true }
    switch bytes[0] >> 5 {
    case 0: return bytes[2] & 0xC0 == 0
    case 1: return (bytes[0] & 1 == 1 ? bytes[1] : bytes[2]) & 0x60 == 0
    default: return true
    }
  }
}
