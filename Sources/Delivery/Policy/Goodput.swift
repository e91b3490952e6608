/// How fast the peer takes what is sent, while there is something to send. Pure. Idle time does not count: a link that is
/// asked for little looks as wide as it is.
package struct Goodput: Sendable {
  package typealias Instant = ContinuousClock.Instant

  /// The busy time that is looked at: long enough to even out the pauses between segments.
  package let window: Duration

  private struct Sample {
    let busy: Duration
    let bytes: Int64
  }
  private var samples: [Sample] = []
  private var busyTotal: Duration = .zero
  private var byteTotal: Int64 = 0
  private var last: (at: Instant, taken: Int64)?

  package init(window: Duration = .seconds(10)) {
    self.window = window
  }

  /// Called regularly, and whenever `isBusy` changes.
  ///
  /// - Parameters:
  ///   - taken: bytes peers have taken since the start.
  ///   - isBusy: a transfer has been running since the last call.
  package mutating func observe(taken: Int64, isBusy: Bool, now: Instant) {
    defer { last = (now, taken) }
    guard let last else { return }
    // What was taken counts even when nothing runs any more: it came from a transfer that ended in between.
    let busy = isBusy ? max(.zero, now - last.at) : .zero
    let bytes = max(0, taken - last.taken)
    guard busy > .zero || bytes > 0 else { return }
    samples.append(Sample(busy: busy, bytes: bytes))
    busyTotal += busy
    byteTotal += bytes
    while samples.count > 1, let first = samples.first, busyTotal - first.busy >= window {
      busyTotal -= first.busy
      byteTotal -= first.bytes
      samples.removeFirst()
    }
  }

  /// Bits a second; nil until a tenth of the window has been busy.
  package var bitsPerSecond: Double? {
    guard busyTotal >= window / 10 else { return nil }
    return Double(byteTotal) * 8 / busyTotal.seconds
  }

  /// Forgets what was: after the network has changed, it says nothing.
  package mutating func reset() {
    samples = []
    busyTotal = .zero
    byteTotal = 0
  }
}

extension Duration {
  var seconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) / 1e18
  }
}
