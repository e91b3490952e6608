import HLS
import HTTP
import Synchronization

/// A server that stores what is PUT.
final class HTTPTarget: DeliveryTarget {
  private let url: ServerURL
  private let engine: TransferEngine
  private let source: CredentialSource
  private let authorization: Mutex<Authorization>

  init(_ configuration: UploadConfiguration) throws(ClientError) {
    url = configuration.target
    source = configuration.credentials
    authorization = Mutex(try source.load(for: url))
    var client = configuration.client
    client.keptConnections = max(client.keptConnections, configuration.parallel + 1)
    engine = try TransferEngine(client)
  }

  var name: String { url.description }
  var bytesTaken: Int64 { engine.bytesTaken }

  func send(
    _ path: EntryPath, _ file: UploadFile, attempt: Int, answerLimit: Duration,
    completion: @escaping @Sendable (TransferOutcome) -> Void
  ) {
    var request = Request.put(
      file, to: url.appending(path.description), authorization: authorization.withLock { $0 }, answerLimit: answerLimit)
    request.isRetry = attempt > 0
    engine.submit(request, completion: completion)
  }

  /// Plain servers have no conditional requests here, so 412 is a refusal.
  func compare(_ path: EntryPath, _ file: UploadFile, completion: @escaping @Sendable (Bool?) -> Void) {
    completion(false)
  }

  func refreshCredentials() -> Bool {
    do throws(ClientError) {
      let fresh = try source.load(for: url)
      return authorization.withLock { current in
        defer { current = fresh }
        return current != fresh
      }
    } catch {
      // A file that is being replaced may be missing for a moment; the old credentials stay until there are new ones.
      return false
    }
  }

  func networkChanged() { engine.dropStuck(quiet: .seconds(3)) }
  func stop() { engine.stop() }
}
