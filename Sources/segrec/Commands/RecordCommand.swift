import Delivery
import HLS
import HTTP
import LibAV
import Platform
import Recording
import Storage
import Synchronization

/// `segrec record`: captures, cuts, keeps and, where there is a server, uploads.
enum RecordCommand: Command {
  typealias Arguments = RecordArguments

  static let name = "record"
  static let summary = "Records an input into segments, keeps them, and uploads them as it goes."
  static let usage = "--input URL [--upload URL] [OPTIONS]"
  static let notes = """
    Ctrl-C ends the recording cleanly: what is open is cut, and what is unsent is sent for up to --drain-timeout. A second
    Ctrl-C leaves at once; the spool keeps everything, and segrec upload sends it.

    Exit codes: 0 all done and acknowledged, 64 usage, 65 bad data, 66 no input, 69 unavailable, 73/74 cannot write,
    75 segments are still in the spool, 77 refused by the server.
    """
  static var defaults: RecordArguments { RecordArguments() }
  static var groups: [OptionGroup<RecordArguments>] { RecordArguments.groups }

  static func run(_ arguments: RecordArguments, positional: [String]) throws(Failure) -> ExitCode {
    let inputs = try RecordInputs(arguments)
    let delivery = try arguments.upload.optionalConfiguration()
    let redaction = Redaction(secrets: inputs.secrets + (delivery?.secrets ?? []))
    do throws(Failure) {
      let stopping = try Stopping()
      let telling = try Telling(arguments.telling, arguments.common.log.masked { redaction.masked($0) })
      return try telling.whole { () throws(Failure) in
        try record(arguments, inputs, delivery?.configuration, stopping, log: telling.log)
      }
    } catch {
      throw Failure(error.code, redaction.masked(error.message))
    }
  }

  private static func record(
    _ arguments: RecordArguments, _ inputs: RecordInputs, _ delivery: UploadConfiguration?, _ stopping: Stopping,
    log: Log
  ) throws(Failure) -> ExitCode {
    var configuration = arguments.settings
    configuration.inputs = inputs.inputs
    configuration.microphone = inputs.microphone
    configuration.push = inputs.push
    configuration.recording =
      arguments.recording
      ?? defaultRecordingName(
        WallClockTime(milliseconds: WallClock.now()), host: Environment.hostName, random: .random(in: 0...UInt16.max))
    do throws(RecordingError) {
      try configuration.validate()
    } catch {
      throw Failure(.usage, error.message)
    }
    let spool = arguments.spool ?? defaultSpool()
    let tree = try openTree("--spool", spool, create: true)
    configuration.keeper = SpoolKeeper(tree, arguments.upload.limits, log)
    // Each tells the other something: files that are there, and bits that there may be.
    let uploader = Mutex<Uploader?>(nil)
    let hint: @Sendable (EntryPath) -> Void = { path in uploader.withLock(\.self)?.hint(path) }
    let recorder = Recorder(configuration: configuration, tree: tree, log: log, onSegment: hint)
    var sending: Sending?
    if let delivery {
      let weak = WeakNetwork(configuration, fallback: arguments.fallbackBitRate, recorder)
      sending = try Sending(
        weak.laddered(delivery), tree: tree, recording: configuration.recording, mode: .live, log: log,
        onLadder: weak.follow)
      uploader.withLock { $0 = sending?.uploader }
    }
    // An input that cannot be opened is told once, by the error that ends the command.
    tellMediaLog(log) { recorder.progress().bytes > 0 }
    stopping.onRequest { recorder.requestStop() }
    let command = arguments.upload.command(spool: spool)
    stopping.onSecondRequest { [sending] in
      guard let sent = sending?.uploader.progress.sent else {
        log.error(
          "left", "left at once; the next segrec record --spool \(quoted(spool)) saves what the open segment holds")
        return
      }
      log.error(
        "left",
        "left at once; \(counted(recorder.progress().segments - sent, "segment")) not uploaded and kept in \(spool); to send: \(command)"
      )
    }
    let recording = configuration.recording
    let metrics = try MetricsThread(arguments.telling.metrics, log) { [sending] in
      Metrics(recording: recording, recorded: recorder.progress(), upload: sending?.uploader.progress)
    }
    defer { metrics.end() }
    let session = RecordSession(
      recorder: recorder, sending: sending, recording: configuration.recording, spool: spool,
      uploadCommand: command, isPushed: inputs.push != nil, hasVideo: configuration.video != .none,
      isPaced: configuration.isPaced, log: log)
    return try session.run()
  }
}
