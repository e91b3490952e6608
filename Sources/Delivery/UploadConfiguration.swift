package import HTTP

/// What is sent where, and how hard it is tried.
package struct UploadConfiguration: Sendable {
  package var target: ServerURL
  package var credentials = CredentialSource()
  package var client = ClientConfiguration()
  package var catchUp = DeliveryPlan.CatchUp.oldest
  /// Transfers at a time, 1 to 16.
  package var parallel = 3
  package var policy = RetryPolicy()
  /// How long to wait for the last segments: after the end of a recording in all, and in a drain without a recorder
  /// without any progress.
  package var drainTimeout: Duration = .seconds(30)
  /// Segments that were refused earlier are tried once more.
  package var retryRefused = false
  /// Where an S3 bucket is served; nil for Amazon's own.
  package var s3Endpoint: ServerURL?
  /// How objects are addressed; nil for what is usual at the endpoint.
  package var s3Style: S3Bucket.Style?
  /// Nil for a recording whose bitrate cannot be changed.
  package var ladder: LadderSettings?

  package init(target: ServerURL) {
    self.target = target
  }

  package func validate() throws(UploadError) {
    guard (1...16).contains(parallel) else { throw .misconfigured("\(parallel) parallel transfers is not 1 to 16") }
    guard drainTimeout >= .zero else { throw .misconfigured("a drain timeout cannot be negative") }
    do throws(ClientError) { try client.validate() } catch { throw .misconfigured("\(error)") }
    if target.scheme == .file, target.directory == nil {
      throw .misconfigured("\(target) does not name a directory")
    }
  }
}

/// What a weak network makes of a recording.
package struct LadderSettings: Sendable {
  /// Bits a second at full quality and at the fallback bitrate, audio included; nil while the encoder is not open.
  package let rates: @Sendable () -> (full: Double, fallback: Double)?
  /// Media seconds of a segment.
  package let segment: Double

  package init(segment: Double, rates: @escaping @Sendable () -> (full: Double, fallback: Double)?) {
    self.rates = rates
    self.segment = segment
  }

  /// Nil while it is not known, and where the fallback would be no less.
  func ladder() -> Ladder? {
    guard let rates = rates(), rates.full > rates.fallback else { return nil }
    var ladder = Ladder(fullRate: rates.full, fallbackRate: rates.fallback)
    ladder.ordinaryBacklog = 2 * segment + 2
    return ladder
  }
}
