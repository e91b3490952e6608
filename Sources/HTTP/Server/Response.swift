import Glibc
import Synchronization

/// What a handler answers with.
package struct Response: Sendable {
  package var status: Int
  package var headers: HeaderFields
  package var body: Body

  package enum Body: Sendable {
    case none
    case bytes([UInt8])
    /// `length` bytes of an open file from `offset`, sent by sendfile(2) where there is no TLS. The file must keep that
    /// length until it is sent: what stands under a name of our grammar never changes.
    case file(OpenFile, offset: Int64, length: Int64)
    case patched(PatchedFile)

    package var length: Int64 {
      switch self {
      case .none: 0
      case .bytes(let bytes): Int64(bytes.count)
      case .file(_, _, let length): length
      case .patched(let file): file.length
      }
    }
  }

  package init(_ status: Int, headers: HeaderFields = HeaderFields(), body: Body = .none) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// One line of plain text, for people who look at answers with curl.
  package static func text(_ status: Int, _ line: String) -> Response {
    Response(
      status, headers: HeaderFields([.init("Content-Type", "text/plain; charset=utf-8")]),
      body: .bytes(Array((line + "\n").utf8)))
  }

  package func adding(_ name: String, _ value: String) -> Response {
    var copy = self
    copy.headers.append(name, value)
    return copy
  }
}

/// A file descriptor on its way into a response: closed when nobody has taken it.
package final class OpenFile: Sendable {
  private let descriptor: Atomic<Int32>

  /// Takes over `descriptor`, which must be open for reading.
  package init(takingOver descriptor: Int32) {
    self.descriptor = Atomic(descriptor)
  }

  deinit {
    if let descriptor = take() { close(descriptor) }
  }

  /// The descriptor, once: from then on the caller closes it.
  func take() -> Int32? {
    let taken = descriptor.exchange(-1, ordering: .acquiringAndReleasing)
    return taken < 0 ? nil : taken
  }
}
