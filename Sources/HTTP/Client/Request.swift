/// One HTTP request that the client can send, and send again.
package struct Request: Sendable {
  package enum Method: String, Sendable {
    case put = "PUT", get = "GET", head = "HEAD", delete = "DELETE", post = "POST"
  }

  package enum Body: Sendable {
    case none
    case bytes([UInt8])
    case file(UploadFile)

    package var length: Int64 {
      switch self {
      case .none: 0
      case .bytes(let bytes): Int64(bytes.count)
      case .file(let file): file.length
      }
    }
  }

  package struct Header: Hashable, Sendable {
    package let name: String
    package let value: String
    package init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  package var method: Method
  package var url: ServerURL
  package var body: Body
  package var headers: [Header]
  package var authorization: Authorization
  /// Longest wait for the first byte of the response once the body is out; nil for the client's stall limit.
  package var answerLimit: Duration?
  /// Bytes of the response body that are kept; the rest is read and dropped.
  package var responseLimit: Int
  /// The response body's SHA-256 is computed as it comes, so that a file can be compared without being held.
  package var digestsResponse = false
  /// An earlier attempt failed: goes on a new connection, since the kept ones may be dead without knowing it.
  package var isRetry = false

  package init(
    _ method: Method, _ url: ServerURL, body: Body = .none, headers: [Header] = [],
    authorization: Authorization = .none, answerLimit: Duration? = nil, responseLimit: Int = 1024
  ) {
    self.method = method
    self.url = url
    self.body = body
    self.headers = headers
    self.authorization = authorization
    self.answerLimit = answerLimit
    self.responseLimit = responseLimit
  }

  /// A `PUT` of a media file, as every segment travels.
  package static func put(
    _ file: UploadFile, to url: ServerURL, authorization: Authorization, answerLimit: Duration? = nil
  ) -> Request {
    Request(
      .put, url, body: .file(file),
      headers: [Header("Content-Type", "video/mp4"), Header("Content-Digest", contentDigest(sha256: file.sha256))],
      authorization: authorization, answerLimit: answerLimit)
  }
}

/// Who the client says it is. Sent to the origin it is meant for and to no other.
package enum Authorization: Equatable, Sendable {
  case none
  /// RFC 6750 §2.1.
  case bearer(String)
  /// RFC 7617, only after nothing else: sent with the first request, not after a challenge.
  case basic(user: String, password: String)
  /// AWS Signature Version 4, computed when the request is sent.
  case aws(AWSCredentials)

  /// Whatever must not appear in any text, in every spelling this client puts it in.
  package var secrets: [String] {
    switch self {
    case .none: []
    case .bearer(let token): [token]
    case .basic(let user, let password): [password, base64(Array("\(user):\(password)".utf8))]
    case .aws(let credentials): [credentials.secretKey, credentials.sessionToken].compactMap { $0 }
    }
  }
}

/// Keys of an S3 account.
package struct AWSCredentials: Equatable, Sendable {
  package var accessKey: String
  package var secretKey: String
  /// Of temporary credentials.
  package var sessionToken: String?
  package var region: String
  /// What the server's clock is ahead of ours, in milliseconds; negative when it is behind.
  package var clockSkew: Int64 = 0

  package init(accessKey: String, secretKey: String, sessionToken: String? = nil, region: String) {
    self.accessKey = accessKey
    self.secretKey = secretKey
    self.sessionToken = sessionToken
    self.region = region
  }
}
