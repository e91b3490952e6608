import Glibc

/// Events as lines of text.
enum LogLine {
  /// A line with its line feed. Control characters never come through as they are: a message may quote input.
  static func render(_ event: Log.Event, _ format: Log.Format, milliseconds: Int64) -> String {
    switch format {
    case .json: json(event, milliseconds: milliseconds)
    case .text, .quiet: text(event)
    }
  }

  private static func text(_ event: Log.Event) -> String {
    let prefix =
      switch event.level {
      case .info: ""
      case .warning: "warning: "
      case .error: "error: "
      }
    var line = prefix
    for scalar in event.message.unicodeScalars {
      // C0, DEL and C1 controls would move a terminal's cursor or colour what follows.
      if scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) {
        line += scalar == "\n" ? " " : "?"
      } else {
        line.unicodeScalars.append(scalar)
      }
    }
    return line + "\n"
  }

  private static func json(_ event: Log.Event, milliseconds: Int64) -> String {
    var line = "{\"time\":\"\(timestamp(milliseconds))\",\"level\":\"\(event.level.rawValue)\",\"event\":"
    append(event.name, to: &line)
    line += ",\"message\":"
    append(event.message, to: &line)
    for (key, value) in event.fields {
      line += ","
      append(key, to: &line)
      line += ":"
      switch value {
      case .text(let text): append(text, to: &line)
      case .integer(let integer): line += String(integer)
      // JSON has no infinities and no NaN.
      case .number(let number): line += number.isFinite ? String(number) : "null"
      case .flag(let flag): line += flag ? "true" : "false"
      }
    }
    return line + "}\n"
  }

  /// A JSON string (RFC 8259 §7).
  private static func append(_ text: String, to line: inout String) {
    line += "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": line += "\\\""
      case "\\": line += "\\\\"
      case "\n": line += "\\n"
      case "\r": line += "\\r"
      case "\t": line += "\\t"
      case _ where scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value):
        let digits = String(scalar.value, radix: 16)
        line += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
      default: line.unicodeScalars.append(scalar)
      }
    }
    line += "\""
  }

  /// RFC 3339 in UTC with milliseconds.
  static func timestamp(_ milliseconds: Int64) -> String {
    var seconds = time_t(milliseconds / 1000)
    var parts = unsafe tm()
    unsafe gmtime_r(&seconds, &parts)
    func pad(_ value: Int, _ width: Int) -> String {
      let digits = String(value)
      return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
    return unsafe pad(Int(parts.tm_year) + 1900, 4) + "-" + pad(Int(parts.tm_mon) + 1, 2) + "-"
      + pad(Int(parts.tm_mday), 2)
      + "T" + pad(Int(parts.tm_hour), 2) + ":" + pad(Int(parts.tm_min), 2) + ":" + pad(Int(parts.tm_sec), 2)
      + "." + pad(Int(milliseconds % 1000), 3) + "Z"
  }
}
