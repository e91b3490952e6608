/// Notices that nothing of what a live source sends can be decoded any more: it has changed its codec without a word, or
/// what it sends is encrypted.
struct DecodeWatch {
  /// Packets that say nothing yet: decoders hold some back.
  private static let few = 25

  /// Nil waits for ever.
  let patience: Duration?
  private var packets = 0
  private var began: ContinuousClock.Instant?

  init(patience: Duration?) { self.patience = patience }

  /// A packet came at `now`.
  ///
  /// - Returns: how long nothing has been decoded, where that is too long.
  mutating func take(at now: ContinuousClock.Instant) -> Duration? {
    packets += 1
    let began = began ?? now
    self.began = began
    guard let patience, packets > Self.few, now - began >= patience else { return nil }
    return now - began
  }

  /// Something was decoded.
  mutating func produce() {
    packets = 0
    began = nil
  }
}

extension RecordingError {
  static func undecodable(_ codec: String, for time: Duration) -> RecordingError {
    RecordingError(.unavailable, "what comes as \(codec) could not be decoded for \(time.components.seconds) s")
  }
}
