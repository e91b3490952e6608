/// Where the objects of `s3://bucket/prefix` are.
package struct S3Bucket: Hashable, Sendable {
  package enum Style: String, Sendable, CaseIterable {
    /// `https://bucket.endpoint/key`
    case virtualHost = "virtual"
    /// `https://endpoint/bucket/key`
    case path
  }

  /// Of the prefix; objects are `base/key`.
  package let base: ServerURL
  /// Of the bucket itself, which is what listings are asked of.
  let root: ServerURL
  /// What all keys begin with: empty, or ending with a slash; as it is, not percent-encoded.
  package let prefix: String

  /// - Parameters:
  ///   - url: an `s3` URL.
  ///   - endpoint: where the service is; nil for Amazon's in `region`.
  ///   - style: nil for the usual: a bucket below a given endpoint's path, else in the host name. A bucket with a dot in
  ///     its name fits no certificate as a host and always goes into the path.
  package init(_ url: ServerURL, endpoint: ServerURL?, region: String, style: Style? = nil) {
    let service = endpoint ?? ServerURL(scheme: .https, host: "s3.\(region).amazonaws.com")
    let wanted = style ?? (endpoint == nil ? .virtualHost : .path)
    let isHost = wanted == .virtualHost && !url.host.contains(".")
    root = ServerURL(
      scheme: service.scheme, host: isHost ? "\(url.host).\(service.host)" : service.host, port: service.port,
      path: isHost ? service.path : "\(service.path)/\(url.host)")
    base = ServerURL(scheme: root.scheme, host: root.host, port: root.port, path: root.path + url.path)
    let decoded = String(decoding: AWSSignature.decode(url.path.dropFirst()), as: UTF8.self)
    prefix = decoded.isEmpty ? "" : decoded + "/"
  }

  /// The error code of an S3 answer (`<Code>SlowDown</Code>`); nil where there is none.
  package static func errorCode(in body: [UInt8]) -> String? {
    let text = String(decoding: body, as: UTF8.self)
    guard let tag = text.utf8.firstRange(of: "<Code>".utf8) else { return nil }
    let code = text[tag.upperBound...].prefix { $0 != "<" }
    return code.utf8.count <= 64 && code.allSatisfy { $0.isLetter || $0.isNumber } ? String(code) : nil
  }
}
