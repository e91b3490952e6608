import HLS

/// One quality of a ladder (`--ladder`): a rendition of the programme with a picture of that size and the programme's
/// sound. Pure.
package struct Rung: Equatable, Sendable {
  /// Pixels of the picture's shorter side: the height of one that lies, the width of one that stands.
  package let side: Int
  /// Bits per second of the picture; nil chooses by size and frame rate.
  package var bitRate: Int64?

  /// As many as may be asked for: each has an encoder of its own.
  package static let mostOfThem = 6
  package static let sides = 64...4320

  package init(side: Int, bitRate: Int64? = nil) {
    self.side = side
    self.bitRate = bitRate
  }

  /// The rendition of a rung below the highest, which is `main`.
  var rendition: RenditionName { RenditionName("\(side)p") ?? .main }

  /// What a picture can be had in. Nothing is scaled up: rungs above the picture are left out, and where that would cost
  /// an eighth of it or more, the picture as it is leads, with what the lowest of them was to spend.
  ///
  /// - Parameters:
  ///   - ladder: highest first, each side once.
  ///   - side: the picture's shorter side.
  /// - Returns: at least one; highest first.
  package static func fitting(_ ladder: [Rung], side: Int) -> (rungs: [Rung], leftOut: [Rung]) {
    let leftOut = ladder.filter { $0.side > side }
    var rungs = Array(ladder.dropFirst(leftOut.count))
    if let lowest = leftOut.last, (rungs.first?.side ?? 0) * 8 <= side * 7 {
      rungs.insert(Rung(side: side, bitRate: lowest.bitRate), at: 0)
    }
    return (rungs, leftOut)
  }
}
