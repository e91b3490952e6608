/// Where files go: an absolute `http`, `https`, `s3` or `file` URL (RFC 3986 §3). The path never ends with a slash, and
/// bytes that a URL cannot hold are percent-encoded. Userinfo is refused: a URL is printed and logged, credentials are
/// not.
package struct ServerURL: Hashable, Sendable, CustomStringConvertible {
  package enum Scheme: String, Sendable { case http, https, s3, file }

  package let scheme: Scheme
  /// A name, an IPv4 address, or an IPv6 address in brackets; a bucket for `s3`; empty for `file`.
  package let host: String
  /// 1...65535; nil for the scheme's own.
  package let port: Int?
  /// Empty, or starting with a slash; percent-encoded.
  package let path: String
  /// Without the question mark; sent with every request.
  package let query: String?

  package struct ParseError: Error, Equatable, Sendable, CustomStringConvertible {
    package let text: String
    package let problem: String
    package var description: String { "\(text): \(problem)" }
  }

  package init(scheme: Scheme, host: String, port: Int? = nil, path: String = "", query: String? = nil) {
    self.scheme = scheme
    self.host = host
    self.port = port
    self.path = path
    self.query = query
  }

  /// Reads a URL as a person types it.
  package init(_ text: String) throws(ParseError) {
    func refuse(_ problem: String) -> ParseError {
      ParseError(text: Redaction().masked(text), problem: problem)
    }
    guard let separator = text.utf8.firstRange(of: "://".utf8) else {
      throw refuse("not a URL; expected http://, https://, s3:// or file://")
    }
    let schemeText = text[..<separator.lowerBound].lowercased()
    guard let scheme = Scheme(rawValue: schemeText) else {
      throw refuse("unknown scheme; expected http, https, s3 or file")
    }
    guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { throw refuse("holds a control character") }
    var rest = text[separator.upperBound...]
    if let fragment = rest.firstIndex(of: "#") { rest = rest[..<fragment] }
    var query: String?
    if let mark = rest.firstIndex(of: "?") {
      query = encoded(rest[rest.index(after: mark)...])
      rest = rest[..<mark]
    }
    let authority = rest[..<(rest.firstIndex(of: "/") ?? rest.endIndex)]
    var path = encoded(rest[authority.endIndex...])
    while path.hasSuffix("/") { path.removeLast() }
    guard !authority.contains("@") else {
      throw refuse(
        "a user name or password does not belong in the URL; use --token-file, SEGREC_TOKEN or --netrc-file")
    }
    let (host, port): (String, Int?)
    do throws(AuthorityProblem) {
      (host, port) = try readAuthority(authority)
    } catch {
      throw refuse(error.text)
    }
    switch scheme {
    case .file:
      guard host.isEmpty || host == "localhost", port == nil else {
        throw refuse("a file URL has no host: file:///dir")
      }
      guard path.hasPrefix("/") || text.hasSuffix("/") else {
        throw refuse("a file URL names a directory: file:///dir")
      }
      self.init(scheme: .file, host: "", path: path)
    case .s3:
      guard !host.isEmpty, port == nil else { throw refuse("expected s3://bucket/prefix") }
      self.init(scheme: .s3, host: host, path: path)
    case .http, .https:
      guard !host.isEmpty else { throw refuse("no host") }
      self.init(scheme: scheme, host: host, port: port, path: path, query: query)
    }
  }

  /// The same place with `component/component` below it.
  package func appending(_ relativePath: String) -> ServerURL {
    ServerURL(scheme: scheme, host: host, port: port, path: "\(path)/\(encoded(relativePath[...]))", query: query)
  }

  /// The whole URL as it is sent; may carry a token in its query, so it is never for people to see.
  package var text: String { "\(origin)\(path.isEmpty && scheme != .s3 ? "/" : path)\(query.map { "?\($0)" } ?? "")" }

  /// What a `Location` means from here (RFC 3986 §5.2): absolute, or a path of this origin. Nil for anything else.
  package func resolving(_ location: String) -> ServerURL? {
    var absolute = location
    if location.hasPrefix("//") {
      absolute = "\(scheme.rawValue):\(location)"
    } else if location.hasPrefix("/") {
      absolute = origin + location
    }
    do throws(ParseError) {
      let url = try ServerURL(absolute)
      return url.scheme == .http || url.scheme == .https ? url : nil
    } catch {
      return nil
    }
  }

  /// Scheme, host and port: credentials given for one origin are not for another (RFC 6454 §5).
  package var origin: String { "\(scheme.rawValue)://\(host)\(port.map { ":\($0)" } ?? "")" }

  /// The `Host` field (RFC 9110 §7.2): with the port where it is not the scheme's own.
  var hostField: String {
    let own = scheme == .https ? 443 : 80
    return port.map { $0 == own ? host : "\(host):\($0)" } ?? host
  }

  package func hasSameOrigin(as other: ServerURL) -> Bool {
    (scheme, host, effectivePort) == (other.scheme, other.host, other.effectivePort)
  }

  package var effectivePort: Int? {
    switch scheme {
    case .http: port ?? 80
    case .https: port ?? 443
    case .s3, .file: port
    }
  }

  /// The directory of a `file` URL, percent-decoded; nil where a byte of it cannot be in a path.
  package var directory: String? {
    guard scheme == .file else { return nil }
    var bytes: [UInt8] = []
    var rest = Array(path.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst().flatMap(hexadecimalValue), let low = rest.popFirst().flatMap(hexadecimalValue),
        high << 4 | low != 0
      else { return nil }
      bytes.append(high << 4 | low)
    }
    return bytes.isEmpty ? "/" : String(validating: bytes, as: UTF8.self)
  }

  /// For people: secrets in the query are masked.
  package var description: String { Redaction().masked(text) }
}

