import Testing

@testable import segrec

private struct Sample: Equatable {
  var size = ""
  var inputs: [String] = []
  var isLoud = false
}

private var parser: OptionParser<Sample> {
  OptionParser<Sample>(
    groups: [
      OptionGroup(
        title: "Picture:",
        options: [
          Option("--size", "WxH", "Size of the picture (default: the source's).") { (sample, text) throws(UsageError) in
            sample.size = text
          },
          Option("--input", "URL", "What to record.") { (sample, text) throws(UsageError) in sample.inputs.append(text)
          },
          Option(switch: "--loud", "Say more.") { $0.isLoud = true },
        ])
    ], positional: ["ROOT"])
}

private func arguments(_ words: [String]) throws -> (Sample, [String]) {
  guard case .arguments(let sample, let positional) = try parser.parse(words, into: Sample()) else {
    throw UsageError("", "help was asked for")
  }
  return (sample, positional)
}

@Suite struct `Option parser` {
  @Test func `both spellings of a value mean the same`() throws {
    let expected = Sample(size: "640x360", inputs: ["a=b", "-"], isLoud: true)
    #expect(
      try arguments(["--size", "640x360", "--input=a=b", "--input", "-", "--loud", "dir"]) == (expected, ["dir"]))
    #expect(try arguments(["dir", "--size=640x360", "--input", "a=b", "--input=-", "--loud"]) == (expected, ["dir"]))
  }

  @Test func `after two dashes a word is an argument even with a dash in front`() throws {
    #expect(try arguments(["--", "--size"]).1 == ["--size"])
  }

  @Test(arguments: [
    (["--siez", "1x1", "dir"], "--siez: is not an option; did you mean --size?"),
    (["--wholly-other", "dir"], "--wholly-other: is not an option; --help lists them"),
    (["dir", "--size"], "--size: needs a value (WxH)"),
    (["--loud=yes", "dir"], "--loud: takes no value"),
    ([], "ROOT: is missing"),
    (["a", "b"], "'b': is not expected here; options start with --"),
  ])
  func `an error names the word and says what to do`(words: [String], message: String) {
    let error = #expect(throws: UsageError.self) { try arguments(words) }
    #expect(error?.description == message)
  }

  @Test(arguments: ["-h", "--help"])
  func `help is recognised anywhere`(word: String) throws {
    guard case .help = try parser.parse(["dir", word], into: Sample()) else {
      Issue.record("\(word) was not taken as a request for help")
      return
    }
  }

  @Test func `every line of the help fits 100 columns`() {
    #expect(parser.help.split(separator: "\n").allSatisfy { $0.count <= 100 })
    #expect(parser.help.contains("--size WxH"))
  }
}
