import HLS
import HTTP
import Origin
import Platform
import Storage

/// `segrec stitch`: makes playlists over a tree that any other server fills.
enum StitchCommand: Command {
  struct Arguments: CommonlyOptioned {
    var common = CommonArguments()
    var stitching = StitchArguments()
    var recording: RecordingName?
    var isWatching = false
    var bucket = BucketArguments()
    var events: ListenAddress?
  }

  static let name = "stitch"
  static let summary = "Makes the playlists of a tree that another server fills, once or as segments arrive."
  static let usage = "ROOT [OPTIONS]"
  static let notes =
    "ROOT is a directory, or a bucket: s3://bucket/prefix, of which several workers may look after parts."
  static let positional = ["ROOT"]
  static var defaults: Arguments { Arguments() }

  static var groups: [OptionGroup<Arguments>] {
    [
      OptionGroup(
        title: "What:",
        options: [
          Option("--recording", "NAME", "Only this recording, once (default: all of them).") {
            (arguments, text) throws(UsageError) in arguments.recording = try parseRecording("--recording", text)
          },
          Option(switch: "--watch", "Goes on as segments arrive, until it is stopped.") { $0.isWatching = true },
          Option(
            "--events", "ADDR:PORT",
            "Where a bucket's store, or a gateway, posts what has come (S3 event notifications); with SEGREC_TOKEN only who has it."
          ) { (arguments, text) throws(UsageError) in
            guard let address = ListenAddress(text) else {
              throw UsageError("--events", "'\(text)' is not ADDR:PORT; write for example 0.0.0.0:8090")
            }
            arguments.events = address
          },
        ]),
      StitchArguments.group.within(\.stitching),
      BucketArguments.group.within(\.bucket),
      CommonArguments.group.within(\.common),
    ]
  }

  static func run(_ arguments: Arguments, positional: [String]) throws(Failure) -> ExitCode {
    let log = arguments.common.log
    if arguments.isWatching, arguments.recording != nil {
      throw Failure(.usage, "--recording goes without --watch, which looks after all recordings")
    }
    do throws(StitchConfigurationError) {
      try arguments.stitching.configuration.validate()
    } catch {
      throw Failure(.usage, error.description)
    }
    let root = positional[0]
    if arguments.events != nil, !root.hasPrefix("s3://") || !arguments.isWatching {
      throw Failure(.usage, "--events goes with --watch and a ROOT that is s3://bucket/prefix")
    }
    if root.hasPrefix("s3://") { return try bucket(root, arguments, log) }
    if arguments.bucket.isGiven {
      throw Failure(.usage, "--s3-endpoint and --s3-region go with a ROOT that is s3://bucket/prefix")
    }
    let tree = try openTree("ROOT", root, create: false)
    return arguments.isWatching
      ? try watch(tree, root, arguments.stitching.configuration, log)
      : try once(tree, arguments, log)
  }

  private static func once(
    _ store: any StitchStore, _ arguments: Arguments, _ log: Log
  ) throws(Failure) -> ExitCode {
    let summary: StitchSummary
    do throws(StitchError) {
      summary = try stitchOnce(store, arguments.stitching.configuration, recording: arguments.recording, log: log)
    } catch {
      throw failure(error)
    }
    if let recording = arguments.recording, summary.recordings == 0 {
      throw Failure(.noInput, "--recording: there is no \(recording) in \(store.root)")
    }
    let failed = summary.failed == 0 ? "" : ", \(summary.failed) failed"
    log.info(
      "stitched",
      "\(counted(summary.recordings, "recording")): \(summary.ended) ended with "
        + "\(counted(summary.segments, "segment")), \(counted(summary.gaps, "gap"))\(failed)",
      [
        "recordings": .init(summary.recordings), "ended": .init(summary.ended), "segments": .init(summary.segments),
        "gaps": .init(summary.gaps), "failed": .init(summary.failed),
      ])
    return summary.failed == 0 ? .success : .ioError
  }

