import Platform

/// One of segrec's commands: a table of options and what is done with them.
protocol Command {
  associatedtype Arguments: CommonlyOptioned
  /// The word after `segrec`.
  static var name: String { get }
  /// One line for the list of commands.
  static var summary: String { get }
  /// What follows the name in the usage line.
  static var usage: String { get }
  /// Examples or remarks below the options; empty for none.
  static var notes: String { get }
  static var defaults: Arguments { get }
  static var groups: [OptionGroup<Arguments>] { get }
  static var positional: [String] { get }
  /// - Parameter positional: as many words as `Self.positional` names.
  static func run(_ arguments: Arguments, positional: [String]) throws(Failure) -> ExitCode
}

extension Command {
  static var notes: String { "" }
  static var positional: [String] { [] }

  static var help: String {
    let parser = OptionParser(groups: groups, positional: positional)
    let tail = notes.isEmpty ? "" : "\n\(notes)\n"
    return "usage: segrec \(name) \(usage)\n\n\(summary)\n\(parser.help)\(tail)"
  }

  /// Parses, runs, and tells what went wrong in one line.
  static func main(_ words: [String]) -> ExitCode {
    let outcome: OptionParser<Arguments>.Outcome
    do throws(UsageError) {
      outcome = try OptionParser(groups: groups, positional: positional).parse(words, into: defaults)
    } catch {
      return CommonArguments(askedForIn: words).tell(Failure(.usage, error.description), of: name)
    }
    switch outcome {
    case .help: return printed(help)
    case .arguments(let arguments, let positional):
      do throws(Failure) {
        return try run(arguments, positional: positional)
      } catch {
        return arguments.common.tell(error, of: name)
      }
    }
  }
}

/// Why a command ends without having done all: the exit code, and the line that says so.
struct Failure: Error, Equatable {
  let code: ExitCode
  let message: String

  init(_ code: ExitCode, _ message: String) {
    self.code = code
    self.message = message
  }
}

/// Runs the command that the words name.
///
/// - Parameter words: the program's arguments, its own name first.
func runProgram(_ words: [String], commands: [any Command.Type]) -> ExitCode {
  guard words.count >= 2 else {
    complain(overview(commands))
    return .usage
  }
  let word = words[1]
  let rest = Array(words.dropFirst(2))
  switch word {
  case "--version": return printed("segrec \(version)\n")
  case "-h", "--help": return printed(overview(commands))
  case "help":
    guard let topic = rest.first else { return printed(overview(commands)) }
    guard let command = commands.first(where: { $0.name == topic }) else { return unknown(topic, commands) }
    return printed(command.help)
  default:
    guard let command = commands.first(where: { $0.name == word }) else { return unknown(word, commands) }
    return command.main(rest)
  }
}

/// Follows semantic versioning for the command line, the names on disk and what travels.
let version = "0.1.0"

private func overview(_ commands: [any Command.Type]) -> String {
  var text = "usage: segrec COMMAND [OPTIONS]\n\nRecords, keeps and uploads; nothing is lost when the network is.\n\n"
  for command in commands {
    text += "  \(command.name)\(String(repeating: " ", count: max(1, 10 - command.name.count)))\(command.summary)\n"
  }
  return text + "\nsegrec COMMAND --help explains a command; --version tells which segrec this is.\n"
}

private func unknown(_ word: String, _ commands: [any Command.Type]) -> ExitCode {
  let nearest = commands.map { ($0.name, editDistance($0.name, word)) }.min { $0.1 < $1.1 }
  if let nearest, nearest.1 <= 2 {
    complain("segrec: '\(word)' is not a command; did you mean \(nearest.0)?")
  } else {
    complain("segrec: '\(word)' is not a command; segrec --help lists them")
  }
  return .usage
}

/// Writes a result to standard output.
func printed(_ text: String) -> ExitCode {
  do throws(SystemError) {
    try Terminal.write(text, to: Terminal.standardOutput)
    return .success
  } catch {
    complain("segrec: \(error)")
    return .ioError
  }
}

/// Writes a line to standard error.
func complain(_ line: String) {
  do throws(SystemError) {
    try Terminal.write(line.hasSuffix("\n") ? line : line + "\n", to: Terminal.standardError)
  } catch {
    // Standard error is where errors go: when it is closed there is nobody left to tell, and the exit code speaks.
  }
}
