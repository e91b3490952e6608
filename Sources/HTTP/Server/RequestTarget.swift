/// Where a request points: the path decoded strictly once, and the query. A target that could mean two things to two
/// programs (a proxy before us, a file system behind us) is refused rather than tidied up.
package struct RequestTarget: Equatable, Sendable {
  /// The path between slashes, percent-decoded. `/a/b` and `/a/b/` both give `a`, `b`; `/` gives none.
  package let components: [String]
  /// The path as it was sent, without query: safe to log, because credentials travel in the query or in fields.
  package let path: String
  package let query: [QueryItem]

  package struct QueryItem: Equatable, Sendable {
    package let name: String
    package let value: String
  }

  /// Why a target is refused. All are the client's fault (400).
  package enum Refusal: String, Error, Sendable {
    case notAPath = "the target is not an absolute path"
    case badEncoding = "a percent-encoding in the target is malformed"
    case notText = "the target is not UTF-8 text"
    case unsafeCharacter = "the target holds a control character, an encoded slash or a backslash"
    case dotSegment = "the path holds an empty, . or .. segment"
    case tooLong = "the target is too long"
  }

  /// Bytes a target may have. Our own longest (recording, rendition, run, segment) stays below 400.
  package static let maximumLength = 8_192

  /// The first value of `name` in the query.
  package func query(_ name: String) -> String? { query.first { $0.name == name }?.value }

  /// Reads the target of a request line in origin form, or in absolute form whose authority is dropped (RFC 9112 §3.2).
  package init(parsing raw: some Collection<UInt8>) throws(Refusal) {
    guard raw.count <= RequestTarget.maximumLength else { throw .tooLong }
    let bytes = RequestTarget.withoutAuthority(Array(raw))
    guard bytes.first == slash else { throw .notAPath }
    // RFC 3986 leaves only visible ASCII in a URI; `#` never travels.
    guard bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }) else { throw .unsafeCharacter }

    let pathEnd = bytes.firstIndex(of: UInt8(ascii: "?")) ?? bytes.endIndex
    path = String(decoding: bytes[..<pathEnd], as: UTF8.self)
    var parts = bytes[1..<pathEnd].split(separator: slash, omittingEmptySubsequences: false)
    if parts.last?.isEmpty == true { parts.removeLast() }
    var components: [String] = []
    for part in parts {
      let name = try decoded(part, plusIsSpace: false)
      guard !name.isEmpty, name != ".", name != ".." else { throw .dotSegment }
      guard !name.utf8.contains(slash), !name.utf8.contains(UInt8(ascii: "\\")) else { throw .unsafeCharacter }
      components.append(name)
    }
    self.components = components

    var items: [QueryItem] = []
    for pair in bytes[pathEnd...].dropFirst().split(separator: UInt8(ascii: "&")) {
      let nameEnd = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
      let name = try decoded(pair[..<nameEnd], plusIsSpace: true)
      items.append(QueryItem(name: name, value: try decoded(pair[nameEnd...].dropFirst(), plusIsSpace: true)))
    }
    query = items
  }

  private static func withoutAuthority(_ bytes: [UInt8]) -> [UInt8] {
    for scheme in ["http://", "https://"] {
      guard bytes.count >= scheme.utf8.count,
        zip(bytes, scheme.utf8).allSatisfy({ $0.asciiLowercased == $1 })
      else { continue }
      let rest = bytes.dropFirst(scheme.utf8.count)
      guard let start = rest.firstIndex(where: { $0 == slash || $0 == UInt8(ascii: "?") }) else { return [slash] }
      return rest[start] == slash ? Array(rest[start...]) : [slash] + rest[start...]
    }
    return bytes
  }
}

private let slash = UInt8(ascii: "/")

/// Percent-decodes once (RFC 3986 §2.1). Overlong and other malformed UTF-8 and control characters are refused.
private func decoded(_ bytes: ArraySlice<UInt8>, plusIsSpace: Bool) throws(RequestTarget.Refusal) -> String {
  var result: [UInt8] = []
  result.reserveCapacity(bytes.count)
  var rest = bytes
  while let byte = rest.popFirst() {
    switch byte {
    case UInt8(ascii: "%"):
      guard let high = rest.popFirst().flatMap(digitValue), let low = rest.popFirst().flatMap(digitValue)
      else { throw .badEncoding }
      result.append(high << 4 | low)
    case UInt8(ascii: "+") where plusIsSpace: result.append(0x20)
    default: result.append(byte)
    }
  }
  guard result.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { throw .unsafeCharacter }
  guard let text = String(validating: result, as: UTF8.self) else { throw .notText }
  return text
}

private func digitValue(_ digit: UInt8) -> UInt8? {
  switch digit {
  case 0x30...0x39: digit - 0x30
  case 0x41...0x46: digit - 0x41 + 10
  case 0x61...0x66: digit - 0x61 + 10
  default: nil
  }
}
