/// One request as a handler sees it: the head only. A body comes through a `BodyReceiver`.
package struct IncomingRequest: Sendable {
  /// Method names are case-sensitive (RFC 9110 §9.1).
  package enum Method: Equatable, Sendable {
    case get, head, put, post, delete, options
    case other(String)

    init(_ name: String) {
      self =
        switch name {
        case "GET": .get
        case "HEAD": .head
        case "PUT": .put
        case "POST": .post
        case "DELETE": .delete
        case "OPTIONS": .options
        default: .other(name)
        }
    }

    package var name: String {
      switch self {
      case .get: "GET"
      case .head: "HEAD"
      case .put: "PUT"
      case .post: "POST"
      case .delete: "DELETE"
      case .options: "OPTIONS"
      case .other(let name): name
      }
    }
  }

  package let method: Method
  package let target: RequestTarget
  package let headers: HeaderFields
  /// The body's length in bytes; nil when the request has no Content-Length.
  package let contentLength: Int64?
  package let peer: PeerAddress
  /// True when this connection is TLS; a proxy's word for it is not taken.
  package let isSecure: Bool

  package init(
    method: Method, target: RequestTarget, headers: HeaderFields, contentLength: Int64?, peer: PeerAddress,
    isSecure: Bool
  ) {
    self.method = method
    self.target = target
    self.headers = headers
    self.contentLength = contentLength
    self.peer = peer
    self.isSecure = isSecure
  }
}

/// How the head of a request frames its body (RFC 9112 §6). Disagreeing fields are the classic way to smuggle a second
/// request past a proxy, so they are refused.
enum BodyFraming: Equatable {
  case none
  case length(Int64)
  case chunked

  enum Refusal: String, Error {
    case contradictory = "Content-Length is repeated or stands beside Transfer-Encoding"
    case badLength = "Content-Length is not a number"
  }

  init(_ headers: HeaderFields) throws(Refusal) {
    let lengths = headers.all("Content-Length")
    let hasCoding = headers["Transfer-Encoding"] != nil
    guard lengths.count <= 1, !(hasCoding && !lengths.isEmpty) else { throw .contradictory }
    if hasCoding {
      self = .chunked
    } else if let text = lengths.first {
      // Int64's own parser would take a sign.
      guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let length = Int64(text) else {
        throw .badLength
      }
      self = length == 0 ? .none : .length(length)
    } else {
      self = .none
    }
  }
}