private struct AuthorityProblem: Error { let text: String }

private func readAuthority(_ authority: Substring) throws(AuthorityProblem) -> (host: String, port: Int?) {
  var host = authority
  var portText: Substring?
  if authority.hasPrefix("[") {
    guard let close = authority.firstIndex(of: "]") else { throw AuthorityProblem(text: "unclosed [ in the host") }
    host = authority[...close]
    let after = authority[authority.index(after: close)...]
    guard after.isEmpty || after.hasPrefix(":") else { throw AuthorityProblem(text: "text after the host's ]") }
    portText = after.isEmpty ? nil : after.dropFirst()
    guard host.dropFirst().dropLast().utf8.allSatisfy({ hexadecimalValue($0) != nil || ":.%".utf8.contains($0) })
    else { throw AuthorityProblem(text: "not an IPv6 address in [ ]") }
  } else if let colon = authority.firstIndex(of: ":") {
    host = authority[..<colon]
    portText = authority[authority.index(after: colon)...]
  }
  guard host.utf8.allSatisfy({ $0 > 0x20 && !"\"<>\\^`{|}".utf8.contains($0) }) else {
    throw AuthorityProblem(text: "not a host name: \(host)")
  }
  guard let portText, !portText.isEmpty else { return (host.lowercased(), nil) }
  guard let port = Int(portText), portText.utf8.allSatisfy({ (0x30...0x39).contains($0) }), (1...65535).contains(port)
  else { throw AuthorityProblem(text: "port \(portText) is not 1 to 65535") }
  return (host.lowercased(), port)
}

/// Percent-encodes what RFC 3986 §3.3 does not allow in a path or query; an existing `%XX` stays as it is.
private func encoded(_ text: Substring) -> String {
  let digits = Array("0123456789ABCDEF".utf8)
  var result: [UInt8] = []
  for byte in text.utf8 {
    if byte <= 0x20 || byte >= 0x7F || "\"<>\\^`{|}".utf8.contains(byte) {
      result += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    } else {
      result.append(byte)
    }
  }
  return String(decoding: result, as: UTF8.self)
}

extension Sequence where Element == UInt8 {
  fileprivate func firstOffset(of part: some Collection<UInt8>) -> Int? {
    let all = Array(self)
    guard all.count >= part.count else { return nil }
    return (0...(all.count - part.count)).first { all[$0...].starts(with: part) }
  }
}

extension String.UTF8View {
  /// Where `part` first stands.
  func firstRange(of part: String.UTF8View) -> Range<String.Index>? {
    guard let offset = firstOffset(of: part) else { return nil }
    let start = index(startIndex, offsetBy: offset)
    return start..<index(start, offsetBy: part.count)
  }
}
