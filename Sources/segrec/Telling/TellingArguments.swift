/// The options by which `record` and `upload` tell others what happens.
struct TellingArguments {
  var command: String?
  var socket: String?
  var metrics: String?

  static var group: OptionGroup<TellingArguments> {
    OptionGroup(
      title: "Telling others:",
      options: [
        Option(
          "--on-event", "COMMAND",
          "Runs this by the shell for each event, one at a time: a line of JSON on its standard input, the event's name in SEGREC_EVENT."
        ) { (arguments, text) throws(UsageError) in arguments.command = text },
        Option("--event-socket", "PATH", "A Unix socket that gives events as lines of JSON to whoever connects.") {
          (arguments, text) throws(UsageError) in arguments.socket = text
        },
        Option("--metrics", "FILE", "Keeps counters in this file, every 5 s, as Prometheus reads them.") {
          (arguments, text) throws(UsageError) in arguments.metrics = text
        },
      ])
  }
}
