/// Why a client, a request or a file to send could not be set up: "cannot read /etc/token: Permission denied".
package struct ClientError: Error, Equatable, Sendable, CustomStringConvertible {
  package let operation: String
  package let subject: String
  package let cause: String

  package init(operation: String, subject: String, cause: String) {
    self.operation = operation
    self.subject = subject
    self.cause = cause
  }

  package var description: String { "cannot \(operation) \(subject): \(cause)" }
}
