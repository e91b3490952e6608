import HTTP
import Platform
import Storage

/// Asks a bucket, and says in one place what is wrong with it. While it does not answer, one request in a second or more
/// finds out whether it does again, and all others fail at once.
final class BucketAccess: Sendable {
  private let client: S3Client
  private let root: String
  private let log: Log
  private let state = Monitor(State())

  private struct State {
    /// What the store's clock is ahead of ours, milliseconds.
    var skew: Int64 = 0
    var away: Away?

    /// Why there is no use in asking at this moment; nil when this request is the one that finds out.
    mutating func notNow() -> RemoteFailure? {
      guard let away else { return nil }
      let now = ContinuousClock.now
      guard now >= away.nextTry else { return away.failure }
      self.away?.nextTry = now + away.pause
      return nil
    }
  }

  private struct Away {
    var failure: RemoteFailure
    var pause: Duration
    var nextTry: ContinuousClock.Instant
  }

  init(_ client: S3Client, _ root: String, _ log: Log) {
    self.client = client
    self.root = root
    self.log = log
  }

  /// The store's clock, milliseconds since 1970 UTC, to a second.
  var clock: Int64 { WallClock.now() + state.withLock { $0.skew } }

  /// All keys below a prefix, page by page, without what the bucket's own prefix is.
  /// - Returns: how many pages.
  func list(
    _ prefix: String, isFlat: Bool, after: String? = nil, _ body: (S3Listing) -> Void
  ) throws(StorageError) -> Int {
    var token: String?
    var pages = 0
    let own = client.bucket.prefix
    func stripped(_ key: String) -> String { key.hasPrefix(own) ? String(key.dropFirst(own.count)) : "" }
    repeat {
      let from = token
      let answer = try ask("list", prefix) { $0.list(prefix, isFlat: isFlat, after: after, token: from) }
      var page: S3Listing
      do throws(S3Listing.Malformed) {
        page = try S3Listing(parsing: answer.body)
      } catch {
        throw .remote(RemoteFailure(.unusable, "cannot list \(root)/\(prefix): \(error); check --s3-endpoint"))
      }
      for index in page.objects.indices { page.objects[index].key = stripped(page.objects[index].key) }
      page.prefixes = page.prefixes.map(stripped)
      body(page)
      pages += 1
      // A store that gives the same page for ever must not be asked for ever.
      if page.next != nil, page.next == token { break }
      token = page.next
    } while token != nil
    return pages
  }

  /// - Returns: a success, or one of the answers that mean something to whoever asks: 404 (no such object), 412 (the
  ///   condition does not hold) and 416 (nothing in that range).
  func ask(
    _ operation: String, _ key: String, _ send: (S3Client) -> TransferOutcome
  ) throws(StorageError) -> TransferOutcome {
    if let failure = state.withLock({ $0.notNow() }) { throw .remote(failure) }
    let answer = send(client)
    let failure = failure(of: answer, "\(operation) \(root)/\(key)")
    // One object that cannot be had is not the store.
    note(failure, isStore: failure.map { $0.reason == .away || $0.reason == .denied } ?? false, answer)
    if let failure { throw .remote(failure) }
    return answer
  }

  /// Nil where the answer is one.
  private func failure(of answer: TransferOutcome, _ what: String) -> RemoteFailure? {
    if answer.isSuccess { return nil }
    switch (answer.failure, answer.status) {
    case (nil, 404):
      guard answer.errorCode == "NoSuchBucket" else { return nil }
      return RemoteFailure(.missing, "cannot \(what): there is no such bucket; check its name and --s3-endpoint")
    case (nil, 412), (nil, 416): return nil
    case (nil, 401), (nil, 403):
      return RemoteFailure(
        .denied,
        "cannot \(what): \(answer.detail); check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and that they may list, "
          + "read and write there")
    default:
      if let code = answer.errorCode, code == "ConditionalRequestConflict" || code == "OperationAborted" {
        return RemoteFailure(.overtaken, "cannot \(what): another worker writes it at this moment")
      }
      let isForGood = answer.status.map { $0 < 500 && $0 != 408 && $0 != 429 || $0 == 501 } ?? false
      return RemoteFailure(
        isForGood ? .unusable : .away,
        "cannot \(what): \(answer.detail)\(isForGood ? "; check --s3-endpoint and --s3-region" : "")")
    }
  }

  private func note(_ failure: RemoteFailure?, isStore: Bool, _ answer: TransferOutcome) {
    let change: Bool? = state.withLock { state in
      if let date = answer.serverDate { state.skew = date - answer.receivedAt }
      guard isStore, let failure else {
        defer { if answer.status != nil { state.away = nil } }
        return state.away != nil && answer.status != nil ? false : nil
      }
      let pause = min((state.away?.pause ?? .milliseconds(500)) * 2, .seconds(5))
      let isNew = state.away == nil
      state.away = Away(failure: failure, pause: pause, nextTry: .now + pause)
      return isNew ? true : nil
    }
    switch change {
    case true: log.warning("store-away", "\(failure?.text ?? ""); trying again until it answers")
    case false: log.info("store-back", "\(root) answers again")
    case nil: break
    }
  }
}
