// Values with units, as people type them. Each reader takes the option's name so that its error can say which it was.

/// A directory's path: anything but nothing, which is what a variable that is not set leaves.
func parseDirectory(_ option: String, _ text: String) throws(UsageError) -> String {
  if text.isEmpty { throw UsageError(option, "is empty; give a directory") }
  return text
}

/// A length of time: `5s`, `250ms`, `1.5h`, `24h`, `7d`, `2m`; a bare number is seconds. Not negative, and at most a
/// century.
func parseDuration(_ option: String, _ text: String) throws(UsageError) -> Duration {
  let units: [(String, Double)] = [
    ("ms", 0.001), ("s", 1), ("m", 60), ("min", 60), ("h", 3600), ("d", 86_400), ("", 1),
  ]
  let (number, unit) = splitUnit(text)
  guard let value = decimal(number), let scale = units.first(where: { $0.0 == unit })?.1,
    value * scale <= 3.2e9
  else {
    throw UsageError(option, "'\(text)' is not a duration; write for example 5s, 250ms, 10m, 24h or 7d")
  }
  return .milliseconds(Int64((value * scale * 1000).rounded()))
}

/// As `parseDuration`, but more than nothing.
func parsePositiveDuration(_ option: String, _ text: String) throws(UsageError) -> Duration {
  let duration = try parseDuration(option, text)
  guard duration > .zero else { throw UsageError(option, "must be longer than 0") }
  return duration
}

/// Bits per second: `2500k`, `2.5M`, `1000000`.
func parseBitrate(_ option: String, _ text: String) throws(UsageError) -> Int {
  let (number, unit) = splitUnit(text)
  let scale: Double? =
    switch unit {
    case "": 1
    case "k", "K", "kb/s", "kbps", "kbit/s": 1e3
    case "M", "m", "Mb/s", "Mbps", "Mbit/s": 1e6
    case "G", "g": 1e9
    default: nil
    }
  guard let value = decimal(number), let scale, value * scale >= 1, value * scale <= 1e12 else {
    throw UsageError(option, "'\(text)' is not a bit rate; write for example 2500k or 2.5M")
  }
  return Int((value * scale).rounded())
}

/// Bytes: `500M`, `10G`, `65536`. Powers of 1024.
func parseBytes(_ option: String, _ text: String) throws(UsageError) -> Int64 {
  let (number, unit) = splitUnit(text)
  let shift: Double? =
    switch unit {
    case "", "B": 0
    case "k", "K", "kB", "KB", "KiB": 10
    case "M", "MB", "MiB": 20
    case "G", "GB", "GiB": 30
    case "T", "TB", "TiB": 40
    default: nil
    }
  guard let value = decimal(number), let shift else {
    throw UsageError(option, "'\(text)' is not a size; write for example 500M or 10G")
  }
  var bytes = value
  for _ in 0..<Int(shift) { bytes *= 2 }
  guard bytes <= 9e18 else { throw UsageError(option, "'\(text)' is more than any disk holds") }
  return Int64(bytes.rounded())
}

/// A whole number within `range`.
func parseCount(_ option: String, _ text: String, in range: ClosedRange<Int>) throws(UsageError) -> Int {
  guard let value = Int(text), range.contains(value) else {
    throw UsageError(option, "'\(text)' is not a whole number from \(range.lowerBound) to \(range.upperBound)")
  }
  return value
}

/// A decimal number within `range`.
func parseDecimal(_ option: String, _ text: String, in range: ClosedRange<Double>) throws(UsageError) -> Double {
  guard let value = decimal(text), range.contains(value) else {
    throw UsageError(option, "'\(text)' is not a number from \(range.lowerBound) to \(range.upperBound)")
  }
  return value
}

/// One of the words an enumeration knows.
func parseChoice<Choice: RawRepresentable & CaseIterable>(_ option: String, _ text: String) throws(UsageError) -> Choice
where Choice.RawValue == String {
  guard let choice = Choice(rawValue: text) else {
    let words = Choice.allCases.map(\.rawValue).joined(separator: ", ")
    throw UsageError(option, "'\(text)' is not one of \(words)")
  }
  return choice
}

/// A pair `key=value`.
func parsePair(_ option: String, _ text: String) throws(UsageError) -> (key: String, value: String) {
  guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
    throw UsageError(option, "'\(text)' is not of the form key=value")
  }
  return (String(text[..<equals]), String(text[text.index(after: equals)...]))
}

private func splitUnit(_ text: String) -> (number: Substring, unit: Substring) {
  let end = text.firstIndex { !($0.isASCII && $0.isNumber) && $0 != "." } ?? text.endIndex
  return (text[..<end], text[end...])
}

/// Digits with at most one point between them; nothing else that `Double` would take.
func decimal(_ text: some StringProtocol) -> Double? {
  guard let first = text.first, first.isASCII, first.isNumber, text.last != ".",
    text.allSatisfy({ $0 == "." || ($0.isASCII && $0.isNumber) })
  else { return nil }
  return Double(String(text))
}
