import HTTP
import Testing

@testable import Delivery

private func outcome(status: Int? = nil, failure: TransferOutcome.Failure? = nil, retryAfter: Duration? = nil)
  -> TransferOutcome
{
  var outcome = TransferOutcome()
  outcome.status = status
  outcome.failure = failure
  outcome.retryAfter = retryAfter
  return outcome
}

@Suite struct `Retry policy` {
  let policy = RetryPolicy()

  @Test(arguments: [200, 201, 202, 204, 299])
  func `a 2xx read to its end is delivered, and a cut one is not`(status: Int) {
    #expect(policy.decide(outcome(status: status), attempt: 1, jitter: 0) == .delivered)
    #expect(policy.decide(outcome(status: status, failure: .badResponse), attempt: 1, jitter: 0) != .delivered)
  }

  @Test(arguments: [301, 302, 307, 308, 401, 402, 403, 404, 405, 407, 410, 501, 505])
  func `what concerns every file pauses the queue`(status: Int) {
    #expect(policy.decide(outcome(status: status), attempt: 9, jitter: 0.5) == .pauseQueue)
  }

  @Test(arguments: [400, 409, 411, 413, 414, 415, 422, 431, 451])
  func `what concerns one file sets it aside`(status: Int) {
    #expect(policy.decide(outcome(status: status), attempt: 1, jitter: 0.5) == .setAside)
  }

  @Test(arguments: [408, 425, 429, 500, 502, 503, 504, 507, 599])
  func `what may pass is tried again`(status: Int) {
    guard case .retry = policy.decide(outcome(status: status), attempt: 1, jitter: 0.5) else {
      Issue.record("\(status) is not tried again")
      return
    }
  }

  @Test(
    arguments: [
      (.unresolved, .server), (.unreachable, .server), (.stalled, .server), (.interrupted, .file),
      (.badResponse, .file),
      (.unreadableBody, .file), (.cancelled, .file),
    ] as [(TransferOutcome.Failure, RetryPolicy.Scope)])
  func `no failure of the network is final`(failure: TransferOutcome.Failure, expected: RetryPolicy.Scope) {
    guard case .retry(_, let scope) = policy.decide(outcome(failure: failure), attempt: 1000, jitter: 0.9) else {
      Issue.record("\(failure) is not tried again")
      return
    }
    #expect(scope == expected)
  }

  @Test(arguments: [TransferOutcome.Failure.untrusted, .misconfigured])
  func `a certificate or a setting concerns every file`(failure: TransferOutcome.Failure) {
    #expect(policy.decide(outcome(failure: failure), attempt: 1, jitter: 0) == .pauseQueue)
  }

  @Test(arguments: [(1, 500), (2, 1000), (3, 2000), (6, 16_000), (7, 30_000), (8, 30_000), (1_000_000, 30_000)])
  func `the backoff doubles from half a second to half a minute`(attempt: Int, milliseconds: Int) {
    #expect(policy.backoff(attempt: attempt, jitter: 1) == .milliseconds(milliseconds))
    #expect(policy.backoff(attempt: attempt, jitter: 0) == .zero)
  }

  @Test func `Retry-After is waited for, by all, and not for ever`() {
    #expect(
      policy.decide(outcome(status: 503, retryAfter: .seconds(7)), attempt: 1, jitter: 0)
        == .retry(after: .seconds(7), scope: .everything))
    #expect(
      policy.decide(outcome(status: 429, retryAfter: .seconds(1_000_000)), attempt: 1, jitter: 0)
        == .retry(after: .seconds(3600), scope: .everything))
  }

  @Test func `412 asks for a comparison`() {
    #expect(policy.decide(outcome(status: 412), attempt: 1, jitter: 0) == .compare)
  }

  @Test func `a server gets longer to answer with each attempt`() {
    #expect(policy.answerLimit(attempt: 0) == .seconds(10))
    #expect(policy.answerLimit(attempt: 1) == .seconds(20))
    #expect(policy.answerLimit(attempt: 50) == .seconds(30))
  }
}

@Suite struct `Attempt gate` {
  let start = ContinuousClock.now

  @Test func `while all is well only the width limits`() {
    var gate = AttemptGate(parallel: 3)
    for running in 0..<3 {
      #expect(gate.ask(running: running, now: start) == .go)
      gate.started(now: start)
    }
    #expect(gate.ask(running: 3, now: start) == .afterAnOutcome)
  }

  @Test func `failing attempts start at most twice a second in all`() {
    var gate = AttemptGate(parallel: 3)
    var now = start
    var starts = 0
    while now < start + .seconds(60) {
      if gate.ask(running: 0, now: now) == .go {
        starts += 1
        gate.started(now: now)
        gate.failed()
      }
      now += .milliseconds(1)
    }
    #expect((119...121).contains(starts))
  }

  @Test func `one probe at a time goes to a server that is not there`() {
    var gate = AttemptGate(parallel: 3)
    gate.started(now: start)
    gate.unreachable(until: start + .seconds(5))
    #expect(gate.ask(running: 0, now: start + .seconds(1)) == .notBefore(start + .seconds(5)))
    #expect(gate.ask(running: 0, now: start + .seconds(5)) == .go)
    #expect(gate.ask(running: 1, now: start + .seconds(5)) == .afterAnOutcome)
    gate.succeeded()
    #expect(gate.ask(running: 1, now: start + .seconds(5)) == .go)
  }

  @Test func `news end the wait, but not the limit of attempts`() {
    var gate = AttemptGate(parallel: 3)
    gate.started(now: start)
    gate.unreachable(until: start + .seconds(30))
    gate.retryNow()
    #expect(gate.ask(running: 0, now: start + .milliseconds(100)) == .notBefore(start + .milliseconds(500)))
    #expect(gate.ask(running: 0, now: start + .milliseconds(500)) == .go)
  }
}
