import HLS
import Origin
import Platform
import Storage

/// `segrec status`: what a spool or root holds.
enum StatusCommand: Command {
  struct Arguments: CommonlyOptioned {
    var common = CommonArguments()
    var place = PlaceArguments()
    var isJSON = false
    var isWatching = false
  }

  static let name = "status"
  static let summary = "Tells what a spool or root holds: recordings, segments, backlog, gaps."
  static let usage = "--spool DIR | --root DIR [OPTIONS]"
  static var defaults: Arguments { Arguments() }

  static var groups: [OptionGroup<Arguments>] {
    [
      PlaceArguments.group.within(\.place),
      OptionGroup(
        title: "How:",
        options: [
          Option(switch: "--json", "Prints JSON, for scripts.") { $0.isJSON = true },
          Option(switch: "--watch", "Tells again every two seconds, until it is stopped.") { $0.isWatching = true },
        ]),
      CommonArguments.group.within(\.common),
    ]
  }

  static func run(_ arguments: Arguments, positional: [String]) throws(Failure) -> ExitCode {
    let place = try arguments.place.required()
    let tree = try openTree(place.option, place.path, create: false)
    guard arguments.isWatching else { return printed(try report(tree, place, arguments)) }
    let stopping = try Stopping()
    // A terminal is cleared before each report; a pipe gets one after the other.
    let clear = Terminal.isTerminal(Terminal.standardOutput) ? "\u{1B}[H\u{1B}[2J" : ""
    repeat {
      let code = printed(clear + (try report(tree, place, arguments)))
      if code != .success { return code }
    } while !stopping.wait(.seconds(2))
    return .success
  }

  private static func report(
    _ tree: Tree, _ place: PlaceArguments.Place, _ arguments: Arguments
  ) throws(Failure) -> String {
    let now = WallClockTime(milliseconds: WallClock.now())
    do throws(StorageError) {
      let report: StatusReport
      if case .spool = place {
        report = try StatusReport.gather(tree, .spool, now: now)
      } else {
        report = try StatusReport.gather(tree, .root, now: now)
      }
      return arguments.isJSON ? report.json + "\n" : report.text(width: Terminal.width(Terminal.standardOutput))
    } catch {
      throw Failure(exitCode(of: error, reading: true), error.description)
    }
  }
}
