package import Storage

/// Why an upload could not be started or go on.
package enum UploadError: Error, Equatable, Sendable, CustomStringConvertible {
  /// An option or a file it names does not do.
  case misconfigured(String)
  /// The spool cannot be read.
  case spool(StorageError)
  /// The place to send to cannot be used at all: a directory that is not there.
  case target(String)

  package var description: String {
    switch self {
    case .misconfigured(let what), .target(let what): what
    case .spool(let error): error.description
    }
  }
}

/// How an upload ended.
package struct UploadSummary: Equatable, Sendable {
  /// Segments acknowledged by this upload, and their bytes.
  package var sent = 0
  package var sentBytes: Int64 = 0
  /// Segments that are still in the spool.
  package var remaining = 0
  /// Init sections and markers that are not acknowledged.
  package var remainingOthers = 0
  /// Segments that the server refused for good, earlier ones included, and those of refused runs.
  package var refused = 0
  /// Runs whose init section the server refused for good.
  package var refusedRuns = 0
  /// The server's last words where it refuses everything (credentials, address); nil where it does not.
  package var refusal: String?
  /// Other credentials would help: 401, 403 or 407.
  package var refusesCredentials = false
  /// The last failure, for people; nil when the last attempt succeeded.
  package var lastProblem: String?

  package init() {}

  package var isComplete: Bool { remaining == 0 && remainingOthers == 0 && refused == 0 && refusedRuns == 0 }
}

/// How an upload stands, for the live line and metrics.
package struct UploadProgress: Equatable, Sendable {
  package enum State: String, Sendable {
    case idle, sending, retrying, unreachable, paused
  }
  package var state = State.idle
  package var sent = 0
  package var sentBytes: Int64 = 0
  package var backlogSegments = 0
  package var backlogSeconds = 0.0
  /// An estimate from the segments sent so far.
  package var backlogBytes: Int64 = 0
  package var refused = 0
  package var retries = 0
  /// Bits a second while sending; nil while unknown.
  package var goodput: Double?
  package var ladder: Ladder.Level?

  package init() {}
}
