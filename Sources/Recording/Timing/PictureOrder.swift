/// Gives pictures whose container tells no presentation times one: they come in the order of decoding, and are shown in
/// that of their picture order count, in the same rhythm. Pure.
///
/// A picture's turn is known when as many wait as a decoder may hold back at the most, or when the count begins anew. Of
/// pictures whose time is known that time is kept, and those around it follow.
package struct PictureOrder: Sendable {
  private struct Picture {
    let count: Int
    var pts: Int64?
    var hasTurn = false
  }

  /// Pictures a decoder can hold back (ITU-T H.264 §A.3.1 h, H.265 §A.4.2).
  private static let most = 16

  /// In the order of decoding.
  private var pictures: [Picture] = []
  private var waiting = 0
  /// Decode times that no shown picture has taken yet, in order.
  private var slots: [Int64] = []
  /// By how much known presentation times lie behind their slots.
  private var shift: Int64 = 0
  /// Of the pictures shown and of all, since the count began.
  private var lastCount: Int?
  private var highest = 0

  package init() {}

  /// Takes the next picture in the order of decoding.
  ///
  /// - Parameters:
  ///   - count: picture order count; nil when it cannot be read: shown after those before it.
  ///   - startsSequence: the count begins anew (IDR).
  ///   - slot: its decode time, known or counted.
  package mutating func add(count: Int?, startsSequence: Bool, pts: Int64?, slot: Int64) {
    let count = count ?? highest + 1
    // What has been shown cannot be shown before: the count began anew without an IDR picture (H.264 §8.2.1, MMCO 5).
    if startsSequence || lastCount.map({ count < $0 }) ?? false {
      finish()
      lastCount = nil
      highest = count
    }
    highest = max(highest, count)
    pictures.append(Picture(count: count, pts: pts))
    slots.append(slot)
    waiting += 1
    if waiting > Self.most { showNext() }
  }

  /// The picture taken last, which must be waiting, is decoded at another time, and when it is shown is not known.
  package mutating func moveLast(by shift: Int64) {
    guard let last = pictures.indices.last, !pictures[last].hasTurn, !slots.isEmpty else { return }
    slots[slots.count - 1] += shift
    pictures[last].pts = nil
  }

  /// No more pictures: all have their turn.
  package mutating func finish() { while waiting > 0 { showNext() } }

  /// The presentation time of the picture decoded first of those not given out; nil when it is not known yet.
  package mutating func next() -> Int64? {
    guard let first = pictures.first, first.hasTurn else { return nil }
    pictures.removeFirst()
    return first.pts
  }

  private mutating func showNext() {
    var chosen: Int?
    for index in pictures.indices where !pictures[index].hasTurn {
      if chosen.map({ pictures[index].count < pictures[$0].count }) ?? true { chosen = index }
    }
    guard let chosen else { return waiting = 0 }
    let slot = slots.removeFirst()
    if let pts = pictures[chosen].pts { shift = pts - slot }
    pictures[chosen].pts = slot + shift
    pictures[chosen].hasTurn = true
    lastCount = pictures[chosen].count
    waiting -= 1
  }
}
