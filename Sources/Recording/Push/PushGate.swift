/// Which packets go to a receiver that may be slower than the recording. When the queue to it is full, everything is
/// dropped up to a packet at which decoding can start, and until half of the queue is free: the receiver loses some
/// seconds, never a reference. Pure.
package struct PushGate: Equatable, Sendable {
  /// Packets queued that are too many.
  package let capacity: Int
  /// Bytes queued that are too many.
  package let byteCapacity: Int
  private var isOpen = false
  /// Where the packets begin that are being dropped for want of room; nil while none are.
  private var gapStart: Int64?

  package enum Decision: Equatable, Sendable {
    case pass
    /// Passes, and ends a gap of so many 90 kHz ticks.
    case passAfter(gap: Int64)
    case drop
  }

  package init(capacity: Int, byteCapacity: Int) {
    self.capacity = capacity
    self.byteCapacity = byteCapacity
  }

  /// - Parameters:
  ///   - time: of the packet, in ticks.
  ///   - canStart: decoding can start with it.
  ///   - queued: packets that wait, and their bytes.
  package mutating func admit(at time: Int64, canStart: Bool, queued: Int, bytes: Int) -> Decision {
    if isOpen {
      if queued < capacity && bytes < byteCapacity { return .pass }
      isOpen = false
      gapStart = time
      return .drop
    }
    guard canStart, queued * 2 <= capacity, bytes * 2 <= byteCapacity else { return .drop }
    isOpen = true
    guard let start = gapStart else { return .pass }
    gapStart = nil
    return .passAfter(gap: max(0, time - start))
  }
}
