import HLS
import LibAV
import Origin
import Platform
import Storage

/// `segrec export`: one faststart MP4 of a whole recording, without re-encoding.
enum ExportCommand: Command {
  struct Arguments: CommonlyOptioned {
    var common = CommonArguments()
    var runs: Set<RunName>?
    var replaces = false
  }

  static let name = "export"
  static let summary = "Makes one MP4 of a whole recording, without encoding again."
  static let usage = "RECORDING OUT.mp4 [OPTIONS]"
  static let positional = ["RECORDING", "OUT.mp4"]
  static let notes = "RECORDING is a recording's directory: /var/lib/segrec/lecture-7."
  static var defaults: Arguments { Arguments() }

  static var groups: [OptionGroup<Arguments>] {
    [
      OptionGroup(
        title: "What:",
        options: [
          Option("--run", "NAME", "Only this run; may be given again (default: all runs, one behind the other).") {
            (arguments, text) throws(UsageError) in
            guard let run = RunName(text) else {
              throw UsageError("--run", "'\(text)' is not a run; they are the directories inside a rendition's")
            }
            arguments.runs = (arguments.runs ?? []).union([run])
          },
          Option(switch: "--replace", "Replaces OUT.mp4 if it is there.") { $0.replaces = true },
        ]),
      CommonArguments.group.within(\.common),
    ]
  }

  static func run(_ arguments: Arguments, positional: [String]) throws(Failure) -> ExitCode {
    let (root, recording) = try place(positional[0])
    let tree = try openTree("RECORDING", root, create: false)
    var configuration = ExportConfiguration(recording: recording, path: positional[1])
    configuration.runs = arguments.runs
    configuration.replacesExisting = arguments.replaces
    let stopping = try Stopping()
    let interruption = Interruption()
    stopping.onRequest { interruption.stop() }
    let log = arguments.common.log
    tellMediaLog(log)
    do throws(ExportError) {
      let summary = try exportRecording(tree, configuration, log: log, interruption: interruption) { progress in
        let percent = progress.totalTicks > 0 ? progress.ticks * 100 / progress.totalTicks : 0
        log.showLive("exporting \(recording)  \(percent) %")
      }
      log.showLive(nil)
      let missing = summary.missing == 0 ? "" : ", \(counted(summary.missing, "segment")) missing"
      log.info(
        "exported",
        "exported \(recording) to \(positional[1]): \(spokenDuration(.milliseconds(summary.ticks / 90))), "
          + "\(byteText(summary.bytes))\(missing)",
        [
          "recording": .init(recording), "path": .text(positional[1]),
          "seconds": .number(Double(summary.ticks) / 90_000),
          "bytes": .init(summary.bytes), "segments": .init(summary.segments), "missing": .init(summary.missing),
        ])
      return .success
    } catch {
      log.showLive(nil)
      throw Failure(exitCode(of: error), error.description)
    }
  }

  /// The root and the name in a recording's path.
  private static func place(_ path: String) throws(Failure) -> (root: String, recording: RecordingName) {
    var trimmed = path[...]
    while trimmed.count > 1, trimmed.hasSuffix("/") { trimmed.removeLast() }
    let parts = trimmed.split(separator: "/", omittingEmptySubsequences: false)
    guard let last = parts.last, let recording = RecordingName(last) else {
      throw Failure(.usage, "RECORDING: '\(path)' is not a recording's directory")
    }
    let root = parts.dropLast().joined(separator: "/")
    return (root.isEmpty ? (path.hasPrefix("/") ? "/" : ".") : root, recording)
  }

  private static func exitCode(of error: ExportError) -> ExitCode {
    switch error {
    case .nothing, .noSuchRun: .noInput
    case .incompatible, .media: .badData
    case .exists: .cannotCreate
    case .storage(let error): segrec.exitCode(of: error, reading: true)
    case .system(let error): error.operation == "create" ? .cannotCreate : .ioError
    case .stopped: .temporaryFailure
    }
  }
}
