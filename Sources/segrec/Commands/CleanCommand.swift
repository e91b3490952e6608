import HLS
import Origin
import Platform
import Storage

/// `segrec clean`: removes expired files, from cron as a rule.
enum CleanCommand: Command {
  struct Arguments: CommonlyOptioned {
    var common = CommonArguments()
    var place = PlaceArguments()
    /// The place in it is set when it is known.
    var settings = CleanConfiguration(.spool)
    var isJSON = false
  }

  static let name = "clean"
  static let summary = "Removes expired files; never anything unacknowledged unless told so."
  static let usage = "--spool DIR | --root DIR [OPTIONS]"
  static let notes = """
    Of a spool go the segments that a server has acknowledged, of a root whole recordings that have ended. It may run at
    any time, beside recorders, uploaders and servers.
    """
  static var defaults: Arguments { Arguments() }

  static var groups: [OptionGroup<Arguments>] {
    [
      PlaceArguments.group.within(\.place),
      OptionGroup(
        title: "What goes:",
        options: [
          Option("--max-age", "DURATION", "What ended longer ago than this goes (default 24h).") {
            (arguments, text) throws(UsageError) in
            arguments.settings.maximumAge = try parseDuration("--max-age", text)
          },
          Option("--max-size", "BYTES", "The oldest goes while there is more than this (default: no limit).") {
            (arguments, text) throws(UsageError) in
            arguments.settings.maximumSize = try parseBytes("--max-size", text)
          },
          Option(
            "--expire-unsent", "DURATION",
            "Segments of a spool that no server has acknowledged go when they ended longer ago than this (default: never)."
          ) { (arguments, text) throws(UsageError) in
            arguments.settings.unsentAge = try parseDuration("--expire-unsent", text)
          },
          Option(switch: "--dry-run", "Tells what would go and removes nothing.") { $0.settings.isDryRun = true },
          Option(switch: "--json", "Prints the result as JSON.") { $0.isJSON = true },
        ]),
      CommonArguments.group.within(\.common),
    ]
  }

  static func run(_ arguments: Arguments, positional: [String]) throws(Failure) -> ExitCode {
    let place = try arguments.place.required()
    var configuration = arguments.settings
    if case .root = place { configuration.place = .root }
    do throws(CleanConfigurationError) {
      try configuration.validate()
    } catch {
      throw Failure(.usage, error.description)
    }
    let tree = try openTree(place.option, place.path, create: false)
    let now = WallClockTime(milliseconds: WallClock.now())
    let report: CleanReport
    do throws(StorageError) {
      report = try Cleaner(configuration, tree, arguments.common.log).run(now: now)
    } catch {
      throw Failure(exitCode(of: error, reading: true), error.description)
    }
    let code = try result(report, arguments)
    return report.problemCount == 0 ? code : .ioError
  }

  private static func result(_ report: CleanReport, _ arguments: Arguments) throws(Failure) -> ExitCode {
    if arguments.isJSON { return printed(report.json + "\n") }
    // From cron, what went well is not worth a mail.
    return arguments.common.logFormat == .quiet ? .success : printed(report.text)
  }
}
