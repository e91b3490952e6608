// Amounts as people read them, the same wherever segrec tells them.

/// `0:07:03`: hours without a limit, minutes and seconds.
package func clockText(_ duration: Duration) -> String {
  let seconds = duration.components.seconds
  return "\(seconds / 3600):\(twoDigits(seconds / 60 % 60)):\(twoDigits(seconds % 60))"
}

/// `7.0 s`, `4 min 05 s`, `3 h 04 min`: for sentences.
package func spokenDuration(_ duration: Duration) -> String {
  let (seconds, attoseconds) = duration.components
  if seconds < 60 { return "\(oneDecimal(Double(seconds) + Double(attoseconds) / 1e18)) s" }
  if seconds < 3600 { return "\(seconds / 60) min \(twoDigits(seconds % 60)) s" }
  return "\(seconds / 3600) h \(twoDigits(seconds / 60 % 60)) min"
}

package func bitrateText(_ bitsPerSecond: Int64) -> String {
  if bitsPerSecond >= 1_000_000 { return "\(oneDecimal(Double(bitsPerSecond) / 1e6)) Mb/s" }
  return "\((bitsPerSecond + 500) / 1000) kb/s"
}

/// `812 B`, `41.3 kB`, `1.2 GB`: powers of 1000, as transfer sizes are told.
package func byteText(_ bytes: Int64) -> String {
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
package func counted(_ count: Int, _ noun: String) -> String { count == 1 ? "1 \(noun)" : "\(count) \(noun)s" }

private func twoDigits(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }

/// `12.3`.
package func oneDecimal(_ value: Double) -> String {
  let tenths = Int64((value * 10).rounded())
  return "\(tenths / 10).\(abs(tenths % 10))"
}
