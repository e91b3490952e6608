import HLS
import HTTP

/// An S3 bucket. Nothing there is ever overwritten (`If-None-Match`), and an object that is there already is compared by
/// its bytes.
final class S3Target: DeliveryTarget {
  let name: String
  private let client: S3Client

  init(_ configuration: UploadConfiguration) throws(ClientError) {
    guard let source = configuration.credentials.aws else {
      throw ClientError(operation: "sign for", subject: "\(configuration.target)", cause: "no source of keys is given")
    }
    name = configuration.target.description
    var options = configuration.client
    options.keptConnections = max(options.keptConnections, configuration.parallel + 1)
    let bucket = S3Bucket(
      configuration.target, endpoint: configuration.s3Endpoint, region: source.region, style: configuration.s3Style)
    client = try S3Client(bucket, source, options)
  }

  var bytesTaken: Int64 { client.bytesTaken }

  func send(
    _ path: EntryPath, _ file: UploadFile, attempt: Int, answerLimit: Duration,
    completion: @escaping @Sendable (TransferOutcome) -> Void
  ) {
    var request = Request.put(
      file, to: client.bucket.base.appending(path.description), authorization: .none, answerLimit: answerLimit)
    request.headers.append(S3Client.Condition.isAbsent.header)
    request.isRetry = attempt > 0
    client.submit(request, completion: completion)
  }

  /// Reads the object and compares digests: entity tags are not digests everywhere.
  func compare(_ path: EntryPath, _ file: UploadFile, completion: @escaping @Sendable (Bool?) -> Void) {
    var request = Request(.get, client.bucket.base.appending(path.description), responseLimit: 0)
    request.digestsResponse = true
    client.submit(request) { outcome in
      completion(outcome.isSuccess ? outcome.bodySHA256.map { $0 == file.sha256 } : nil)
    }
  }

  func refreshCredentials() -> Bool { client.refreshCredentials() }
  func networkChanged() { client.dropStuck(quiet: .seconds(3)) }
  func stop() { client.stop() }
}
