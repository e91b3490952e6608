import HLS
import HTTP

/// Secrets that open something, each for every recording or for some. Only digests are kept, so neither a log line nor
/// a memory dump of a comparison holds a secret.
package struct AccessTokens: Sendable {
  struct Token: Sendable {
    /// SHA-256 of the secret. Comparing digests takes the same time wherever the first difference lies.
    let digest: [UInt8]
    /// What a browser keeps in its cookie instead of the secret: a digest of another text, so that neither leads to the
    /// other, and the same after a restart.
    let session: String
    let scope: Scope
  }

  /// Which recordings a token is for.
  enum Scope: Equatable, Sendable {
    case all
    case one(RecordingName)
    /// Every recording whose name starts so.
    case prefix(String)

    func includes(_ recording: RecordingName) -> Bool {
      switch self {
      case .all: true
      case .one(let name): name == recording
      case .prefix(let prefix): recording.text.hasPrefix(prefix)
      }
    }
  }

  let tokens: [Token]

  package init() { tokens = [] }

  /// Reads a token file: a token a line, followed by nothing (every recording), by a recording's name, or by the start
  /// of names and `*`. Empty lines and lines that start with `#` are left out.
  /// - Parameter source: what an error names: the file or the environment variable. The secrets themselves are never
  ///   named.
  package init(parsing text: String, source: String) throws(ServeError) {
    var tokens: [Token] = []
    for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
      let words = line.split(whereSeparator: \.isWhitespace)
      guard let secret = words.first, secret.first != "#" else { continue }
      guard words.count <= 2 else {
        throw .tokens("\(source), line \(index + 1): expected a token and at most one recording name after it")
      }
      guard secret.utf8.count >= 8 else {
        throw .tokens(
          "\(source), line \(index + 1): the token is shorter than 8 bytes; `openssl rand -hex 16` makes one")
      }
      let scope: Scope
      if words.count == 1 {
        scope = .all
      } else if words[1].hasSuffix("*") {
        scope = .prefix(String(words[1].dropLast()))
      } else if let name = RecordingName(words[1]) {
        scope = .one(name)
      } else {
        throw .tokens("\(source), line \(index + 1): the second word is not the name of a recording")
      }
      tokens.append(try AccessTokens.token(secret: String(secret), scope: scope))
    }
    guard !tokens.isEmpty else { throw .tokens("\(source) holds no token") }
    self.tokens = tokens
  }

  package var isEmpty: Bool { tokens.isEmpty }

  private static func token(secret: String, scope: Scope) throws(ServeError) -> Token {
    Token(
      digest: try digest(secret), session: hexadecimal(try digest("segrec session 1\n" + secret)), scope: scope)
  }

  static func digest(_ secret: String) throws(ServeError) -> [UInt8] {
    do {
      return try SHA256Digest.of(Array(secret.utf8))
    } catch {
      throw .system("\(error)")
    }
  }

  /// The tokens a presented credential is good for.
  func matching(_ credential: Credential) -> [Token] {
    switch credential {
    case .secret(let secret):
      guard let digest = try? AccessTokens.digest(secret) else { return [] }
      return tokens.filter { equalInConstantTime($0.digest, digest) }
    case .session(let session):
      return tokens.filter { equalInConstantTime(Array($0.session.utf8), Array(session.utf8)) }
    }
  }
}

/// True when both are equal; the time taken depends on their lengths only.
func equalInConstantTime(_ a: [UInt8], _ b: [UInt8]) -> Bool {
  guard a.count == b.count else { return false }
  var difference: UInt8 = 0
  for index in a.indices { difference |= a[index] ^ b[index] }
  return difference == 0
}

/// What a request brings to show that it may.
enum Credential: Equatable {
  /// A token in clear: Bearer (RFC 6750 §2.1), or the password of Basic (RFC 7617), whatever the user's name.
  case secret(String)
  /// The cookie the page has set.
  case session(String)

  static let cookieName = "segrec"

  /// All credentials in a request's fields.
  static func presented(in headers: HeaderFields) -> [Credential] {
    var found: [Credential] = []
    for value in headers.all("Authorization") {
      let words = value.split(separator: " ", maxSplits: 1)
      guard words.count == 2 else { continue }
      let text = words[1].trimmingBlanks()
      if words[0].equalsIgnoringCase("Bearer") {
        found.append(.secret(String(text)))
      } else if words[0].equalsIgnoringCase("Basic"), let pair = base64Decoded(text),
        let colon = pair.firstIndex(of: UInt8(ascii: ":"))
      {
        found.append(.secret(String(decoding: pair[(colon + 1)...], as: UTF8.self)))
      }
    }
    for value in headers.all("Cookie") {
      for pair in value.split(separator: ";") {
        let trimmed = pair.trimmingBlanks()
        if trimmed.hasPrefix(cookieName + "=") {
          found.append(.session(String(trimmed.dropFirst(cookieName.utf8.count + 1))))
        }
      }
    }
    return found
  }
}

/// RFC 4648 §4, padding optional; nil for anything else.
func base64Decoded(_ text: some StringProtocol) -> [UInt8]? {
  var bytes: [UInt8] = []
  var group: UInt32 = 0
  var bits = 0
  let digits = text.utf8.prefix { $0 != UInt8(ascii: "=") }
  guard text.utf8.dropFirst(digits.count).allSatisfy({ $0 == UInt8(ascii: "=") }), digits.count % 4 != 1 else {
    return nil
  }
  for digit in digits {
    let value: UInt8
    switch digit {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = digit - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): value = digit - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0") + 52
    case UInt8(ascii: "+"): value = 62
    case UInt8(ascii: "/"): value = 63
    default: return nil
    }
    group = group << 6 | UInt32(value)
    bits += 6
    if bits >= 8 {
      bits -= 8
      bytes.append(UInt8(truncatingIfNeeded: group >> UInt32(bits)))
    }
  }
  return bytes
}
