import HLS
import HTTP

/// What a request may do, decided once from its fields.
struct Access: Equatable {
  /// Nil: every recording may be watched. Empty: none.
  private let readable: [AccessTokens.Scope]?
  /// Nil: every recording may be uploaded to.
  private let writable: [AccessTokens.Scope]?

  init(_ headers: HeaderFields, configuration: ServeConfiguration) {
    let credentials = Credential.presented(in: headers)
    let mayUpload = credentials.flatMap { credential -> [AccessTokens.Scope] in
      // A cookie travels with whatever request another site makes the browser send, so it opens reading only.
      guard case .secret = credential else { return [] }
      return configuration.uploadTokens.matching(credential).map(\.scope)
    }
    writable = configuration.uploadTokens.isEmpty ? nil : mayUpload
    if configuration.readTokens.isEmpty {
      readable = nil
    } else {
      // Who may upload may watch as well, by cookie too: the page takes either token.
      readable = credentials.flatMap {
        (configuration.readTokens.matching($0) + configuration.uploadTokens.matching($0)).map(\.scope)
      }
    }
  }

  func mayRead(_ recording: RecordingName) -> Bool { readable?.contains { $0.includes(recording) } ?? true }
  func mayUpload(to recording: RecordingName) -> Bool { writable?.contains { $0.includes(recording) } ?? true }
  /// True when there is anything this request may watch.
  var mayReadSomething: Bool { readable.map { !$0.isEmpty } ?? true }
  /// True for what concerns all recordings together.
  var mayReadAll: Bool { readable?.contains(.all) ?? true }
}
