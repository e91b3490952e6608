package import HTTP

/// Decides what happens next in a delivery: what to send, when to try again, when to stop asking. Pure: time, chance,
/// listings and outcomes are arguments; `Uploader` acts.
package struct Dispatcher: Sendable {
  package typealias Instant = ContinuousClock.Instant

  package var plan: DeliveryPlan
  package private(set) var gate: AttemptGate
  package let policy: RetryPolicy
  /// Between attempts while the server refuses everything.
  package var pauseInterval: Duration = .seconds(30)
  package private(set) var running = 0

  package init(plan: DeliveryPlan, parallel: Int, policy: RetryPolicy = RetryPolicy()) {
    self.plan = plan
    self.policy = policy
    gate = AttemptGate(parallel: parallel)
  }

  package enum Step: Equatable, Sendable {
    case send(DeliveryPlan.Job)
    /// Nothing can start before this; nil when only an event can change anything.
    case wait(until: Instant?)
  }

  package mutating func step(now: Instant) -> Step {
    switch gate.ask(running: running, now: now) {
    case .afterAnOutcome: return .wait(until: nil)
    case .notBefore(let instant): return .wait(until: instant)
    case .go: break
    }
    guard let job = plan.next(now: now) else { return .wait(until: plan.earliestRetry(after: now)) }
    gate.started(now: now)
    running += 1
    return .send(job)
  }

  package enum Reaction: Equatable, Sendable {
    /// Acknowledged; `isRecovery` when it is the first success after failures.
    case delivered(isRecovery: Bool)
    /// The server has a file of that name: find out whether it is the same, then call `compared`. The job goes on running.
    case compare
    case retry(after: Duration)
    /// All wait; `isNews` when they did not before.
    case paused(isNews: Bool)
    case setAside
  }

  /// - Parameter jitter: uniform in 0..<1.
  package mutating func ended(
    _ job: DeliveryPlan.Job, _ outcome: TransferOutcome, jitter: Double, now: Instant
  ) -> Reaction {
    let decision = policy.decide(outcome, attempt: job.attempt, jitter: jitter)
    if decision == .compare { return .compare }
    running -= 1
    switch decision {
    case .delivered, .compare:
      let isRecovery = gate.health != .good
      gate.succeeded()
      plan.acknowledged(job.path)
      return .delivered(isRecovery: isRecovery)
    case .setAside:
      // An answer like any other: the server is there.
      gate.succeeded()
      plan.setAside(job.path)
      return .setAside
    case .pauseQueue:
      let isNews = gate.health != .paused
      gate.paused(until: now + pauseInterval)
      plan.failed(job.path, notBefore: now)
      return .paused(isNews: isNews)
    case .retry(let delay, let scope): return retry(job, delay, scope, jitter, now)
    }
  }

  private mutating func retry(
    _ job: DeliveryPlan.Job, _ delay: Duration, _ scope: RetryPolicy.Scope, _ jitter: Double, _ now: Instant
  ) -> Reaction {
    switch scope {
    case .file:
      gate.failed()
      plan.failed(job.path, notBefore: now + delay)
      return .retry(after: delay)
    case .everything:
      gate.failed(everythingUntil: now + delay)
      plan.failed(job.path, notBefore: now + delay)
      return .retry(after: delay)
    case .server:
      // Who waits for the server waits for its next probe, whatever number of attempts each file has had.
      let wait = policy.backoff(attempt: gate.failuresInARow + 1, jitter: jitter)
      gate.unreachable(until: now + wait)
      plan.failed(job.path, notBefore: now)
      return .retry(after: wait)
    }
  }

  /// What the comparison of `compare` showed. Nil: it could not be made.
  package mutating func compared(
    _ job: DeliveryPlan.Job, isSame: Bool?, jitter: Double, now: Instant
  ) -> Reaction {
    running -= 1
    guard let isSame else {
      gate.failed()
      let delay = policy.backoff(attempt: job.attempt, jitter: jitter)
      plan.failed(job.path, notBefore: now + delay)
      return .retry(after: delay)
    }
    let isRecovery = gate.health != .good
    gate.succeeded()
    if isSame {
      plan.acknowledged(job.path)
      return .delivered(isRecovery: isRecovery)
    }
    plan.setAside(job.path)
    return .setAside
  }

  /// The job could not be started: its file has left its place.
  package mutating func vanished(_ job: DeliveryPlan.Job) {
    running -= 1
    plan.vanished(job.path)
  }

  /// The network or the credentials have changed.
  package mutating func retryNow() {
    gate.retryNow()
    plan.retryNow()
  }
}
