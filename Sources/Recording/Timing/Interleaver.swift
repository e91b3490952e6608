/// Merges tracks in the order of their times, so that what lies before a cut is there when the cut is made. Pure; the
/// elements are the caller's.
///
/// A sample leaves when every other track has a later one or has ended, when it has waited for `patience` of media, or when
/// more than `capacity` bytes wait.
package struct Interleaver<Element> {
  package struct Sample {
    package let track: Int
    /// 90 kHz ticks.
    package let time: Int64
    package let element: Element
  }

  private struct Track {
    var waiting: [(time: Int64, bytes: Int, element: Element)] = []
    var head = 0
    var latest: Int64?
    var hasEnded = false

    var first: (time: Int64, bytes: Int, element: Element)? { head < waiting.count ? waiting[head] : nil }

    mutating func removeFirst() -> (time: Int64, bytes: Int, element: Element) {
      let first = waiting[head]
      head += 1
      if head > 64 && head * 2 > waiting.count {
        waiting.removeFirst(head)
        head = 0
      }
      return first
    }
  }

  private let patience: Int64
  private let capacity: Int
  private var bytes = 0
  private var tracks: [Track]

  /// - Parameter patience: 90 kHz ticks.
  package init(tracks: Int, patience: Int64, capacity: Int = .max) {
    self.capacity = capacity
    self.tracks = Array(repeating: Track(), count: tracks)
    self.patience = patience
  }

  /// Samples of a track come in order.
  package mutating func add(_ element: Element, time: Int64, bytes: Int = 0, track: Int) {
    tracks[track].waiting.append((time, bytes, element))
    self.bytes += bytes
    tracks[track].latest = max(time, tracks[track].latest ?? time)
  }

  /// No more samples of this track will come.
  package mutating func end(track: Int) { tracks[track].hasEnded = true }

  package var isEmpty: Bool { tracks.allSatisfy { $0.first == nil } }
  package func hasEnded(track: Int) -> Bool { tracks[track].hasEnded }

  /// The next sample in order; nil when a track has to be waited for, or all is given out.
  package mutating func next() -> Sample? {
    var newest = Int64.min
    var chosen: (track: Int, time: Int64)?
    var isComplete = true
    for index in tracks.indices {
      newest = max(newest, tracks[index].latest ?? .min)
      if let first = tracks[index].first {
        if chosen.map({ first.time < $0.time }) ?? true { chosen = (index, first.time) }
      } else if !tracks[index].hasEnded {
        isComplete = false
      }
    }
    guard let chosen, isComplete || newest - chosen.time > patience || bytes > capacity else { return nil }
    return take(track: chosen.track)
  }

  /// The next sample of one track, out of order: what follows a cut in the other tracks.
  package mutating func take(track: Int) -> Sample? {
    guard tracks[track].first != nil else { return nil }
    let first = tracks[track].removeFirst()
    bytes -= first.bytes
    return Sample(track: track, time: first.time, element: first.element)
  }
}
