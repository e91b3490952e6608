package import HTTP

/// What to do after an attempt to send. Pure: time and chance are arguments.
package struct RetryPolicy: Equatable, Sendable {
  package var initial: Duration = .milliseconds(500)
  package var ceiling: Duration = .seconds(30)
  /// A server that asks for more than this (Retry-After) is asked again after it.
  package var longestRetryAfter: Duration = .seconds(3600)
  /// Wait for the first byte of a response in the first attempt; doubled in each further one, so that a server whose disk
  /// is slow is not asked for ever in vain.
  package var answerLimit: Duration = .seconds(10)
  package var longestAnswerLimit: Duration = .seconds(30)

  package init() {}

  package enum Decision: Equatable, Sendable {
    /// The server has it.
    case delivered
    /// A server that overwrites nothing has this name already: the same bytes are a success, others a refusal.
    case compare
    case retry(after: Duration, scope: Scope)
    /// Concerns everything that is sent: keep all, say it once, and look for better credentials.
    case pauseQueue
    /// Concerns this file alone, for good.
    case setAside
  }

  /// What a failure says about the rest of the queue.
  package enum Scope: Equatable, Sendable {
    /// Nothing: others go on.
    case file
    /// The server, or the way to it, is not there: one probe at a time is enough.
    case server
    /// The server is there and asks everybody to wait.
    case everything
  }

  /// - Parameters:
  ///   - outcome: of the attempt. Without a complete response the way to the server is at fault. 401, 403 and 407 concern
  ///     every file, and so do answers of a place that does not store files at all: 3xx, 402, 404, 405, 410, 501, 505. Other
  ///     4xx concern this one, but for 408 (RFC 9110 §15.5.9), 425 (RFC 8470 §5.2) and 429 (RFC 6585 §4).
  ///   - attempt: attempts made so far, at least 1.
  ///   - jitter: uniform in 0..<1 ("full jitter": the delay is anything up to the backoff).
  package func decide(_ outcome: TransferOutcome, attempt: Int, jitter: Double) -> Decision {
    if outcome.isSuccess { return .delivered }
    let delay = backoff(attempt: attempt, jitter: jitter)
    switch outcome.failure {
    case .unresolved, .unreachable, .stalled: return .retry(after: delay, scope: .server)
    case .interrupted, .badResponse: return .retry(after: delay, scope: .file)
    // The disk may come back; asking it more often than this helps nobody.
    case .unreadableBody: return .retry(after: ceiling, scope: .file)
    case .cancelled: return .retry(after: .zero, scope: .file)
    case .untrusted, .misconfigured: return .pauseQueue
    case nil: break
    }
    guard let status = outcome.status else { return .retry(after: delay, scope: .file) }
    switch status {
    case 412: return .compare
    case 300..<400, 401, 402, 403, 404, 405, 407, 410, 501, 505: return .pauseQueue
    case 408, 425, 429, 500...:
      let asked = outcome.retryAfter.map { min($0, longestRetryAfter) }
      // Spread over a little more than what was asked, or all clients come back in the same second.
      let wait = asked.map { $0 + initial * jitter } ?? delay
      return .retry(after: wait, scope: asked != nil || status == 429 || status == 503 ? .everything : .file)
    default: return .setAside
    }
  }

  /// Exponential from `initial` to `ceiling`, with full jitter.
  package func backoff(attempt: Int, jitter: Double) -> Duration {
    min(ceiling, initial * (1 << min(max(attempt, 1) - 1, 20))) * jitter
  }

  /// - Parameter attempt: attempts made before, 0 for the first.
  package func answerLimit(attempt: Int) -> Duration {
    min(longestAnswerLimit, answerLimit * (1 << min(max(attempt, 0), 10)))
  }
}
