import HLS
import HTTP
import Synchronization

/// An S3 bucket. Requests are signed when they are sent; nothing there is ever overwritten (`If-None-Match`), and an
/// object that is there already is compared by its bytes.
final class S3Target: DeliveryTarget {
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

  let name: String
  private let base: ServerURL
  private let engine: TransferEngine
  private let source: AWSCredentialSource
  private let signing: Mutex<Signing>

  /// Services refuse what is signed more than 15 minutes off; a clock that is less wrong need not be corrected.
  private static let toleratedSkew: Int64 = 60_000

  init(_ configuration: UploadConfiguration) throws(ClientError) {
    guard let source = configuration.credentials.aws else {
      throw ClientError(operation: "sign for", subject: "\(configuration.target)", cause: "no source of keys is given")
    }
    self.source = source
    name = configuration.target.description
    base =
      S3Bucket(
        configuration.target, endpoint: configuration.s3Endpoint, region: source.region, style: configuration.s3Style
      ).base
    signing = Mutex(Signing(credentials: try source.load()))
    var client = configuration.client
    client.keptConnections = max(client.keptConnections, configuration.parallel + 1)
    engine = try TransferEngine(client)
  }

  var bytesTaken: Int64 { engine.bytesTaken }

  func send(
    _ path: EntryPath, _ file: UploadFile, attempt: Int, answerLimit: Duration,
    completion: @escaping @Sendable (TransferOutcome) -> Void
  ) {
    var request = Request.put(
      file, to: base.appending(path.description), authorization: signing.withLock { $0.authorization },
      answerLimit: answerLimit)
    request.headers.append(.init("If-None-Match", "*"))
    request.isRetry = attempt > 0
    engine.submit(request) { [self] outcome in completion(judged(outcome)) }
  }

  /// Reads the object and compares digests: entity tags are not digests everywhere.
  func compare(_ path: EntryPath, _ file: UploadFile, completion: @escaping @Sendable (Bool?) -> Void) {
    var request = Request(
      .get, base.appending(path.description), authorization: signing.withLock { $0.authorization }, responseLimit: 0)
    request.digestsResponse = true
    engine.submit(request) { outcome in
      completion(outcome.isSuccess ? outcome.bodySHA256.map { $0 == file.sha256 } : nil)
    }
  }

  func refreshCredentials() -> Bool {
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

  func networkChanged() { engine.dropStuck(quiet: .seconds(3)) }
  func stop() { engine.stop() }

  /// S3 says with codes what other servers say with statuses. The statuses are put right, so that one policy judges all.
  private func judged(_ outcome: TransferOutcome) -> TransferOutcome {
    var outcome = outcome
    guard outcome.failure == nil, !outcome.isSuccess, let code = S3Bucket.errorCode(in: outcome.body) else {
      return outcome
    }
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
      guard abs(skew - signing.clockSkew) > S3Target.toleratedSkew else { return false }
      signing.clockSkew = skew
      return true
    }
  }
}
