import HLS
import Origin

/// The options that `serve` and `stitch` share: how segments become playlists.
struct StitchArguments {
  var configuration = StitchConfiguration()
  var hasShard = false

  static var group: OptionGroup<StitchArguments> {
    OptionGroup(
      title: "Playlists:",
      options: [
        Option("--window", "DURATION", "How far back live.m3u8 reaches (default 1h), or all.") {
          (arguments, text) throws(UsageError) in
          if text == "all" {
            arguments.configuration.policy.window = .all
          } else {
            let window = try parsePositiveDuration("--window", text)
            arguments.configuration.policy.window = .last(ticks: ticks(of: window))
          }
        },
        Option(
          "--gap-after", "DURATION",
          "How long a missing segment is waited for once a later one is there (default: three target durations)."
        ) { (arguments, text) throws(UsageError) in
          arguments.configuration.policy.gapAfter = try parseDuration("--gap-after", text)
        },
        Option(
          "--idle-end", "DURATION",
          "A recording without an end marker counts as over this long after its last arrival (default 24h; never for no end)."
        ) { (arguments, text) throws(UsageError) in
          arguments.configuration.policy.idleEnd = text == "never" ? nil : try parsePositiveDuration("--idle-end", text)
        },
        Option(
          "--target-duration", "SECONDS",
          "The least EXT-X-TARGETDURATION (default: from the segments; it never changes once published)."
        ) { (arguments, text) throws(UsageError) in
          let seconds = text.hasSuffix("s") ? String(text.dropLast()) : text
          arguments.configuration.policy.targetDuration = try parseCount("--target-duration", seconds, in: 1...3600)
        },
        Option("--shard", "I/N", "Looks after part I (from 0) of N parts of the recordings (default 0/1).") {
          (arguments, text) throws(UsageError) in
          let parts = text.split(separator: "/", omittingEmptySubsequences: false)
          guard parts.count == 2, let index = Int(parts[0]), let count = Int(parts[1]), (1...10_000).contains(count),
            (0..<count).contains(index)
          else { throw UsageError("--shard", "'\(text)' is not I/N; write for example 0/4, and 3/4 for the last") }
          arguments.configuration.shard = .init(index: index, count: count)
          arguments.hasShard = true
        },
      ])
  }
}

/// 90 kHz ticks in a duration, rounded down.
func ticks(of duration: Duration) -> Int64 {
  let (seconds, attoseconds) = duration.components
  return seconds * 90_000 + attoseconds / 1_000_000_000 * 90_000 / 1_000_000_000
}
