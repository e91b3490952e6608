/// How the segments of a rendition become its live playlist.
package struct StitchingPolicy: Equatable, Sendable {
  package enum Window: Equatable, Sendable {
    /// The list keeps at least this many 90 kHz ticks, and never less than three target durations
    /// (RFC 8216bis-20 §6.2.2).
    case last(ticks: Int64)
    /// The list keeps everything (EXT-X-PLAYLIST-TYPE:EVENT).
    case all
  }

  package var window = Window.last(ticks: 3_600 * 90_000)
  /// How long a missing segment is waited for once a later one is here; nil is three target durations.
  package var gapAfter: Duration?
  /// How long after the last arrival a recording without a complete `.end` counts as over; nil is never.
  package var idleEnd: Duration? = .seconds(86_400)
  /// The least target duration in seconds; nil leaves it to `TargetDuration`.
  package var targetDuration: Int?
  /// Longest time in 90 kHz ticks that is filled with EXT-X-GAP entries. A longer hole (a clock that was wrong, a name
  /// that lies) becomes a discontinuity: a list must not grow by what one name claims.
  package var longestGap: Int64 = 3_600 * 90_000

  package init() {}
}

/// The target duration of a live playlist, which never changes once published (RFC 8216bis-20 §4.4.3.1, §6.2.1).
package enum TargetDuration {
  /// Seconds of a media segment unless `record` is told otherwise. A first segment may be shorter than those to come
  /// (salvaged after a crash), so that nothing lower is promised.
  package static let floor = 5

  /// - Parameters:
  ///   - longest: longest segment known so far, in 90 kHz ticks.
  ///   - reserved: `--target-duration` in seconds.
  /// - Returns: seconds. Encoded segments last whole seconds to the frame. A duration that does not comes from cutting a
  ///   copied stream at its own keyframes, where a later segment may be longer: one second is kept in reserve.
  package static func choose(longest: Int64, reserved: Int?) -> Int {
    let rounded = MediaPlaylist.roundedSeconds(longest)
    if let reserved { return max(rounded, reserved, 1) }
    // 50 ms: one frame at 25 fps and a little.
    let isWhole = abs(longest - Int64(rounded) * 90_000) <= 4_500
    return max(floor, isWhole || rounded < floor ? rounded : rounded + 1)
  }
}
