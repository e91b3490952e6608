/// One option of a command. Parsing, help and errors all come from this one description.
struct Option<Arguments> {
  /// The name with its dashes: `--segment-duration`.
  let name: String
  /// How the value is called in the help; nil for a switch, which takes none.
  let placeholder: String?
  /// One sentence with the default and the unit.
  let help: String
  let apply: (inout Arguments, String) throws(UsageError) -> Void

  init(
    _ name: String, _ placeholder: String, _ help: String,
    apply: @escaping (inout Arguments, String) throws(UsageError) -> Void
  ) {
    self.name = name
    self.placeholder = placeholder
    self.help = help
    self.apply = apply
  }

  init(switch name: String, _ help: String, apply: @escaping (inout Arguments) -> Void) {
    self.name = name
    self.placeholder = nil
    self.help = help
    self.apply = { (arguments, _) throws(UsageError) in apply(&arguments) }
  }

  /// The same option for a command whose arguments contain these.
  func within<Outer>(_ path: WritableKeyPath<Outer, Arguments>) -> Option<Outer> {
    let apply = self.apply
    if let placeholder {
      return Option<Outer>(name, placeholder, help) { (outer, text) throws(UsageError) in
        try apply(&outer[keyPath: path], text)
      }
    }
    return Option<Outer>(name: name, placeholder: nil, help: help) { (outer, text) throws(UsageError) in
      try apply(&outer[keyPath: path], text)
    }
  }

  private init(
    name: String, placeholder: String?, help: String,
    apply: @escaping (inout Arguments, String) throws(UsageError) -> Void
  ) {
    self.name = name
    self.placeholder = placeholder
    self.help = help
    self.apply = apply
  }
}

/// A titled group of options, as the help shows them.
struct OptionGroup<Arguments> {
  let title: String
  let options: [Option<Arguments>]

  func within<Outer>(_ path: WritableKeyPath<Outer, Arguments>) -> OptionGroup<Outer> {
    OptionGroup<Outer>(title: title, options: options.map { $0.within(path) })
  }
}

/// Reads a command line against a table.
struct OptionParser<Arguments> {
  let groups: [OptionGroup<Arguments>]
  /// Names of the positional arguments, all required, in order.
  let positional: [String]

  /// What the words of a command line ask for.
  enum Outcome {
    case arguments(Arguments, positional: [String])
    case help
  }

  /// - Parameters:
  ///   - words: what follows the command's name.
  ///   - initial: the defaults.
  func parse(_ words: [String], into initial: Arguments) throws(UsageError) -> Outcome {
    var arguments = initial
    var found: [String] = []
    var index = 0
    var optionsEnded = false
    while index < words.count {
      let word = words[index]
      index += 1
      if optionsEnded || !word.hasPrefix("-") || word == "-" {
        found.append(word)
        continue
      }
      if word == "--" {
        optionsEnded = true
        continue
      }
      if word == "-h" || word == "--help" { return .help }
      let (name, attached) = split(word)
      guard let option = option(named: name) else { throw unknown(name) }
      if option.placeholder == nil {
        if attached != nil { throw UsageError(name, "takes no value") }
        try option.apply(&arguments, "")
      } else if let attached {
        try option.apply(&arguments, attached)
      } else if index < words.count {
        try option.apply(&arguments, words[index])
        index += 1
      } else {
        throw UsageError(name, "needs a value (\(option.placeholder ?? ""))")
      }
    }
    if found.count < positional.count {
      throw UsageError(positional[found.count], "is missing")
    }
    if found.count > positional.count {
      throw UsageError("'\(found[positional.count])'", "is not expected here; options start with --")
    }
    return .arguments(arguments, positional: found)
  }

  /// The options as text, one or two lines each, at most 100 columns.
  var help: String {
    var text = ""
    for group in groups {
      text += "\n\(group.title)\n"
      for option in group.options {
        let head = option.placeholder.map { "\(option.name) \($0)" } ?? option.name
        text += wrapped(head: head, body: option.help)
      }
    }
    return text
  }

  private func split(_ word: String) -> (name: String, value: String?) {
    guard let equals = word.firstIndex(of: "=") else { return (word, nil) }
    return (String(word[..<equals]), String(word[word.index(after: equals)...]))
  }

  private func option(named name: String) -> Option<Arguments>? {
    for group in groups {
      if let option = group.options.first(where: { $0.name == name }) { return option }
    }
    return nil
  }

  private func unknown(_ name: String) -> UsageError {
    let names = groups.flatMap { $0.options.map(\.name) }
    let nearest = names.map { ($0, editDistance($0, name)) }.min { $0.1 < $1.1 }
    if let nearest, nearest.1 <= max(2, name.count / 4) {
      return UsageError(name, "is not an option; did you mean \(nearest.0)?")
    }
    return UsageError(name, "is not an option; --help lists them")
  }
}

private func wrapped(head: String, body: String) -> String {
  let column = 30
  var lines: [String] = []
  var line = "  " + head
  if line.count >= column - 1 {
    lines.append(line)
    line = ""
  }
  line += String(repeating: " ", count: max(0, column - line.count))
  var isEmpty = true
  for word in body.split(separator: " ") {
    if !isEmpty, line.count + 1 + word.count > 100 {
      lines.append(line)
      line = String(repeating: " ", count: column)
      isEmpty = true
    }
    line += isEmpty ? String(word) : " \(word)"
    isEmpty = false
  }
  lines.append(line)
  return lines.joined(separator: "\n") + "\n"
}

/// Levenshtein distance: how many characters differ between what was typed and what exists.
func editDistance(_ a: String, _ b: String) -> Int {
  let target = Array(b)
  var row = Array(0...target.count)
  for (i, x) in a.enumerated() {
    var diagonal = row[0]
    row[0] = i + 1
    for (j, y) in target.enumerated() {
      let substituted = diagonal + (x == y ? 0 : 1)
      diagonal = row[j + 1]
      row[j + 1] = min(substituted, row[j] + 1, row[j + 1] + 1)
    }
  }
  return row[target.count]
}
