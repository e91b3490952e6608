package import HLS
package import HTTP

/// Reads what a store says has happened to its objects: S3 event notifications as they are, inside a message of SNS,
/// EventBridge's form, SeaweedFS's and MinIO's. All have the object's key as a member `key`, and since each file that is
/// made known is looked at before it counts, nothing else has to be understood. Pure.
enum StoreEvents {
  /// - Parameters:
  ///   - bucket: its name, which stands before the key in some forms.
  ///   - prefix: what all keys begin with: empty, or ending with a slash.
  static func files(in body: [UInt8], bucket: String, prefix: String) -> [EntryPath] {
    // JSON inside JSON has its quotes escaped, and slashes may be; no name of ours has what else is.
    let text = body.filter { $0 != UInt8(ascii: "\\") }
    let member = Array("\"key\"".utf8)
    var files: [EntryPath] = []
    var rest = text[...]
    while let start = rest.firstIndex(of: member[0]) {
      rest = rest[start...]
      guard rest.starts(with: member) else {
        rest = rest.dropFirst()
        continue
      }
      rest = rest.dropFirst(member.count).drop { $0 <= 0x20 || $0 == UInt8(ascii: ":") }
      guard rest.first == UInt8(ascii: "\"") else { continue }
      let value = rest.dropFirst().prefix { $0 != UInt8(ascii: "\"") }
      rest = rest[value.endIndex...].dropFirst()
      if let file = file(urlDecoded(String(decoding: value, as: UTF8.self)), bucket, prefix) { files.append(file) }
    }
    return files
  }

  private static func file(_ key: String, _ bucket: String, _ prefix: String) -> EntryPath? {
    let parts = key.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count >= 4 else { return nil }
    let before = parts.dropLast(4).map { $0 + "/" }.joined()
    guard before == prefix || before.hasSuffix("\(bucket)/\(prefix)") else { return nil }
    return EntryPath(parts.suffix(4).joined(separator: "/"))
  }
}

/// Listens for what a store says has happened, or a gateway that posts for it.
package final class StoreEventServer: Sendable {
  private let server: HTTPServer

  /// - Parameters:
  ///   - tokens: what whoever posts has to bring; none for anybody.
  ///   - found: called for each file that is said to have come, on one of the server's threads; must not wait.
  package init(
    listeningOn address: ListenAddress, bucket: String, prefix: String, tokens: AccessTokens,
    found: @escaping @Sendable (EntryPath) -> Void
  ) throws(HTTPServerError) {
    server = try HTTPServer(
      listeningOn: address, threads: 1,
      handler: StoreEventHandler(bucket: bucket, prefix: prefix, tokens: tokens, found: found))
  }

  /// With its real port.
  package var address: ListenAddress { server.address }

  package func stop() { server.stop(grace: .seconds(1)) }
}

/// Answers the store, or a gateway that posts for it.
private final class StoreEventHandler: RequestHandler {
  private let bucket: String
  private let prefix: String
  private let tokens: AccessTokens
  private let found: @Sendable (EntryPath) -> Void

  /// Bytes of a body. S3 puts a record of 1 kB into each, SNS takes 256 kB.
  private static let limit = 1 << 20

  init(bucket: String, prefix: String, tokens: AccessTokens, found: @escaping @Sendable (EntryPath) -> Void) {
    self.bucket = bucket
    self.prefix = prefix
    self.tokens = tokens
    self.found = found
  }

  func answer(_ request: IncomingRequest) -> Answer {
    guard request.method == .post || request.method == .put else {
      return .now(.text(405, "events are posted").adding("Allow", "POST, PUT"))
    }
    let mayPost = Credential.presented(in: request.headers).contains { !tokens.matching($0).isEmpty }
    guard tokens.isEmpty || mayPost else {
      return .now(.text(401, "a token is needed").adding("WWW-Authenticate", "Bearer"))
    }
    if let length = request.contentLength, length > StoreEventHandler.limit { return .now(.text(413, "too long")) }
    return .receive(
      EventBody(StoreEventHandler.limit) { [self] bytes in
        for file in StoreEvents.files(in: bytes, bucket: bucket, prefix: prefix) { found(file) }
      })
  }

  func completed(_ record: ExchangeRecord) {}
  func notice(_ line: String) {}
}

private final class EventBody: BodyReceiver {
  private var bytes: [UInt8] = []
  private let limit: Int
  private let done: ([UInt8]) -> Void

  init(_ limit: Int, done: @escaping ([UInt8]) -> Void) {
    self.limit = limit
    self.done = done
  }

  func receive(_ piece: RawSpan) {
    guard bytes.count <= limit else { return }
    unsafe piece.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
  }

  func finish() -> Answer {
    if bytes.count > limit { return .now(.text(413, "too long")) }
    done(bytes)
    return .now(Response(204))
  }

  func abandon() {}
}
