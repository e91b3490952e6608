import HLS
import HTTP
import Platform
import Synchronization

@testable import Origin

/// A bucket named `bkt` in memory, with the conditions and listings that stitching needs, that counts what it is asked.
final class FakeBucket: RequestHandler {
  struct Object {
    var bytes: [UInt8]
    /// Milliseconds since 1970 UTC.
    var modified: Int64
    var version: Int
    var etag: String { "\"v\(version)\"" }
  }

  struct State {
    var objects: [String: Object] = [:]
    var counts: [String: Int] = [:]
    var versions = 0
    var isDown = false
    var ignoresConditions = false
    var pageSize = 1_000
  }

  private let state = Mutex(State())
  private let server = Mutex<HTTPServer?>(nil)

  init() throws {
    let started = try HTTPServer(listeningOn: ListenAddress(host: .ipv4([127, 0, 0, 1]), port: 0), handler: self)
    server.withLock { $0 = started }
  }

  func stop() { server.withLock { $0.take() }?.stop(grace: .zero) }

  var endpoint: String { "http://\(server.withLock { $0?.address.description ?? "" })" }

  func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }
  func look<R: Sendable>(_ body: (State) -> R) -> R { state.withLock { body($0) } }

  func put(_ key: String, _ bytes: [UInt8], age: Int64 = 0) {
    state.withLock { state in
      state.versions += 1
      let now = FakeBucket.clock / 1_000 * 1_000
      state.objects[key] = Object(bytes: bytes, modified: now - age * 1_000, version: state.versions)
    }
  }

  func text(_ key: String) -> String? {
    look { $0.objects[key].map { String(decoding: $0.bytes, as: UTF8.self) } }
  }

  /// What has been asked since the last call: `GET`, `PUT`, `HEAD`, `DELETE`, `LIST`.
  func takeCounts() -> [String: Int] {
    state.withLock { state in
      defer { state.counts = [:] }
      return state.counts
    }
  }

  private static var clock: Int64 { WallClock.now() }

  // MARK: Answering

  func answer(_ request: IncomingRequest) -> Answer {
    let isList = request.target.components.count <= 1
    let isDown = state.withLock { state in
      state.counts[isList ? "LIST" : request.method.name, default: 0] += 1
      return state.isDown
    }
    if isDown { return .now(FakeBucket.error(503, "SlowDown")) }
    guard request.target.components.first == "bkt" else { return .now(FakeBucket.error(404, "NoSuchBucket")) }
    if isList { return .now(list(request.target.query)) }
    let key = request.target.components.dropFirst().joined(separator: "/")
    switch request.method {
    case .put: return .receive(Receiver(self, key, request.headers))
    case .delete:
      state.withLock { $0.objects[key] = nil }
      return .now(Response(204))
    default: return .now(read(key, request.headers["Range"]))
    }
  }

  func completed(_ record: ExchangeRecord) {}
  func notice(_ line: String) {}

  private func read(_ key: String, _ range: String?) -> Response {
    guard let object = look({ $0.objects[key] }) else { return FakeBucket.error(404, "NoSuchKey") }
    var headers = HeaderFields([.init("ETag", object.etag)])
    guard let bounds = range?.dropFirst("bytes=".count).split(separator: "-").compactMap({ Int($0) }), bounds.count == 2
    else { return Response(200, headers: headers, body: .bytes(object.bytes)) }
    guard bounds[0] < object.bytes.count else { return FakeBucket.error(416, "InvalidRange") }
    let part = object.bytes[bounds[0]...min(bounds[1], object.bytes.count - 1)]
    headers.append("Content-Range", "bytes \(part.startIndex)-\(part.endIndex - 1)/\(object.bytes.count)")
    return Response(206, headers: headers, body: .bytes(Array(part)))
  }

  fileprivate func write(_ key: String, _ bytes: [UInt8], _ headers: HeaderFields) -> Response {
    state.withLock { state in
      let old = state.objects[key]
      let headers = state.ignoresConditions ? HeaderFields() : headers
      if headers["If-None-Match"] == "*", old != nil { return FakeBucket.error(412, "PreconditionFailed") }
      if let wanted = headers["If-Match"], wanted != old?.etag { return FakeBucket.error(412, "PreconditionFailed") }
      state.versions += 1
      let now = FakeBucket.clock / 1_000 * 1_000
      let new = Object(bytes: bytes, modified: now, version: state.versions)
      state.objects[key] = new
      return Response(200, headers: HeaderFields([.init("ETag", new.etag)]))
    }
  }

  private func list(_ query: [RequestTarget.QueryItem]) -> Response {
    func item(_ name: String) -> String? { query.first { $0.name == name }?.value }
    let prefix = item("prefix") ?? ""
    let isLevel = item("delimiter") == "/"
    let after = item("continuation-token") ?? item("start-after") ?? ""
    let (objects, size) = look { ($0.objects, $0.pageSize) }
    var found: [(name: String, object: Object?)] = []
    for key in objects.keys.sorted() where key.hasPrefix(prefix) && key > after {
      let rest = key.dropFirst(prefix.count)
      if isLevel, let slash = rest.firstIndex(of: "/") {
        let name = prefix + String(rest[...slash])
        // A token names a prefix that has been told.
        if found.last?.name != name, !(after.hasSuffix("/") && name <= after) { found.append((name, nil)) }
      } else {
        found.append((key, objects[key]))
      }
    }
    let page = found.prefix(size)
    var text = "<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>\(found.count > size)</IsTruncated>"
    for (name, object) in page {
      text +=
        object.map { object in
          "<Contents><Key>\(name)</Key><Size>\(object.bytes.count)</Size>"
            + "<LastModified>\(WallClockTime(milliseconds: object.modified).rfc3339)</LastModified></Contents>"
        } ?? "<CommonPrefixes><Prefix>\(name)</Prefix></CommonPrefixes>"
    }
    if found.count > size, let last = page.last {
      text += "<NextContinuationToken>\(last.name)</NextContinuationToken>"
    }
    return Response(200, body: .bytes(Array((text + "</ListBucketResult>").utf8)))
  }

  private static func error(_ status: Int, _ code: String) -> Response {
    Response(status, body: .bytes(Array("<Error><Code>\(code)</Code></Error>".utf8)))
  }
}

private final class Receiver: BodyReceiver {
  private let bucket: FakeBucket
  private let key: String
  private let headers: HeaderFields
  private var bytes: [UInt8] = []

  init(_ bucket: FakeBucket, _ key: String, _ headers: HeaderFields) {
    self.bucket = bucket
    self.key = key
    self.headers = headers
  }

  func receive(_ piece: RawSpan) { piece.withUnsafeBytes { bytes.append(contentsOf: $0) } }
  func finish() -> Answer { .now(bucket.write(key, bytes, headers)) }
  func abandon() {}
}
