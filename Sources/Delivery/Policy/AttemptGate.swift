/// Whether another attempt may start now. Pure. While all is well it is only `parallel` that limits; while attempts fail
/// they start at least `spacing` apart in all, and one at a time where the server does not answer.
package struct AttemptGate: Sendable {
  package typealias Instant = ContinuousClock.Instant

  package let parallel: Int
  /// Two attempts a second in all, whatever fails.
  package var spacing: Duration = .milliseconds(500)

  package enum Health: Equatable, Sendable {
    case good
    /// The last answer was a failure.
    case failing
    /// The server, or the way to it, is not there.
    case unreachable
    /// Credentials or the address are wrong.
    case paused
  }
  package private(set) var health: Health = .good
  /// Failures in a row that say the server is not there, or that it refuses everything.
  package private(set) var failuresInARow = 0
  private var lastStart: Instant?
  /// Nothing starts before this.
  private var notBefore: Instant?

  package init(parallel: Int) {
    self.parallel = max(1, parallel)
  }

  /// Nil when an attempt may start now; else the earliest time to ask again, which is `distantFuture` when only the end of a
  /// running one can change anything.
  package enum Answer: Equatable, Sendable {
    case go
    case notBefore(Instant)
    case afterAnOutcome
  }

  package func ask(running: Int, now: Instant) -> Answer {
    let width = health == .unreachable || health == .paused ? 1 : parallel
    guard running < width else { return .afterAnOutcome }
    var earliest = notBefore
    if health != .good, let lastStart { earliest = max(earliest ?? lastStart, lastStart + spacing) }
    if let earliest, earliest > now { return .notBefore(earliest) }
    return .go
  }

  package mutating func started(now: Instant) { lastStart = now }

  package mutating func succeeded() {
    health = .good
    failuresInARow = 0
    notBefore = nil
  }

  /// One file failed; others may well go through.
  package mutating func failed() {
    if health == .good { health = .failing }
  }

  /// The server answered that everybody shall wait.
  package mutating func failed(everythingUntil instant: Instant) {
    if health != .paused { health = .failing }
    notBefore = max(notBefore ?? instant, instant)
  }

  /// Nobody answered, and the next probe is due at `instant`.
  package mutating func unreachable(until instant: Instant) {
    failuresInARow += 1
    health = .unreachable
    notBefore = instant
  }

  /// Everything was refused; the next attempt is due at `instant`.
  package mutating func paused(until instant: Instant) {
    failuresInARow += 1
    health = .paused
    notBefore = instant
  }

  /// Something has changed that makes an attempt worth its while now: the network, or the credentials.
  package mutating func retryNow() {
    notBefore = nil
    failuresInARow = 0
    if health == .unreachable || health == .paused { health = .failing }

  }
}
