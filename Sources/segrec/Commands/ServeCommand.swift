import HTTP
import Origin
import Platform
import Storage

/// `segrec serve`: receives segments, stitches as they arrive, and serves playlists, segments and a page.
enum ServeCommand: Command {
  struct Arguments: CommonlyOptioned {
    var common = CommonArguments()
    var root = ""
    var serving = ServeConfiguration()
    var stitching = StitchArguments()
    var tokenFile: String?
    var readTokenFile: String?
    var certificate: String?
    var key: String?
  }

  static let name = "serve"
  static let summary = "Receives segments over HTTP, stitches them as they arrive, serves streams and a page."
  static let usage = "--root DIR [OPTIONS]"
  static let notes = """
    Without a token everybody who reaches the address may upload and watch, so segrec listens on 127.0.0.1 alone then.
    The upload token comes from --token-file or the environment's SEGREC_TOKEN. A token file has one token a line,
    followed by nothing or by the one recording (or the start of names and *) that it is for.
    """
  static var defaults: Arguments { Arguments() }

  static var groups: [OptionGroup<Arguments>] {
    [
      OptionGroup(
        title: "Where:",
        options: [
          Option("--root", "DIR", "The directory that holds the recordings; made if it is not there.") {
            (arguments, text) throws(UsageError) in arguments.root = text
          },
          Option("--listen", "ADDR:PORT", "Where to listen (default 127.0.0.1:8080); port 0 takes a free one.") {
            (arguments, text) throws(UsageError) in
            guard let address = ListenAddress(text) else {
              throw UsageError("--listen", "'\(text)' is not ADDR:PORT; write for example 127.0.0.1:8080 or [::]:8443")
            }
            arguments.serving.address = address
          },
        ]),
      OptionGroup(
        title: "Who:",
        options: [
          Option(
            "--token-file", "FILE", "Tokens that may upload (default: SEGREC_TOKEN, else anybody on this machine)."
          ) {
            (arguments, text) throws(UsageError) in arguments.tokenFile = text
          },
          Option("--read-token-file", "FILE", "Tokens that may watch (default: anybody who reaches the server).") {
            (arguments, text) throws(UsageError) in arguments.readTokenFile = text
          },
          Option(switch: "--insecure", "Listens on other addresses without a token.") {
            $0.serving.isInsecureAllowed = true
          },
          Option("--cert", "FILE", "Certificate chain for TLS, PEM.") {
            (arguments, text) throws(UsageError) in arguments.certificate = text
          },
          Option("--key", "FILE", "Private key for TLS, PEM.") {
            (arguments, text) throws(UsageError) in arguments.key = text
          },
        ]),
      OptionGroup(
        title: "How much:",
        options: [
          Option("--max-segment", "BYTES", "The largest file taken (default 256M).") {
            (arguments, text) throws(UsageError) in
            arguments.serving.maximumSegment = try parseBytes("--max-segment", text)
          },
          Option("--max-root", "BYTES", "Uploads are refused when the root holds this much (default: the disk's size).")
          {
            (arguments, text) throws(UsageError) in
            arguments.serving.maximumRoot = try parseBytes("--max-root", text)
          },
        ]),
      StitchArguments.group.within(\.stitching),
      CommonArguments.group.within(\.common),
    ]
  }

  static func run(_ arguments: Arguments, positional: [String]) throws(Failure) -> ExitCode {
    guard !arguments.root.isEmpty else { throw Failure(.usage, "--root is missing: where the recordings are kept") }
    let log = arguments.common.log
    tellMediaLog(log)
    var configuration = arguments.serving
    configuration.uploadTokens = try tokens("--token-file", arguments.tokenFile, variable: "SEGREC_TOKEN")
    configuration.readTokens = try tokens("--read-token-file", arguments.readTokenFile, variable: nil)
    configuration.identity = try identity(arguments)
    let tree = try openTree("--root", arguments.root, create: true)
    let stopping = try Stopping()
    let news = PlaylistNews()
    let stitcher = StitchService(tree, arguments.stitching.configuration, log: log) { news.publish($0) }
    let server = OriginServer(configuration, tree: tree, log: log, news: news) { stitcher.hint($0) }
    do throws(StitchConfigurationError) {
      try arguments.stitching.configuration.validate()
    } catch {
      throw Failure(.usage, error.description)
    }
    do throws(ServeError) {
      try configuration.validate()
    } catch {
      throw Failure(exitCode(of: error), error.description)
    }
    do throws(StitchError) {
      try stitcher.start()
    } catch {
      stitcher.stop()
      throw failure(error)
    }
    do throws(ServeError) {
      let address = try server.start()
      let scheme = configuration.identity == nil ? "http" : "https"
      log.info(
        "listening", "serving \(arguments.root) at \(scheme)://\(address)/",
        ["address": .text("\(address)"), "root": .text(arguments.root)])
    } catch {
      stitcher.stop()
      throw Failure(exitCode(of: error), error.description)
    }
    stopping.wait()
    server.stop()
    stitcher.stop()
    log.info("stopped", "stopped")
    return .success
  }

  private static func exitCode(of error: ServeError) -> ExitCode {
    switch error {
    case .open, .option, .tokens: .usage
    case .server: .unavailable
    case .system: .ioError
    }
  }

  private static func tokens(_ option: String, _ file: String?, variable: String?) throws(Failure) -> AccessTokens {
    let text: String
    let source: String
    if let file {
      text = try readText(option, file: file)
      source = file
    } else if let variable, let value = Environment.value(variable), !value.isEmpty {
      text = value
      source = variable
    } else {
      return AccessTokens()
    }
    do throws(ServeError) {
      return try AccessTokens(parsing: text, source: source)
    } catch {
      throw Failure(.usage, error.description)
    }
  }

  private static func identity(_ arguments: Arguments) throws(Failure) -> TLSIdentity? {
    switch (arguments.certificate, arguments.key) {
    case (nil, nil): return nil
    case (let certificate?, let key?):
      return TLSIdentity(
        certificate: Array(try readText("--cert", file: certificate, limit: 1 << 20).utf8),
        key: Array(try readText("--key", file: key, limit: 1 << 20).utf8))
    case (nil, _): throw Failure(.usage, "--key needs --cert as well")
    case (_, nil): throw Failure(.usage, "--cert needs --key as well")
    }
  }
}
