/// What is wrong with the command line: names the option or argument, and says what to do. Exit code 64.
struct UsageError: Error, Equatable, CustomStringConvertible {
  /// The option (`--size`) or argument concerned; empty where it is the command line as a whole.
  let subject: String
  /// What was wrong and what would be right, as the rest of a sentence.
  let problem: String

  init(_ subject: String, _ problem: String) {
    self.subject = subject
    self.problem = problem
  }

  var description: String { subject.isEmpty ? problem : "\(subject): \(problem)" }
}
