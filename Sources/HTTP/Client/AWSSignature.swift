/// AWS Signature Version 4 for S3 (docs.aws.amazon.com, "Authenticating Requests: Using the Authorization Header").
/// Computed here, because libcurl 7.88 signs headers that it then does not send (an empty `Expect`), and leaves the query
/// unsorted and the path unencoded. Pure.
struct AWSSignature {
  let credentials: AWSCredentials
  /// When the request is signed: milliseconds since 1970 UTC by the server's clock.
  let time: Int64

  /// The header fields to add to a request, `Authorization` among them.
  ///
  /// - Parameters:
  ///   - host: as the `Host` field will have it: with the port where it is not the scheme's own.
  ///   - payload: SHA-256 of the body, lower-case hexadecimal.
  func fields(
    method: String, host: String, path: String, query: String?, payload: String
  ) throws(ClientError) -> [(name: String, value: String)] {
    let timestamp = basicTimestamp(time)
    let day = timestamp.prefix(8)
    var signed = [("host", host), ("x-amz-content-sha256", payload), ("x-amz-date", timestamp)]
    if let token = credentials.sessionToken { signed.append(("x-amz-security-token", token)) }
    let names = signed.map(\.0).joined(separator: ";")
    let canonical = [
      method, AWSSignature.canonicalPath(path), AWSSignature.canonicalQuery(query ?? ""),
      signed.map { "\($0.0):\($0.1)\n" }.joined(), names, payload,
    ].joined(separator: "\n")
    let scope = "\(day)/\(credentials.region)/s3/aws4_request"
    let digest = hexadecimal(try SHA256Digest.of(Array(canonical.utf8)))
    let text = "AWS4-HMAC-SHA256\n\(timestamp)\n\(scope)\n\(digest)"
    var key = Array("AWS4\(credentials.secretKey)".utf8)
    for part in [String(day), credentials.region, "s3", "aws4_request"] {
      key = hmacSHA256(key: key, message: Array(part.utf8))
    }
    let signature = hexadecimal(hmacSHA256(key: key, message: Array(text.utf8)))
    let authorization =
      "AWS4-HMAC-SHA256 Credential=\(credentials.accessKey)/\(scope), SignedHeaders=\(names), Signature=\(signature)"
    return signed.dropFirst().map { (name: $0.0, value: $0.1) } + [(name: "authorization", value: authorization)]
  }

  /// The path as the server encodes it, whatever spelling is sent.
  static func canonicalPath(_ path: String) -> String {
    path.isEmpty ? "/" : encode(decode(path[...]), keepsSlash: true)
  }

  /// Parameters by name and then by value; one without a value has an empty one.
  static func canonicalQuery(_ query: String) -> String {
    query.split(separator: "&").map { parameter in
      let parts = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      return (encode(decode(parts[0])), parts.count > 1 ? encode(decode(parts[1])) : "")
    }
    .sorted { $0 < $1 }.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
  }

  /// Every byte but RFC 3986's unreserved ones becomes `%XX`.
  static func encode(_ bytes: [UInt8], keepsSlash: Bool = false) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var result: [UInt8] = []
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        result.append(byte)
      case UInt8(ascii: "/") where keepsSlash: result.append(byte)
      default: result += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// Each `%XX` becomes its byte; what is no such sequence stays.
  static func decode(_ text: Substring) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), rest.count >= 2, let high = hexadecimalValue(rest[rest.startIndex]),
        let low = hexadecimalValue(rest[rest.startIndex + 1])
      {
        bytes.append(high << 4 | low)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return bytes
  }
}
