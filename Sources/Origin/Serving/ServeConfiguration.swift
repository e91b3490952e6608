package import HTTP

/// Everything `serve` can be told but where the tree is. The defaults are those of the command line.
package struct ServeConfiguration: Sendable {
  package var address = ListenAddress.standard
  /// Who may upload; nobody is asked when it is empty.
  package var uploadTokens = AccessTokens()
  /// Who may watch besides those who may upload; nobody is asked when it is empty.
  package var readTokens = AccessTokens()
  /// Listens on other addresses than loopback though nobody is asked for a token.
  package var isInsecureAllowed = false
  /// TLS; nil serves plain HTTP.
  package var identity: TLSIdentity?
  /// Bytes one uploaded file may have. 5 s at 400 Mb/s are 250 MB.
  package var maximumSegment: Int64 = 256 << 20
  /// Bytes the whole root may hold before uploads are refused with 507; nil sets no limit but the disk's.
  package var maximumRoot: Int64?
  /// Free bytes an upload must leave on the disk, so that playlists can always be written.
  package var reserve: Int64 = 64 << 20
  /// How long `stop` lets requests finish.
  package var grace: Duration = .seconds(10)
  package var limits = HTTPServerLimits()
  /// Event loops of the HTTP library.
  package var threads = 4
  /// Threads that make uploads durable. More than cores, because they wait for the disk.
  package var commitThreads = 8

  package init() {}

  /// Refuses what cannot work or would be a mistake to run.
  package func validate() throws(ServeError) {
    if !address.isLoopback, uploadTokens.isEmpty, !isInsecureAllowed { throw .open(address) }
    guard maximumSegment > 0 else { throw .option("--max-segment", "must be more than 0 bytes") }
    if let maximumRoot, maximumRoot <= 0 { throw .option("--max-root", "must be more than 0 bytes") }
  }
}

/// Why `serve` does not start.
package enum ServeError: Error, Equatable, Sendable, CustomStringConvertible {
  /// Anybody on the network could write and watch.
  case open(ListenAddress)
  case option(String, String)
  case tokens(String)
  case server(HTTPServerError)
  /// The root or the threads: operation, subject and cause in one line.
  case system(String)

  package var description: String {
    switch self {
    case .open(let address):
      "refusing to listen on \(address) without a token: anybody there could upload and watch. Give --token-file (and "
        + "--read-token-file), listen on 127.0.0.1, or say --insecure"
    case .option(let name, let reason): "\(name) \(reason)"
    case .tokens(let reason): reason
    case .server(let error): error.description
    case .system(let line): line
    }
  }
}
