/// Answers requests. Called on the server's own threads, several at once: it may read files, but whatever can take long
/// (a sync to disk, another event) belongs into `Answer.later`.
package protocol RequestHandler: Sendable {
  /// Called when the head of a request has been read.
  func answer(_ request: IncomingRequest) -> Answer
  /// Called once per request when its answer has been sent or its connection has broken.
  func completed(_ record: ExchangeRecord)
  /// A line the server library would log, without credentials.
  func notice(_ line: String)
}

/// What happens next with a request.
package enum Answer {
  /// Answered; a body that is still coming is not read (a small one is, so that the connection can be used again).
  case now(Response)
  /// The body goes to the receiver, which answers when it has ended.
  case receive(any BodyReceiver)
  /// Answered when somebody fulfils it; meanwhile no thread is held.
  case later(PendingResponse)
}

/// Takes the body of one request piece by piece, on one thread at a time.
package protocol BodyReceiver: AnyObject {
  /// The next bytes, valid during the call.
  func receive(_ bytes: RawSpan)
  /// The body has ended where its framing said. `.receive` is no answer here and gives 500.
  func finish() -> Answer
  /// The connection broke before the end.
  func abandon()
}

/// What is known about a request that is over.
package struct ExchangeRecord: Sendable {
  package let method: String
  /// The path as sent, without its query.
  package let path: String
  package let peer: PeerAddress
  /// Nil when no answer was given before the connection broke.
  package let status: Int?
  package let bytesReceived: Int64
  /// The length of the answer's body; less may have been sent when `wasCompleted` is false.
  package let bytesAnswered: Int64
  package let duration: Duration
  package let wasCompleted: Bool
}
