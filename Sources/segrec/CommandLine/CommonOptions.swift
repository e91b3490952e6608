import Platform

/// Arguments of a command, those that every command takes among them.
protocol CommonlyOptioned {
  var common: CommonArguments { get }
}

/// What every command takes.
struct CommonArguments {
  var logFormat: Log.Format = .text

  init() {}

  /// What words ask for of which something else is wrong.
  init(askedForIn words: [String]) {
    let asked = zip(words, words.dropFirst()).contains { $0 == "--log" && $1 == "json" }
    if asked || words.contains("--log=json") { logFormat = .json }
  }

  var log: Log { Log(format: logFormat) }

  /// Says why a command failed, in its last line.
  func tell(_ failure: Failure, of command: String) -> ExitCode {
    if logFormat == .json {
      log.error("exit", failure.message, ["code": .init(failure.code.rawValue)])
    } else {
      complain("segrec \(command): \(failure.message)")
    }
    return failure.code
  }

  static var group: OptionGroup<CommonArguments> {
    OptionGroup(
      title: "Everywhere:",
      options: [
        Option("--log", "FORMAT", "How events are told on standard error: text, json or quiet (default text).") {
          (arguments, text) throws(UsageError) in
          arguments.logFormat = try parseChoice("--log", text)
        }
      ])
  }
}

/// Reads a secret from a file: its first line, without the line feed. A trailing line feed is what editors add.
///
/// - Parameter limit: bytes; a larger file is not a token but a mistake.
func readSecret(_ option: String, file path: String, limit: Int = 65_536) throws(Failure) -> String {
  let text = try readText(option, file: path, limit: limit)
  guard let line = text.split(whereSeparator: \.isNewline).first, !line.isEmpty else {
    throw Failure(.usage, "\(option): \(path) is empty")
  }
  return String(line)
}

/// Reads a small text file that an option names.
func readText(_ option: String, file path: String, limit: Int = 65_536) throws(Failure) -> String {
  let bytes: [UInt8]
  do throws(SystemError) {
    bytes = try FileDescriptor.open(forReading: path).readAll(limit: limit)
  } catch {
    throw Failure(.noInput, "\(option): \(error)")
  }
  guard let text = String(validating: bytes, as: UTF8.self) else {
    throw Failure(.usage, "\(option): \(path) is not text")
  }
  return text
}
