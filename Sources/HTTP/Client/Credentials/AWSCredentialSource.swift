/// Where keys of an S3 account come from: given ones, then the shared credentials file.
package struct AWSCredentialSource: Sendable, Equatable {
  package var region: String
  /// From `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`.
  package var accessKey: String?
  package var secretKey: String?
  package var sessionToken: String?
  /// An ini file (`~/.aws/credentials`), and the section of it that counts.
  package var sharedFile: String?
  package var profile = "default"

  package init(region: String) {
    self.region = region
  }

  package func load() throws(ClientError) -> AWSCredentials {
    if let accessKey, let secretKey {
      return AWSCredentials(accessKey: accessKey, secretKey: secretKey, sessionToken: sessionToken, region: region)
    }
    guard let sharedFile else {
      throw ClientError(
        operation: "sign for", subject: "S3",
        cause: "no keys; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or write ~/.aws/credentials")
    }
    let values = AWSCredentialSource.section(profile, of: try CredentialSource.read(sharedFile))
    guard let accessKey = values["aws_access_key_id"], let secretKey = values["aws_secret_access_key"] else {
      throw ClientError(operation: "sign for", subject: "S3", cause: "no keys for profile \(profile) in \(sharedFile)")
    }
    return AWSCredentials(
      accessKey: accessKey, secretKey: secretKey, sessionToken: values["aws_session_token"], region: region)
  }

  static func section(_ name: String, of text: String) -> [String: String] {
    var values: [String: String] = [:]
    var isInside = false
    for line in text.split(whereSeparator: \.isNewline) {
      let line = trimmed(line)
      if line.isEmpty || line.hasPrefix("#") || line.hasPrefix(";") { continue }
      if line.hasPrefix("["), line.hasSuffix("]") {
        isInside = trimmed(line.dropFirst().dropLast()) == name
      } else if isInside, let equals = line.firstIndex(of: "=") {
        values[trimmed(line[..<equals]).lowercased()] = String(trimmed(line[line.index(after: equals)...]))
      }
    }
    return values
  }
}
