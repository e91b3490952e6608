/// What became of a request.
package struct TransferOutcome: Sendable, Equatable {
  /// Where a request failed that has no complete response.
  package enum Failure: Equatable, Sendable {
    /// The host name has no address, or the resolver could not be asked.
    case unresolved
    /// No connection: refused, unreachable, or never answered.
    case unreachable
    /// TLS failed, or the peer's certificate does not hold.
    case untrusted
    /// The connection was lost in the middle.
    case interrupted
    /// No progress for the stall limit.
    case stalled
    /// The response was cut or was not HTTP.
    case badResponse
    /// The body could not be read, or is not as long as it was.
    case unreadableBody
    /// Cancelled by this side.
    case cancelled
    /// The request could not be made at all: a bad proxy, certificate file or URL.
    case misconfigured
  }

  /// The status of the final response once its header was complete; nil when there was none.
  package var status: Int?
  package var failure: Failure?
  /// For people, with secrets masked; empty on success.
  package var detail = ""
  package var retryAfter: Duration?
  /// The response's `Date` in milliseconds since 1970 UTC.
  package var serverDate: Int64?
  /// This side's clock when that response was complete, in the same unit.
  package var receivedAt: Int64 = 0
  package var location: String?
  package var etag: String?
  /// What S3 calls the error.
  package var errorCode: String?
  /// The response's `Content-Digest`, or what a server computed itself.
  package var contentDigest: String?
  /// The declared length of the response body.
  package var contentLength: Int64?
  /// The length of all there is, where the response holds a range of it, else the declared one.
  package var wholeLength: Int64?
  /// The first bytes of the response body, `responseLimit` at most.
  package var body: [UInt8] = []
  /// The body is plain text by its `Content-Type`.
  var isPlainText = false
  /// SHA-256 of the whole response body, where the request asked for it and it was read to its end.
  package var bodySHA256: [UInt8]?
  /// Bytes of the request body handed to the connection.
  package var bytesSent: Int64 = 0
  /// Of these, what the engine's `bytesTaken` has counted.
  package var bytesTaken: Int64 = 0
  /// From the start to the end of the transfer.
  package var elapsed: Duration = .zero

  package init() {}

  /// A real 2xx, read to its end, for a request that was sent to its end.
  package var isSuccess: Bool { failure == nil && status.map { (200..<300).contains($0) } == true }
}

extension TransferOutcome {
  /// The first line of an answer in plain text, as `; it says "…"`; empty where there is none. It may hold anything, so
  /// what could steer a terminal is replaced, secrets are masked, and it is cut short.
  func quotedLine(_ redaction: Redaction) -> String {
    guard isPlainText else { return "" }
    let line = body.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
    // Masked before it is cut, so that no part of a secret is left at its end.
    let masked = redaction.masked(String(decoding: line, as: UTF8.self))
    var text = ""
    for scalar in masked.unicodeScalars.prefix(TransferOutcome.longestQuote) {
      switch scalar.value {
      // Controls, and marks that hide or turn what stands beside them.
      case 0..<0x20, 0x7F...0x9F, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF: text.append("?")
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text.isEmpty ? "" : "; it says \"\(text)\""
  }

  /// Scalars.
  private static let longestQuote = 160
}

/// A status for people: "HTTP 413 (larger than the server takes)".
package func statusText(_ status: Int) -> String {
  let meaning: String? =
    switch status {
    case 300..<400: "moved"
    case 401: "not authorized"
    case 403: "forbidden"
    case 404, 410: "no such place"
    case 405, 501: "it stores no files"
    case 407: "the proxy wants credentials"
    case 408: "request timed out"
    case 409, 412: "it has another file of that name"
    case 413: "larger than the server takes"
    case 429: "too many requests"
    case 500: "server error"
    case 502, 504: "the server behind it is not there"
    case 503: "busy"
    case 507: "the server's disk is full"
    default: nil
    }
  return "HTTP \(status)" + (meaning.map { " (\($0))" } ?? "")
}
