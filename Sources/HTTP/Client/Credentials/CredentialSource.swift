import Platform

/// Where credentials come from. Files are read when asked for, so that new ones are found while a program runs.
package struct CredentialSource: Sendable, Equatable {
  /// A bearer token that the caller holds (from `SEGREC_TOKEN`).
  package var token: String?
  /// A file with a bearer token: its first line that is not empty or a comment, or one that reads `SEGREC_TOKEN=…`, as in
  /// an environment file of systemd. Goes before `token`.
  package var tokenFile: String?
  package var netrcFile: String?
  /// For `s3` URLs.
  package var aws: AWSCredentialSource?

  package init() {}

  private static let largestFile = 1 << 20

  /// Who to be at `url`.
  package func load(for url: ServerURL) throws(ClientError) -> Authorization {
    if let aws { return .aws(try aws.load()) }
    if let tokenFile {
      guard let token = CredentialSource.token(in: try CredentialSource.read(tokenFile)) else {
        throw ClientError(operation: "use", subject: "token file \(tokenFile)", cause: "it holds no token")
      }
      return .bearer(token)
    }
    if let token, !token.isEmpty { return .bearer(token) }
    if let netrcFile {
      let netrc = Netrc(try CredentialSource.read(netrcFile))
      if let found = netrc.credentials(for: url.host) { return .basic(user: found.user, password: found.password) }
    }
    return .none
  }

  static func read(_ path: String) throws(ClientError) -> String {
    do throws(SystemError) {
      return String(
        decoding: try FileDescriptor.open(forReading: path).readAll(limit: largestFile), as: UTF8.self)
    } catch {
      throw ClientError(operation: "read", subject: path, cause: SystemError.reason(error.code))
    }
  }

  static func token(in text: String) -> String? {
    for line in text.split(whereSeparator: \.isNewline) {
      var line = trimmed(line)
      guard !line.isEmpty, !line.hasPrefix("#") else { continue }
      if line.hasPrefix("export ") { line = trimmed(line.dropFirst(7)) }
      guard line.hasPrefix("SEGREC_TOKEN=") else {
        // Another variable of an environment file.
        if let equals = line.firstIndex(of: "="), equals != line.indices.last, isVariableName(line[..<equals]) {
          continue
        }
        return String(line)
      }
      let value = unquoted(trimmed(line.dropFirst("SEGREC_TOKEN=".count)))
      return value.isEmpty ? nil : value
    }
    return nil
  }

  private static func isVariableName(_ text: Substring) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (0x41...0x5A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F }
      && text.contains("_")
  }
}

func trimmed(_ text: Substring) -> Substring {
  var text = text.drop { $0.isWhitespace }
  while text.last?.isWhitespace == true { text = text.dropLast() }
  return text
}

func unquoted(_ text: Substring) -> String {
  for quote in ["\"", "'"] where text.count >= 2 && text.hasPrefix(quote) && text.hasSuffix(quote) {
    return String(text.dropFirst().dropLast())
  }
  return String(text)
}
