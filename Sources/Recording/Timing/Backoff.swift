/// How long to wait before a live input is opened again. Pure; chance is an argument.
package struct Backoff: Equatable, Sendable {
  package static let first: Duration = .milliseconds(500)
  package static let most: Duration = .seconds(30)
  /// An input that lasted so long was well: the next outage begins anew.
  package static let recovery: Duration = .seconds(60)

  private var attempts = 0

  package init() {}

  /// - Parameters:
  ///   - lasted: how long the input gave media before it failed; zero when it could not be opened.
  ///   - jitter: uniform in 0..<1; half of each wait is chance, so that many recorders do not come at once.
  package mutating func wait(afterLasting lasted: Duration, jitter: Double) -> Duration {
    if lasted >= Self.recovery { attempts = 0 }
    let full = min(Self.most, Self.first * (1 << min(attempts, 10)))
    attempts += 1
    return full / 2 + full / 2 * jitter
  }
}
