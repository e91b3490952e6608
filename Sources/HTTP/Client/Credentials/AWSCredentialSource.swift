/// Where keys of an S3 account come from, in this order: given ones, the shared credentials file, an endpoint of the
/// container or machine that hands out temporary ones.
package struct AWSCredentialSource: Sendable, Equatable {
  package var region: String
  /// From `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`.
  package var accessKey: String?
  package var secretKey: String?
  package var sessionToken: String?
  /// An ini file (`~/.aws/credentials`), and the section of it that counts.
  package var sharedFile: String?
  package var profile = "default"
  /// An address that answers with keys as JSON, and what to send as `Authorization`, itself or from a file.
  package var endpoint: ServerURL?
  package var endpointToken: String?
  package var endpointTokenFile: String?

  package init(region: String) {
    self.region = region
  }

  /// Reads the variables that Amazon's own tools read.
  ///
  /// - Parameters:
  ///   - region: nil for `AWS_REGION`, `AWS_DEFAULT_REGION`, or us-east-1.
  ///   - variable: the value of an environment variable.
  package init(region: String?, variable: (String) -> String?) throws(ClientError) {
    func value(_ name: String) -> String? { variable(name).flatMap { $0.isEmpty ? nil : $0 } }
    self.init(region: region ?? value("AWS_REGION") ?? value("AWS_DEFAULT_REGION") ?? "us-east-1")
    accessKey = value("AWS_ACCESS_KEY_ID")
    secretKey = value("AWS_SECRET_ACCESS_KEY")
    sessionToken = value("AWS_SESSION_TOKEN")
    sharedFile = value("AWS_SHARED_CREDENTIALS_FILE") ?? value("HOME").map { "\($0)/.aws/credentials" }
    profile = value("AWS_PROFILE") ?? "default"
    endpointToken = value("AWS_CONTAINER_AUTHORIZATION_TOKEN")
    endpointTokenFile = value("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
    let full =
      value("AWS_CONTAINER_CREDENTIALS_FULL_URI")
      ?? value("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI").map { "http://169.254.170.2\($0)" }
    guard let full else { return }
    do throws(ServerURL.ParseError) {
      endpoint = try ServerURL(full)
    } catch {
      throw ClientError(operation: "use", subject: "AWS_CONTAINER_CREDENTIALS_FULL_URI", cause: error.problem)
    }
  }

  package func load() throws(ClientError) -> AWSCredentials {
    if let accessKey, let secretKey {
      return AWSCredentials(accessKey: accessKey, secretKey: secretKey, sessionToken: sessionToken, region: region)
    }
    if let endpoint { return try fetch(endpoint) }
    guard let sharedFile else { throw AWSCredentialSource.missing("no keys") }
    let text: String
    do throws(ClientError) {
      text = try CredentialSource.read(sharedFile)
    } catch {
      throw AWSCredentialSource.missing("no keys in the environment, and \(error)")
    }
    let values = AWSCredentialSource.section(profile, of: text)
    guard let accessKey = values["aws_access_key_id"], let secretKey = values["aws_secret_access_key"] else {
      throw AWSCredentialSource.missing("no keys for profile \(profile) in \(sharedFile)")
    }
    return AWSCredentials(
      accessKey: accessKey, secretKey: secretKey, sessionToken: values["aws_session_token"], region: region)
  }

  private static func missing(_ cause: String) -> ClientError {
    ClientError(
      operation: "sign for", subject: "S3",
      cause: "\(cause); set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or write ~/.aws/credentials")
  }

  /// Asks the endpoint; it is on this machine or its host, so a few seconds are ample.
  private func fetch(_ endpoint: ServerURL) throws(ClientError) -> AWSCredentials {
    var configuration = ClientConfiguration()
    configuration.stallLimit = .seconds(3)
    let engine = try TransferEngine(configuration)
    defer { engine.stop() }
    var request = Request(.get, endpoint, responseLimit: 16_384)
    let token = try endpointTokenFile.map { file throws(ClientError) in
      String(trimmed(try CredentialSource.read(file)[...]))
    }
    if let token = token ?? endpointToken { request.headers.append(.init("Authorization", token)) }
    let outcome = engine.perform(request)
    guard outcome.isSuccess else {
      throw ClientError(operation: "get S3 keys from", subject: "\(endpoint)", cause: outcome.detail)
    }
    let text = String(decoding: outcome.body, as: UTF8.self)
    guard let accessKey = AWSCredentialSource.string("AccessKeyId", in: text),
      let secretKey = AWSCredentialSource.string("SecretAccessKey", in: text)
    else { throw ClientError(operation: "get S3 keys from", subject: "\(endpoint)", cause: "the answer has none") }
    return AWSCredentials(
      accessKey: accessKey, secretKey: secretKey, sessionToken: AWSCredentialSource.string("Token", in: text),
      region: region)
  }

  /// The value of a string member of a flat JSON object. Keys and tokens have no escapes but `\/`.
  static func string(_ name: String, in json: String) -> String? {
    guard let member = json.utf8.firstRange(of: "\"\(name)\"".utf8) else { return nil }
    let afterColon = trimmed(trimmed(json[member.upperBound...]).drop { $0 == ":" })
    guard afterColon.hasPrefix("\"") else { return nil }
    let value = afterColon.dropFirst().prefix { $0 != "\"" }
    return String(value.filter { $0 != "\\" })
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
