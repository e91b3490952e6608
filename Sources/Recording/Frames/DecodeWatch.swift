/// Notices that nothing of what a live source sends can be decoded any more: it has changed its codec without a word, or
/// what it sends is encrypted. A decoder makes something of another codec's packets now and then, too.
struct DecodeWatch {
  /// Packets that say nothing yet: decoders hold some back.
  private static let few = 25
  /// Packets one after the other of which something came, after which all is well.
  private static let enough = 4

  /// Nil waits for ever.
  let patience: Duration?
  private var packets = 0
  private var began: ContinuousClock.Instant?
  private var inARow = 0
  private var hasProduced = true

  init(patience: Duration?) { self.patience = patience }

  /// A packet came at `now`.
  ///
  /// - Returns: how long hardly anything has been decoded, where that is too long.
  mutating func take(at now: ContinuousClock.Instant) -> Duration? {
    packets += 1
    if !hasProduced { inARow = 0 }
    hasProduced = false
    let began = began ?? now
    self.began = began
    guard let patience, packets > Self.few, now - began >= patience else { return nil }
    return now - began
  }

  /// Something was decoded.
  mutating func produce() {
    inARow += 1
    hasProduced = true
    if inARow >= Self.enough || inARow >= packets { forget() }
  }

  /// What was before says nothing of what comes.
  mutating func forget() {
    packets = 0
    began = nil
  }
}

extension RecordingError {
  static func undecodable(_ codec: String, for time: Duration) -> RecordingError {
    RecordingError(.unavailable, "what comes as \(codec) could not be decoded for \(time.components.seconds) s")
  }
}
