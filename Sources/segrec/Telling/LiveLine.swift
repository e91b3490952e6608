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

/// `0:07:03`: hours without a limit, minutes and seconds.
func clockText(_ duration: Duration) -> String {
  let seconds = duration.components.seconds
  return "\(seconds / 3600):\(twoDigits(seconds / 60 % 60)):\(twoDigits(seconds % 60))"
}

/// `7.0 s`, `4 min 05 s`, `3 h 04 min`: for sentences.
func spokenDuration(_ duration: Duration) -> String {
  let (seconds, attoseconds) = duration.components
  if seconds < 60 { return "\(oneDecimal(Double(seconds) + Double(attoseconds) / 1e18)) s" }
  if seconds < 3600 { return "\(seconds / 60) min \(twoDigits(seconds % 60)) s" }
  return "\(seconds / 3600) h \(twoDigits(seconds / 60 % 60)) min"
}

func bitrateText(_ bitsPerSecond: Int64) -> String {
  if bitsPerSecond >= 1_000_000 { return "\(oneDecimal(Double(bitsPerSecond) / 1e6)) Mb/s" }
  return "\((bitsPerSecond + 500) / 1000) kb/s"
}

/// `812 B`, `41.3 kB`, `1.2 GB`: powers of 1000, as transfer sizes are told.
func byteText(_ bytes: Int64) -> String {
  let units = ["kB", "MB", "GB", "TB"]
  guard bytes >= 1000 else { return "\(bytes) B" }
  var value = Double(bytes) / 1000
  var unit = 0
  while value >= 999.95, unit < units.count - 1 {
    value /= 1000
    unit += 1
  }
  return "\(oneDecimal(value)) \(units[unit])"
}

/// `1 segment`, `3 segments`.
func counted(_ count: Int, _ noun: String) -> String { count == 1 ? "1 \(noun)" : "\(count) \(noun)s" }

private func twoDigits(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }

private func oneDecimal(_ value: Double) -> String {
  let tenths = Int64((value * 10).rounded())
  return "\(tenths / 10).\(abs(tenths % 10))"
}
