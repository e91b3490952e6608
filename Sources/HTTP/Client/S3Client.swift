import Synchronization

/// A bucket, as far as this program asks it anything. Requests are signed when they are sent, by the store's clock where
/// it differs from ours, and with new keys where the old ones are refused.
package final class S3Client: Sendable {
  private struct Signing {
    var credentials: AWSCredentials
    /// By how much the server's clock is ahead, in milliseconds.
    var clockSkew: Int64 = 0

    var authorization: Authorization {
      var signing = credentials
      signing.clockSkew = clockSkew
      return .aws(signing)
    }
  }

  /// What must hold for an object to be written.
  package enum Condition: Equatable, Sendable {
    /// There is none of that name.
    case isAbsent
    /// It is the version that has this entity tag.
    case matches(String)

    /// The field that asks for it.
    package var header: Request.Header {
      switch self {
      case .isAbsent: .init("If-None-Match", "*")
      case .matches(let etag): .init("If-Match", etag)
      }
    }
  }

  package let bucket: S3Bucket
  private let engine: TransferEngine
  private let source: AWSCredentialSource
  private let signing: Mutex<Signing>

  /// Services refuse what is signed more than 15 minutes off; a clock that is less wrong need not be corrected.
  private static let toleratedSkew: Int64 = 60_000
  /// Bytes of an answer that say what is wrong.
  private static let errorLimit = 1_024
  /// Bytes of a listing: 1,000 keys of 1,024 bytes, each of them encoded, and what stands around them.
  private static let listingLimit = 5 << 20

  package init(
    _ bucket: S3Bucket, _ source: AWSCredentialSource, _ configuration: ClientConfiguration
  ) throws(ClientError) {
    self.bucket = bucket
    self.source = source
    signing = Mutex(Signing(credentials: try source.load()))
    engine = try TransferEngine(configuration)
  }

  package var bytesTaken: Int64 { engine.bytesTaken }
  /// Ends what has not moved for `quiet`.
  package func dropStuck(quiet: Duration) { engine.dropStuck(quiet: quiet) }
  package func stop() { engine.stop() }

  /// Starts a request; its authorization is put in here.
  package func submit(_ request: Request, completion: @escaping @Sendable (TransferOutcome) -> Void) {
    var request = request
    request.authorization = signing.withLock { $0.authorization }
    engine.submit(request) { [self] outcome in completion(judged(outcome)) }
  }

  /// Sends a request and waits. It is sent once more where the connection broke, the keys were replaced or the clock was
  /// put right; whatever else goes wrong is the caller's.
  package func perform(_ request: Request) -> TransferOutcome {
    var request = request
    var outcome = TransferOutcome()
    for attempt in 0..<2 {
      request.authorization = signing.withLock { $0.authorization }
      request.isRetry = attempt > 0
      outcome = judged(engine.perform(request))
      switch (outcome.failure, outcome.status) {
      case (.interrupted, _), (.badResponse, _): continue
      case (nil, 401), (nil, 403): if !refreshCredentials() { return outcome }
      default: return outcome
      }
    }
    return outcome
  }

  /// - Parameter range: bytes of the object; nil for all of it.
  package func get(_ key: String, range: Range<Int64>? = nil, limit: Int) -> TransferOutcome {
    var request = Request(.get, bucket.base.appending(key), responseLimit: max(limit, S3Client.errorLimit))
    if let range {
      request.headers.append(.init("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)"))
    }
    return perform(request)
  }

  package func head(_ key: String) -> TransferOutcome { perform(Request(.head, bucket.base.appending(key))) }
  package func delete(_ key: String) -> TransferOutcome { perform(Request(.delete, bucket.base.appending(key))) }

  package func put(
    _ key: String, _ bytes: [UInt8], headers: [Request.Header] = [], if condition: Condition
  ) -> TransferOutcome {
    perform(Request(.put, bucket.base.appending(key), body: .bytes(bytes), headers: headers + [condition.header]))
  }

  /// One page of the keys below `prefix`, which is appended to the bucket's own.
  /// - Parameters:
  ///   - isFlat: all keys; else what goes on behind a slash comes as one prefix.
  ///   - after: only keys behind this one (below the bucket's own prefix as well).
  ///   - token: `next` of the page before.
  package func list(
    _ prefix: String, isFlat: Bool, after: String? = nil, token: String? = nil
  ) -> TransferOutcome {
    var items = [("list-type", "2"), ("encoding-type", "url"), ("prefix", bucket.prefix + prefix)]
    if !isFlat { items.append(("delimiter", "/")) }
    if let after { items.append(("start-after", bucket.prefix + after)) }
    if let token { items.append(("continuation-token", token)) }
    let query = items.map { "\($0.0)=\(AWSSignature.encode(Array($0.1.utf8)))" }.joined(separator: "&")
    let root = bucket.root
    let url = ServerURL(scheme: root.scheme, host: root.host, port: root.port, path: root.path, query: query)
    return perform(Request(.get, url, responseLimit: S3Client.listingLimit))
  }

  /// Reads credentials again. True when they have changed.
  package func refreshCredentials() -> Bool {
    do throws(ClientError) {
      let fresh = try source.load()
      return signing.withLock { signing in
        defer { signing.credentials = fresh }
        return signing.credentials != fresh
      }
    } catch {
      // A file that is being replaced, or an endpoint that is busy; the old keys stay until there are new ones.
      return false
    }
  }

  /// S3 says with codes what other servers say with statuses. The statuses are put right, so that one policy judges all.
  private func judged(_ outcome: TransferOutcome) -> TransferOutcome {
    var outcome = outcome
    guard outcome.failure == nil, !outcome.isSuccess, let code = S3Bucket.errorCode(in: outcome.body) else {
      return outcome
    }
    outcome.errorCode = code
    outcome.detail += " \(code)"
    switch code {
    case "RequestTimeTooSkewed":
      guard learnSkew(outcome) else { break }
      outcome.status = nil
      outcome.failure = .interrupted
      outcome.detail += "; the next attempt is signed by the server's clock"
    case "ExpiredToken", "InvalidToken", "TokenRefreshRequired": outcome.status = 401
    case "RequestTimeout": outcome.status = 408
    case "OperationAborted", "ConditionalRequestConflict": outcome.status = 503
    default: break
    }
    return outcome
  }

  private func learnSkew(_ outcome: TransferOutcome) -> Bool {
    guard let serverDate = outcome.serverDate else { return false }
    let skew = serverDate - outcome.receivedAt
    return signing.withLock { signing in
      guard abs(skew - signing.clockSkew) > S3Client.toleratedSkew else { return false }
      signing.clockSkew = skew
      return true
    }
  }
}
