/// An instant of wall-clock time: whole milliseconds since 1970-01-01T00:00:00Z in UTC, leap seconds not counted
/// (POSIX.1-2017 §4.16). Years 0001 to 9999.
package struct WallClockTime: Hashable, Comparable, Sendable {
  package var milliseconds: Int64

  package init(milliseconds: Int64) {
    self.milliseconds = milliseconds
  }

  package static func < (a: WallClockTime, b: WallClockTime) -> Bool { a.milliseconds < b.milliseconds }

  /// The instant `ticks` 90 kHz ticks later, rounded to the nearest millisecond.
  package func advanced(byTicks ticks: Int64) -> WallClockTime {
    let scaled = ticks >= 0 ? ticks + 45 : ticks - 45
    return WallClockTime(milliseconds: milliseconds + scaled / 90)
  }

  /// Milliseconds from `earlier` to this instant; negative when `earlier` is later.
  package func milliseconds(since earlier: WallClockTime) -> Int64 { milliseconds - earlier.milliseconds }

  /// ISO 8601 basic form as it stands in names on disk: `20261130T021308.123Z`.
  package var compact: String {
    let c = components
    return "\(pad(c.year, 4))\(pad(c.month, 2))\(pad(c.day, 2))T\(pad(c.hour, 2))\(pad(c.minute, 2))\(pad(c.second, 2))"
      + ".\(pad(c.millisecond, 3))Z"
  }

  /// RFC 3339 form for playlists and logs: `2026-11-30T02:13:08.123Z`.
  package var rfc3339: String {
    let c = components
    return "\(pad(c.year, 4))-\(pad(c.month, 2))-\(pad(c.day, 2))T\(pad(c.hour, 2)):\(pad(c.minute, 2))"
      + ":\(pad(c.second, 2)).\(pad(c.millisecond, 3))Z"
  }

  /// Reads the compact form; nil for anything else, impossible dates included.
  package init?(compact: some StringProtocol) {
    var scanner = NameScanner(compact)
    guard let time = WallClockTime(&scanner), scanner.isAtEnd else { return nil }
    self = time
  }

  init?(_ scanner: inout NameScanner) {
    guard let year = scanner.number(digits: 4), let month = scanner.number(digits: 2),
      let day = scanner.number(digits: 2), scanner.skip("T"), let hour = scanner.number(digits: 2),
      let minute = scanner.number(digits: 2), let second = scanner.number(digits: 2), scanner.skip("."),
      let millisecond = scanner.number(digits: 3), scanner.skip("Z"),
      year >= 1, (1...12).contains(month), day >= 1, day <= daysIn(month: month, year: year),
      hour < 24, minute < 60, second < 60
    else { return nil }
    let seconds = ((daysSinceEpoch(year, month, day) * 24 + hour) * 60 + minute) * 60 + second
    self.init(milliseconds: seconds * 1000 + millisecond)
  }

  private var components: Components {
    let days = milliseconds.flooredDivision(by: 86_400_000)
    var rest = milliseconds - days * 86_400_000
    let date = civil(fromDays: days)
    let millisecond = rest % 1000
    rest /= 1000
    return Components(
      year: date.year, month: date.month, day: date.day, hour: rest / 3600, minute: rest / 60 % 60,
      second: rest % 60, millisecond: millisecond)
  }

  private struct Components {
    var year, month, day, hour, minute, second, millisecond: Int64
  }
}

private func pad(_ value: Int64, _ width: Int) -> String {
  let digits = String(value)
  return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
}

extension Int64 {
  fileprivate func flooredDivision(by divisor: Int64) -> Int64 {
    let quotient = self / divisor
    return self % divisor < 0 ? quotient - 1 : quotient
  }
}

private func isLeap(_ year: Int64) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

private func daysIn(month: Int64, year: Int64) -> Int64 {
  switch month {
  case 2: isLeap(year) ? 29 : 28
  case 4, 6, 9, 11: 30
  default: 31
  }
}

/// Days from 1970-01-01 to a date of the proleptic Gregorian calendar. Years are counted from March, so that the leap
/// day is the last of its year and month lengths follow one formula.
private func daysSinceEpoch(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
  let marchYear = month <= 2 ? year - 1 : year
  let marchMonth = month <= 2 ? month + 9 : month - 3
  let leapDays = marchYear / 4 - marchYear / 100 + marchYear / 400
  return marchYear * 365 + leapDays + (153 * marchMonth + 2) / 5 + day - 1 - 719_468
}

private func civil(fromDays days: Int64) -> (year: Int64, month: Int64, day: Int64) {
  let shifted = days + 719_468
  let era = shifted.flooredDivision(by: 146_097)
  let dayOfEra = shifted - era * 146_097
  let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
  let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
  let marchMonth = (5 * dayOfYear + 2) / 153
  let day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
  let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
  return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
}

extension WallClockTime {
  /// Reads the form `rfc3339` writes; nil for anything else, other spellings of RFC 3339 included.
  package init?(rfc3339 text: some StringProtocol) {
    // The compact form without its separators; one parser, and one set of impossible dates.
    self.init(compact: String(text.filter { $0 != "-" && $0 != ":" }))
    guard rfc3339 == text else { return nil }
  }
}
