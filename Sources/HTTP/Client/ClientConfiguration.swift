/// How the client connects. Proxies are as libcurl finds them in the environment (`https_proxy`, `no_proxy` …).
package struct ClientConfiguration: Sendable, Equatable {
  /// A file of PEM certificates to trust instead of the system's.
  package var caFile: String?
  /// A client certificate and its key, PEM.
  package var certificateFile: String?
  package var keyFile: String?
  package var userAgent = "segrec"
  /// No progress for so long ends a transfer: connecting (name, TCP and TLS together), sending, or receiving.
  package var stallLimit: Duration = .seconds(10)
  /// Connections kept open between requests.
  package var keptConnections = 4
  /// Bytes a second for all transfers together; nil for no limit.
  package var maximumRate: Int64?

  package init() {}

  package func validate() throws(ClientError) {
    func refuse(_ subject: String, _ cause: String) -> ClientError {
      ClientError(operation: "use", subject: subject, cause: cause)
    }
    guard stallLimit >= .milliseconds(10) else { throw refuse("stall limit \(stallLimit)", "shorter than 10 ms") }
    guard (1...64).contains(keptConnections) else { throw refuse("\(keptConnections) connections", "not 1 to 64") }
    if let rate = maximumRate, rate < 1 { throw refuse("upload rate \(rate)", "less than 1 byte a second") }
    if keyFile != nil, certificateFile == nil { throw refuse("a key", "no certificate is given with it") }
  }
}
