import Platform

/// Sound that waits to be laid over other sound: stereo samples, each at its place. One thread puts them in, another takes
/// them; what is behind is forgotten.
final class SampleStore: Sendable {
  /// Left and right, of one length.
  typealias Stereo = (left: [Float], right: [Float])

  private let state: Monitor<State>
  private let capacity: Int64
  private let waits: Bool

  private struct State {
    var left: [Float]
    var right: [Float]
    /// Places of the first sample kept and of the one behind the last; nil before the first of all.
    var kept: Range<Int64>?
    var isClosed = false
    /// Up to there samples have been given away; those that come later are lost.
    var taken: Int64 = 0

    mutating func set(_ place: Int64, _ left: Float, _ right: Float) {
      let slot = Int(place % Int64(self.left.count))
      self.left[slot] = left
      self.right[slot] = right
    }
  }

  /// - Parameters:
  ///   - capacity: samples kept at most.
  ///   - waits: whoever puts samples in waits for room, and whoever takes them waits for them, from place 0 on: for sound
  ///     that comes from a file. Else the oldest samples go.
  init(capacity: Int, waits: Bool) {
    self.capacity = Int64(capacity)
    self.waits = waits
    let empty = [Float](repeating: 0, count: capacity)
    state = Monitor(State(left: empty, right: empty, kept: waits ? 0..<0 : nil))
  }

  /// Nothing more comes, and nobody waits any longer.
  func close() { state.withLock { $0.isClosed = true } }

  /// Keeps samples, the first of which lies at `place`, at least 0. A place that is taken stays as it is, a hole before
  /// them is silence.
  ///
  /// - Returns: by how many samples they are too late, or 0.
  @discardableResult
  func put(_ sound: Stereo, at place: Int64) -> Int64 {
    let size = capacity
    let end = place + Int64(sound.left.count)
    guard !sound.left.isEmpty, end - place <= size else { return 0 }
    if waits {
      let isOpen = state.wait { $0.isClosed ? false : end - ($0.kept?.lowerBound ?? 0) <= size ? true : nil }
      guard isOpen == true else { return 0 }
    }
    return state.withLock { state in
      let late = waits ? 0 : max(0, state.taken - max(place, state.kept?.upperBound ?? place))
      var kept = state.kept ?? place..<place
      if place - kept.upperBound > size { kept = place..<place }
      if place > kept.upperBound {
        for hole in kept.upperBound..<place { state.set(hole, 0, 0) }
        kept = kept.lowerBound..<place
      }
      if end > kept.upperBound {
        for spot in kept.upperBound..<end {
          state.set(spot, sound.left[Int(spot - place)], sound.right[Int(spot - place)])
        }
        kept = kept.lowerBound..<end
      }
      state.kept = max(kept.lowerBound, kept.upperBound - size)..<kept.upperBound
      return late
    }
  }

  /// The samples at `place` and behind; what is not there is silence.
  ///
  /// - Parameter isLate: they are not waited for.
  /// - Returns: nil when samples are missing that may still come.
  func take(_ count: Int, at place: Int64, isLate: Bool) -> Stereo? {
    let end = place + Int64(count)
    if waits { _ = state.wait { $0.isClosed || $0.kept?.upperBound ?? 0 >= end ? true : nil } }
    return state.withLock { state in
      let kept = state.kept ?? end..<end
      guard waits || isLate || state.isClosed || state.kept?.upperBound ?? .min >= end else { return nil }
      state.taken = max(state.taken, end)
      var sound = Stereo([Float](repeating: 0, count: count), [Float](repeating: 0, count: count))
      for spot in kept.clamped(to: place..<end) {
        let slot = Int(spot % Int64(state.left.count))
        sound.left[Int(spot - place)] = state.left[slot]
        sound.right[Int(spot - place)] = state.right[slot]
      }
      if waits, end > kept.lowerBound { state.kept = min(end, kept.upperBound)..<kept.upperBound }
      return sound
    }
  }
}
