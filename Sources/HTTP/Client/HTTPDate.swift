/// An HTTP date (RFC 9110 §5.6.7) in milliseconds since 1970-01-01T00:00:00Z. All three forms are read: IMF-fixdate
/// (`Sun, 06 Nov 1994 08:49:37 GMT`), RFC 850 (`Sunday, 06-Nov-94 08:49:37 GMT`) and asctime
/// (`Sun Nov  6 08:49:37 1994`). A two-digit year stands for the one at most 50 years after `now`.
package func parseHTTPDate(_ text: String, now: Int64) -> Int64? {
  let words = text.split(whereSeparator: { " ,-".contains($0) })
  guard words.count == 5 || words.count == 6 else { return nil }
  let isAsctime = words.count == 5
  guard isAsctime || words[5] == "GMT" else { return nil }
  let (dayText, monthText, timeText, yearText) =
    isAsctime ? (words[2], words[1], words[3], words[4]) : (words[1], words[2], words[4], words[3])
  guard let day = number(dayText, 1...31), let month = months.firstIndex(of: monthText.lowercased()),
    var year = number(yearText, 0...9999)
  else { return nil }
  let time = timeText.split(separator: ":", omittingEmptySubsequences: false)
  guard time.count == 3, let hour = number(time[0], 0...23), let minute = number(time[1], 0...59),
    let second = number(time[2], 0...60)
  else { return nil }
  if yearText.utf8.count == 2 {
    let thisYear = 1970 + now / 31_556_952_000
    year += thisYear / 100 * 100
    if year > thisYear + 50 { year -= 100 }
  }
  return ((daysSinceEpoch(year, Int64(month) + 1, day) * 24 + hour) * 60 + minute) * 60_000 + second * 1000
}

/// How long `Retry-After` (RFC 9110 §10.2.3) asks to wait: seconds, or an HTTP date measured against the server's own
/// `Date` where it sent one, since its clock need not be ours. Never negative; nil when it cannot be read.
package func parseRetryAfter(_ text: String, serverDate: Int64?, now: Int64) -> Duration? {
  if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
    return .seconds(Int64(text) ?? 86_400)
  }
  guard let date = parseHTTPDate(text, now: now) else { return nil }
  return .milliseconds(max(0, date - (serverDate ?? now)))
}

/// `2026-11-30T02:13:08Z` or `2026-11-30T02:13:08.123Z` (RFC 3339, UTC), in milliseconds since 1970-01-01T00:00:00Z.
/// Fractions are cut after the third digit; nil for anything else.
func parseISODate(_ text: String) -> Int64? {
  guard text.hasSuffix("Z") else { return nil }
  let halves = text.dropLast().split(separator: "T", omittingEmptySubsequences: false)
  guard halves.count == 2 else { return nil }
  let date = halves[0].split(separator: "-", omittingEmptySubsequences: false)
  let time = halves[1].split(separator: ":", omittingEmptySubsequences: false)
  guard date.count == 3, time.count == 3, let year = number(date[0], 1970...9999), let month = number(date[1], 1...12),
    let day = number(date[2], 1...31), let hour = number(time[0], 0...23), let minute = number(time[1], 0...59)
  else { return nil }
  let parts = time[2].split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
  guard let second = number(parts[0], 0...60) else { return nil }
  var milliseconds: Int64 = 0
  if parts.count > 1 {
    guard let fraction = number((parts[1] + "000").prefix(3), 0...999) else { return nil }
    milliseconds = fraction
  }
  return ((daysSinceEpoch(year, month, day) * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + milliseconds
}

private let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

private func number(_ text: Substring, _ range: ClosedRange<Int64>) -> Int64? {
  guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let value = Int64(text),
    range.contains(value)
  else { return nil }
  return value
}

/// Days from 1970-01-01 to a date of the Gregorian calendar, years 0 to 9999.
private func daysSinceEpoch(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
  let before = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334][Int(month) - 1]
  let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
  let past = max(0, year - 1)
  let leapDays = past / 4 - past / 100 + past / 400
  return year * 365 + leapDays + Int64(before) + (isLeap && month > 2 ? 1 : 0) + day - 1 - 719_162 - 365
}

/// `20261130T021308Z`, as AWS signatures carry it (ISO 8601 basic form). For instants since 1970.
package func basicTimestamp(_ milliseconds: Int64) -> String {
  let seconds = milliseconds / 1000
  let (days, rest) = (seconds / 86_400, seconds % 86_400)
  var year: Int64 = 1970 + days / 366
  while daysSinceEpoch(year + 1, 1, 1) <= days { year += 1 }
  var month: Int64 = 12
  while daysSinceEpoch(year, month, 1) > days { month -= 1 }
  let day = days - daysSinceEpoch(year, month, 1) + 1
  func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
  return "\(year)\(two(month))\(two(day))T\(two(rest / 3600))\(two(rest / 60 % 60))\(two(rest % 60))Z"
}
