/// Replaces `${NAME}` by the environment's value, so that secrets need not stand on the command line, where every user
/// of the machine can read them. `$${` stands for a literal `${`.
///
/// - Parameters:
///   - option: the option the text belongs to, for the error.
///   - lookup: the value of an environment variable, nil when it is not set.
/// - Returns: the expanded text and the values that were put in, which must never be printed.
func expandEnvironment(
  _ option: String, _ text: String, lookup: (String) -> String?
) throws(UsageError) -> (text: String, secrets: [String]) {
  var result = ""
  var secrets: [String] = []
  var rest = text[...]
  while let dollar = rest.firstIndex(of: "$") {
    result += rest[..<dollar]
    rest = rest[dollar...]
    if rest.hasPrefix("$${") {
      result += "${"
      rest = rest.dropFirst(3)
    } else if rest.hasPrefix("${"), let close = rest.firstIndex(of: "}") {
      let name = String(rest[rest.index(rest.startIndex, offsetBy: 2)..<close])
      guard isVariableName(name) else {
        throw UsageError(option, "'${\(name)}' is not the name of an environment variable")
      }
      guard let value = lookup(name) else {
        throw UsageError(option, "the environment variable \(name) is not set; set it or write $${ for a literal ${")
      }
      result += value
      if !value.isEmpty { secrets.append(value) }
      rest = rest[rest.index(after: close)...]
    } else {
      result.append("$")
      rest = rest.dropFirst()
    }
  }
  return (result + rest, secrets)
}

private func isVariableName(_ name: String) -> Bool {
  guard let first = name.utf8.first, !(0x30...0x39).contains(first) else { return false }
  return name.utf8.allSatisfy { byte in
    byte == UInt8(ascii: "_") || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
      || (0x61...0x7A).contains(byte)
  }
}
