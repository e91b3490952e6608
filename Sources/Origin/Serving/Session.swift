import HLS
import HTTP

extension OriginHandler {
  /// Trades the token in the body for a cookie. Players in a browser cannot send fields of their own, and a token in a
  /// URL would end up in histories and the logs of proxies; so the page posts it once, from its form or from the
  /// fragment of its own address, which browsers do not send.
  func openSession(_ request: IncomingRequest) -> Answer {
    guard let length = request.contentLength, length <= 1_024 else {
      return .now(.text(413, "a token is shorter"))
    }
    let configuration = configuration
    return .receive(
      TokenReceiver { token in
        guard let token else { return .text(400, "the token is no text") }
        let found =
          configuration.readTokens.matching(.secret(token)) + configuration.uploadTokens.matching(.secret(token))
        guard let first = found.first else { return .text(403, "this token opens nothing") }
        return Response(204, headers: sessionFields(first.session, isSecure: request.isSecure, maximumAge: 2_592_000))
      })
  }

  func closedSession(_ request: IncomingRequest) -> Response {
    Response(204, headers: sessionFields("", isSecure: request.isSecure, maximumAge: 0))
  }
}

private func sessionFields(_ value: String, isSecure: Bool, maximumAge: Int) -> HeaderFields {
  // Lax and not Strict: a link in a mail to a recording should open it. Uploads do not take cookies anyway.
  HeaderFields([
    .init(
      "Set-Cookie",
      "\(Credential.cookieName)=\(value); Path=/; HttpOnly; SameSite=Lax; Max-Age=\(maximumAge)"
        + (isSecure ? "; Secure" : "")),
    .init("Cache-Control", "no-store"),
  ])
}

/// Collects a short body as text.
private final class TokenReceiver: BodyReceiver {
  private var bytes: [UInt8] = []
  private let answer: (String?) -> Response

  init(_ answer: @escaping (String?) -> Response) { self.answer = answer }

  func receive(_ bytes: RawSpan) {
    guard self.bytes.count + bytes.byteCount <= 1_024 else { return }
    for index in bytes.byteOffsets { self.bytes.append(unsafe bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self)) }
  }

  func finish() -> Answer {
    .now(answer(String(validating: bytes, as: UTF8.self).map { String($0.trimmingBlanks()) }))
  }

  func abandon() {}
}