  private static func watch(
    _ tree: Tree, _ root: String, _ configuration: StitchConfiguration, _ log: Log
  ) throws(Failure) -> ExitCode {
    let stopping = try Stopping()
    let service = StitchService(tree, configuration, log: log)
    let watcher = TreeWatcher(tree, log: log) {
      service.hint($0)
    } lookAgain: {
      service.lookAgain()
    }
    do throws(StitchError) {
      // Watched first, so that nothing arrives unseen between the first look and the watch.
      do throws(SystemError) { try watcher.start() } catch { throw .system(error) }
      try service.start()
    } catch {
      watcher.stop()
      service.stop()
      throw failure(error)
    }
    log.info("watching", "watching \(root)", ["root": .text(root)])
    stopping.wait()
    watcher.stop()
    service.stop()
    log.info("stopped", "stopped")
    return .success
  }
}

extension StitchCommand {
  /// Over a bucket, where looking costs a request and others may be at work.
  private static func bucket(_ root: String, _ arguments: Arguments, _ log: Log) throws(Failure) -> ExitCode {
    let url: ServerURL
    do throws(UsageError) { url = try parseURL("ROOT", root) } catch { throw Failure(.usage, error.description) }
    let place = try arguments.bucket.resolved("ROOT")
    let redaction = Redaction(secrets: BucketArguments.secrets)
    let log = log.masked { redaction.masked($0) }
    var configuration = arguments.stitching.configuration
    configuration.lookAtRequests()
    var client = ClientConfiguration()
    client.keptConnections = configuration.threads + 2
    // Before there are other threads.
    let stopping = arguments.isWatching ? try Stopping() : nil
    let bucket = S3Bucket(url, endpoint: place.endpoint, region: place.source.region)
    let store: BucketStore
    do throws(ClientError) {
      store = BucketStore(
        try S3Client(bucket, place.source, client), root: "\(url)", log: arguments.isWatching ? log : .none)
    } catch {
      throw Failure(.usage, "ROOT: \(redaction.masked(error.description))")
    }
    guard let stopping else { return try once(store, arguments, log) }
    do throws(StorageError) {
      _ = try store.recordings()
    } catch {
      // A store that is away comes back; what is wrong for good is told at once.
      if error.remoteReason != .away { throw failure(.storage(error)) }
    }
    // Fixed parts need no talking.
    let lease = arguments.stitching.hasShard ? nil : WorkerLease(store, log: log)
    let service = StitchService(store, configuration, log: log, isOurs: { lease?.owns($0) ?? true })
    defer { lease?.stop() }
    defer { service.stop() }
    let events: StoreEventServer?
    do throws(StitchError) {
      try lease?.start { service.lookAgain() }
      events = try arguments.events.map { (address) throws(StitchError) in
        try listen(address, bucket: url.host, prefix: bucket.prefix, service, log)
      }
      try service.start()
    } catch {
      throw failure(error)
    }
    defer { events?.stop() }
    log.info("watching", "watching \(root)", ["root": .text(root)])
    stopping.wait()
    log.info("stopping", "stopping")
    return .success
  }

  private static func listen(
    _ address: ListenAddress, bucket: String, prefix: String, _ service: StitchService, _ log: Log
  ) throws(StitchError) -> StoreEventServer {
    do {
      let token = Environment.value("SEGREC_TOKEN") ?? ""
      let tokens = token.isEmpty ? AccessTokens() : try AccessTokens(parsing: token, source: "SEGREC_TOKEN")
      let server = try StoreEventServer(listeningOn: address, bucket: bucket, prefix: prefix, tokens: tokens) {
        service.hint($0)
      }
      log.info(
        "listening", "events are taken at http://\(server.address)/", ["address": .text("\(server.address)")])
      return server
    } catch {
      throw .events("--events: \(error)")
    }
  }
}

/// A root that another process stitches is a matter of waiting (75); anything else is not.
func failure(_ error: StitchError) -> Failure {
  switch error {
  case .busy: Failure(.temporaryFailure, error.description)
  case .system, .events: Failure(.unavailable, error.description)
  case .storage(let cause): Failure(exitCode(of: cause, reading: true), error.description)
  }
}
