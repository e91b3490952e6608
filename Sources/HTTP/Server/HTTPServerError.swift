import Glibc

/// Why a server did not start.
package struct HTTPServerError: Error, Equatable, Sendable, CustomStringConvertible {
  package enum Operation: Equatable, Sendable {
    /// Binding or listening on an address.
    case listen(String)
    /// Starting the library's threads; with TLS also reading certificate and key.
    case start(String)
  }
  package let operation: Operation
  package let cause: String

  init(_ operation: Operation, cause: String) {
    self.operation = operation
    self.cause = cause
  }

  init(_ operation: Operation, errno code: Int32) {
    self.init(operation, cause: unsafe String(cString: strerror(code)))
  }

  package var description: String {
    switch operation {
    case .listen(let address): "cannot listen on \(address): \(cause)"
    case .start(let address): "cannot serve on \(address): \(cause)"
    }
  }
}
