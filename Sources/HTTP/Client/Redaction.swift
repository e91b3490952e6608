/// Takes secrets out of text that people or logs will see. Pure. Masked are: userinfo in URLs, values of query
/// parameters that carry tokens or signatures, credentials in `Authorization` lines, and every known secret as it is,
/// percent-encoded (in any mixture) or escaped with backslashes.
package struct Redaction: Sendable {
  package static let mask = "***"
  /// Shorter secrets would blank out ordinary words; a secret of one or two characters protects nothing.
  package static let shortestSecret = 3

  private let secrets: [[UInt8]]

  package init(secrets: some Sequence<String> = []) {
    // Longest first, so that a secret that contains another is masked whole.
    self.secrets = Set(secrets).map { Array($0.utf8) }.filter { $0.count >= Redaction.shortestSecret }
      .sorted { $0.count > $1.count }
  }

  package func masked(_ text: String) -> String {
    let bytes = maskKnownSecrets(Array(text.utf8))
    return String(decoding: maskPatterns(bytes), as: UTF8.self)
  }

  private func maskKnownSecrets(_ text: [UInt8]) -> [UInt8] {
    guard !secrets.isEmpty else { return text }
    var result: [UInt8] = []
    result.reserveCapacity(text.count)
    var index = 0
    scan: while index < text.count {
      for secret in secrets {
        if let end = matchEnd(of: secret, in: text, from: index) {
          result += Redaction.mask.utf8
          index = end
          continue scan
        }
      }
      result.append(text[index])
      index += 1
    }
    return result
  }

  /// Where `secret` ends if it stands at `start` in any of its spellings.
  private func matchEnd(of secret: [UInt8], in text: [UInt8], from start: Int) -> Int? {
    var index = start
    for wanted in secret {
      guard index < text.count else { return nil }
      // Percent-encoding may have been applied twice (a URL inside a URL): `%2540` is `@` too.
      if let (byte, next) = percentDecoded(text, at: index), byte == wanted {
        index = next
      } else if text[index] == wanted {
        index += 1
      } else if text[index] == UInt8(ascii: "\\"), index + 1 < text.count, text[index + 1] == wanted {
        index += 2
      } else {
        return nil
      }
    }
    return index
  }

  private func percentDecoded(_ text: [UInt8], at index: Int) -> (byte: UInt8, next: Int)? {
    guard text[index] == UInt8(ascii: "%") else { return nil }
    var start = index + 1
    while start + 1 < text.count, text[start] == UInt8(ascii: "2"), text[start + 1] == UInt8(ascii: "5") { start += 2 }
    guard start + 1 < text.count, let high = hexadecimalValue(text[start]), let low = hexadecimalValue(text[start + 1])
    else { return nil }
    return (high << 4 | low, start + 2)
  }

  private func maskPatterns(_ text: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(text.count)
    var index = 0
    while index < text.count {
      if text[index...].starts(with: Redaction.authorityStart) {
        index += Redaction.authorityStart.count
        result += Redaction.authorityStart
        let authority = text[index...].prefix { !endsAuthority($0) }
        if let at = authority.lastIndex(of: UInt8(ascii: "@")) {
          result += Redaction.mask.utf8
          index = at
        }
      } else if let value = secretValue(in: text, at: index) {
        result += text[index..<value.lowerBound]
        if !value.isEmpty { result += Redaction.mask.utf8 }
        index = value.upperBound
      } else {
        result.append(text[index])
        index += 1
      }
    }
    return result
  }

  private static let authorityStart = Array("://".utf8)
  private static let sensitiveParts = [
    "token", "secret", "passw", "pwd", "signature", "sig", "credential", "auth", "apikey", "api_key", "api-key",
    "accesskey", "access_key", "session", "key",
  ].map { Array($0.utf8) }
  private static let schemes = ["bearer ", "basic ", "digest "].map { Array($0.utf8) }

  /// The range of a value to hide when a parameter (`?name=`, `&name=`, `;name=`, `, name=`) or a scheme (`Bearer …`)
  /// starts at `index`.
  private func secretValue(in text: [UInt8], at index: Int) -> Range<Int>? {
    let startsWord = index == 0 || !isWordByte(text[index - 1])
    guard startsWord, isWordByte(text[index]) else { return nil }
    for scheme in Redaction.schemes where lowercased(text[index...].prefix(scheme.count)) == scheme {
      let start = index + scheme.count
      let end = text[start...].firstIndex { endsValue($0) } ?? text.endIndex
      // "basic auth" in a sentence is no credential.
      return end - start >= 8 ? start..<end : nil
    }
    let name = text[index...].prefix { isWordByte($0) }
    guard name.endIndex < text.endIndex, text[name.endIndex] == UInt8(ascii: "=") else { return nil }
    let lower = lowercased(name)
    guard Redaction.sensitiveParts.contains(where: { contains(lower, $0) }) else { return nil }
    let start = name.endIndex + 1
    return start..<(text[start...].firstIndex { endsValue($0) } ?? text.endIndex)
  }

  private func contains(_ text: [UInt8], _ part: [UInt8]) -> Bool {
    guard text.count >= part.count else { return false }
    return (0...(text.count - part.count)).contains { text[$0...].starts(with: part) }
  }

  private func lowercased(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    bytes.map { $0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "Z") ? $0 + 32 : $0 }
  }

  private func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."):
      true
    default: false
    }
  }

  private func endsAuthority(_ byte: UInt8) -> Bool {
    byte <= 0x20 || [UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "\"")].contains(byte)
  }

  private func endsValue(_ byte: UInt8) -> Bool {
    byte <= 0x20
      || [
        UInt8(ascii: "&"), UInt8(ascii: "#"), UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: ","),
        UInt8(ascii: ";"), UInt8(ascii: ">"),
      ].contains(byte)
  }
}

/// The value of one hexadecimal digit of either case.
func hexadecimalValue(_ byte: UInt8) -> UInt8? {
  switch byte {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
  case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
  case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
  default: nil
  }
}
