import Delivery
import HLS
import HTTP
import Platform
import Storage

/// `segrec upload`: sends what is in a spool.
enum UploadCommand: Command {
  struct Arguments: CommonlyOptioned {
    var common = CommonArguments()
    var spool: String?
    var upload = UploadArguments()
    var telling = TellingArguments()
    var isFollowing = false
    var retriesRefused = false
  }

  static let name = "upload"
  static let summary = "Sends what is in a spool: after a crash, as a service, or by hand."
  static let usage = "--spool DIR --upload URL [OPTIONS]"
  static let notes = """
    A recording that crashed is closed first, and what its open segment held becomes a segment. Runs beside recorders.
    """
  static var defaults: Arguments { Arguments() }

  static var groups: [OptionGroup<Arguments>] {
    [
      OptionGroup(
        title: "What:",
        options: [
          Option("--spool", "DIR", "The spool (default as for record).") { (arguments, text) throws(UsageError) in
            arguments.spool = try parseDirectory("--spool", text)
          },
          Option(switch: "--follow", "Goes on when all is sent, until it is stopped.") { $0.isFollowing = true },
          Option(switch: "--retry-refused", "Sends once more what the server refused for good before.") {
            $0.retriesRefused = true
          },
        ])
    ] + UploadArguments.groups.map { $0.within(\.upload) }
      + [TellingArguments.group.within(\.telling), CommonArguments.group.within(\.common)]
  }

  static func run(_ arguments: Arguments, positional: [String]) throws(Failure) -> ExitCode {
    guard let delivery = try arguments.upload.optionalConfiguration() else {
      throw Failure(.usage, "--upload URL is missing: where to send to")
    }
    let redaction = Redaction(secrets: delivery.secrets)
    let stopping = try Stopping()
    let telling = try Telling(arguments.telling, arguments.common.log.masked { redaction.masked($0) })
    return try telling.whole { () throws(Failure) in
      try upload(arguments, delivery.configuration, stopping, redaction: redaction, log: telling.log)
    }
  }

  private static func upload(
    _ arguments: Arguments, _ delivery: UploadConfiguration, _ stopping: Stopping, redaction: Redaction, log: Log
  ) throws(Failure) -> ExitCode {
    let spool = arguments.spool ?? defaultSpool()
    let tree = try openTree("--spool", spool, create: false)
    var configuration = delivery
    configuration.retryRefused = arguments.retriesRefused
    let sending = try Sending(
      configuration, tree: tree, recording: nil, mode: arguments.isFollowing ? .follow : .drain, log: log)
    stopping.onRequest { sending.uploader.stop() }
    stopping.onSecondRequest {
      let left = counted(sending.uploader.progress.backlogSegments, "segment")
      log.error("left", "left at once; \(left) not uploaded and kept in \(spool)")
    }
    let line = LiveLineThread(log) { _ in status(sending.uploader.progress) }
    defer { line.end() }
    let keeper = arguments.upload.limits == SpoolLimits() ? nil : SpoolKeeper(tree, arguments.upload.limits, log)
    let metrics = try MetricsThread(arguments.telling.metrics, log) { Metrics(upload: sending.uploader.progress) }
    defer { metrics.end() }
    while true {
      guard let result = sending.wait(.seconds(5)) else {
        keepRoom(keeper, log)
        continue
      }
      sending.join()
      line.end()
      return try tell(result, arguments, spool: spool, log: log, redaction: redaction)
    }
  }

  /// Nothing new comes into the spool from here; what may go, goes.
  private static func keepRoom(_ keeper: SpoolKeeper?, _ log: Log) {
    do throws(StorageError) {
      try keeper?.makeRoom(for: 0)
    } catch {
      if !error.isFull { log.warning("spool", "\(error)") }
    }
  }

  private static func tell(
    _ result: Result<UploadSummary, UploadError>, _ arguments: Arguments, spool: String, log: Log, redaction: Redaction
  ) throws(Failure) -> ExitCode {
    let summary: UploadSummary
    switch result {
    case .success(let ended): summary = ended
    case .failure(let error): throw Failure(exitCode(of: error), redaction.masked(error.description))
    }
    log.info(
      "uploaded",
      "sent \(counted(summary.sent, "segment")), \(byteText(summary.sentBytes)); "
        + "\(summary.remaining + summary.refused) in the spool",
      [
        "sent": .init(summary.sent), "bytes": .init(summary.sentBytes), "unsent": .init(summary.remaining),
        "refused": .init(summary.refused),
      ])
    if let rest = shortfall(summary, spool: spool, command: arguments.upload.command(spool: spool)) {
      throw Failure(rest.code, redaction.masked(rest.message))
    }
    return .success
  }

  private static func status(_ progress: UploadProgress) -> LiveStatus {
    let word =
      switch progress.state {
      case .idle: "waiting"
      case .sending: "sending"
      case .retrying: "retrying"
      case .unreachable: "server unreachable"
      case .paused: "server refuses"
      }
    return LiveStatus(
      time: .milliseconds(Int64(progress.backlogSeconds * 1000)), bitrate: Int64(progress.goodput ?? 0),
      segments: progress.sent, backlog: progress.backlogSegments, state: word, hasVideo: false)
  }
}
