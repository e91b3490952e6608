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

/// Renders the live line within a terminal's width. Where it is narrow, what matters least is left out first: the state,
/// the time and the backlog stay longest.
///
/// - Parameter width: columns; the result never has more, so that the line does not wrap.
func renderLiveLine(_ status: LiveStatus, width: Int) -> String {
  // What stands where, and how much it matters.
  var parts = [(status.state, 9), (clockText(status.time), 8)]
  if status.hasVideo {
    parts.append(("\(oneDecimal(status.framesPerSecond)) fps", 3))
    parts.append(("dropped \(status.dropped)", 5))
    parts.append(("refilled \(status.refilled)", 1))
  }
  parts.append((bitrateText(status.bitrate), 2))
  parts.append(("segments \(status.segments)", 4))
  if let backlog = status.backlog { parts.append(("backlog \(backlog)", 7)) }
  parts.removeAll { $0.0.isEmpty }
  func joined() -> String { parts.map(\.0).joined(separator: "  ") }
  while joined().count > width, parts.count > 1, let least = parts.indices.min(by: { parts[$0].1 < parts[$1].1 }) {
    parts.remove(at: least)
  }
  return String(joined().prefix(max(0, width)))
}
