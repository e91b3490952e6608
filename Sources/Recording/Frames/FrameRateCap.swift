package import LibAV

/// Puts frames on a steady grid and drops those that are too many: each slot of the grid takes one frame.
///
/// Frames that come a little early or late, as captures do, take the next free slot as long as that moves them by at most
/// 0.6 of a slot; so jitter around a slot's border neither drops nor doubles frames.
package struct FrameRateCap: Equatable, Sendable {
  /// Frames per second of the grid.
  package private(set) var rate: RationalTime
  /// Frames dropped because they were too many.
  package private(set) var dropped = 0

  /// Time of slot 0; a changed rate begins another grid.
  private var anchor: Int64 = 0
  private var last: Int64?

  package init(rate: RationalTime) { self.rate = rate }

  /// Length of a slot in 90 kHz ticks, rounded.
  package var slotLength: Int64 { max(1, rate.inverse.convert(1, to: .ticks)) }

  /// The time at which the frame is to be shown; nil when it has to go.
  ///
  /// - Parameter time: 90 kHz ticks since the run's origin.
  package mutating func admit(_ time: Int64) -> Int64? {
    guard let last else {
      anchor = time
      self.last = 0
      return time
    }
    // Fifths of a slot, so that all is integer.
    let position = fifths(time)
    let ahead = position - last * 5
    guard ahead >= 2 else {
      dropped += 1
      return nil
    }
    let slot = ahead < 8 ? last + 1 : (position * 2 + 5).flooredDivision(by: 10)
    self.last = slot
    return self.time(of: slot)
  }

  /// Marks the slots up to `time` as taken: something else was shown there.
  package mutating func occupy(_ time: Int64) {
    guard let last else { return }
    self.last = max(last, (fifths(time) * 2 + 5).flooredDivision(by: 10))
  }

  /// Goes on at another rate from the next frame on.
  package mutating func change(to rate: RationalTime) {
    guard rate != self.rate else { return }
    if let last {
      anchor = time(of: last)
      self.last = 0
    }
    self.rate = rate
  }

  private func fifths(_ time: Int64) -> Int64 {
    RationalTime.ticks.convert((time - anchor) * 5, to: rate.inverse, rounding: .down)
  }

  private func time(of slot: Int64) -> Int64 { anchor + rate.inverse.convert(slot, to: .ticks) }
}

extension Int64 {
  func flooredDivision(by divisor: Int64) -> Int64 {
    let quotient = self / divisor
    return self % divisor < 0 ? quotient - 1 : quotient
  }
}
