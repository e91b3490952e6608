/// Tells a transfer that is slow from one that is dead. Pure: time and counters are arguments. Progress is what the peer
/// has taken, not what a socket's buffer holds; there is no limit on the whole.
package struct StallWatch: Sendable {
  /// Longest time without progress while connecting, sending, or reading a response.
  package let stallLimit: Duration
  /// Longest time between the last byte of the body and the first of the response: the server is writing it to disk.
  package let answerLimit: Duration

  private var progress: Int64 = -1
  private var lastProgress: ContinuousClock.Instant

  package init(stallLimit: Duration, answerLimit: Duration, now: ContinuousClock.Instant) {
    self.stallLimit = stallLimit
    self.answerLimit = answerLimit
    lastProgress = now
  }

  package enum Verdict: Equatable, Sendable { case alive, stalled }

  /// - Parameters:
  ///   - taken: bytes acknowledged by the peer so far; any growth is progress. It can shrink (a retry on another
  ///     connection starts from 0), which counts as progress too.
  ///   - received: response bytes so far.
  ///   - awaitsAnswer: the whole body has been taken.
  package mutating func observe(
    taken: Int64, received: Int64, awaitsAnswer: Bool, now: ContinuousClock.Instant
  ) -> Verdict {
    let sum = taken + received
    if sum != progress {
      progress = sum
      lastProgress = now
      return .alive
    }
    let limit = awaitsAnswer && received == 0 ? answerLimit : stallLimit
    return now - lastProgress >= limit ? .stalled : .alive
  }
}
