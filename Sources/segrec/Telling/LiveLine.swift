import Platform

/// What the one live line on a terminal shows.
struct LiveStatus: Equatable {
  /// Media time recorded.
  var time: Duration = .zero
  var framesPerSecond: Double = 0
  var dropped: Int64 = 0
  var refilled: Int64 = 0
  /// Bits per second over the last seconds.
  var bitrate: Int64 = 0
  var segments: Int = 0
  /// Segments not yet acknowledged; nil when nothing is uploaded.
  var backlog: Int?
  /// One word or two: `recording`, `uploading`, `server unreachable`.
  var state: String = ""
  /// False when there is no picture.
  var hasVideo = true
}

/// Renders the live line within a terminal's width; the state stands first, so that it is never what is cut off.
///
/// - Parameter width: columns; the result never has more, so that the line does not wrap.
func renderLiveLine(_ status: LiveStatus, width: Int) -> String {
  var parts = [status.state, clockText(status.time)]
  if status.hasVideo {
    parts.append("\(oneDecimal(status.framesPerSecond)) fps")
    parts.append("dropped \(status.dropped)")
    parts.append("refilled \(status.refilled)")
  }
  parts.append(bitrateText(status.bitrate))
  parts.append("segments \(status.segments)")
  if let backlog = status.backlog { parts.append("backlog \(backlog)") }
  return String(parts.filter { !$0.isEmpty }.joined(separator: "  ").prefix(max(0, width)))
}
