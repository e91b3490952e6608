import Foundation
import TestKit
import Testing

/// Events for a command and for readers of a socket, and counters in a file.
@Suite struct `Telling others` {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func arguments(_ more: [String], seconds: Int = 5) -> [String] {
    [
      "record", "--input-format", "lavfi", "--input", "testsrc2=size=160x90:rate=10:duration=\(seconds)",
      "--segment-duration", "1s", "--recording", "told", "--spool", directory.file("spool"),
    ] + more
  }

  private func objects(_ text: String) throws -> [[String: Any]] {
    try text.split(separator: "\n").map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
  }

  @Test func `a command runs once for each event, in order, with its line and its name`() throws {
    let lines = directory.file("lines")
    let result = try Program.run(
      segrecBinary, arguments(["--log", "quiet", "--on-event", "echo $SEGREC_EVENT >> \(lines); cat >> \(lines)"]))
    #expect(result.status == 0 && result.errors.isEmpty, "\(result.errors)")
    let told = try String(contentsOfFile: lines, encoding: .utf8).split(separator: "\n")
    #expect(told.enumerated().filter { $0.offset % 2 == 0 }.map(\.element).filter { $0 == "segment" }.count == 5)
    let events = try objects(told.enumerated().filter { $0.offset % 2 == 1 }.map(\.element).joined(separator: "\n"))
    #expect(events.compactMap { $0["sequence"] as? Int } == [0, 1, 2, 3, 4])
    #expect(events.last?["event"] as? String == "exit")
    #expect(events.last?["code"] as? Int == 0)
  }

  @Test(arguments: [
    ["record", "--input", "missing.mp4"], ["upload", "--spool", "missing", "--upload", "http://127.0.0.1:9"],
    ["serve", "--root", "missing", "--listen", "nowhere:1"], ["stitch", "missing"], ["export", "missing", "out.mp4"],
    ["clean", "--root", "missing"], ["status", "--root", "missing"],
  ])
  func `a command that fails says so in its last line, as an object where those are asked for`(words: [String]) throws {
    let spool = words[0] == "record" ? ["--spool", directory.file("spool")] : []
    let text = try Program.run(segrecBinary, words + spool, directory: directory.path)
    #expect(text.status > 0 && text.errors.split(separator: "\n").last?.hasPrefix("segrec \(words[0]): ") == true)
    let json = try Program.run(segrecBinary, words + spool + ["--log", "json"], directory: directory.path)
    let last = try #require(try objects(json.errors).last)
    #expect(last["event"] as? String == "exit" && last["code"] as? Int == Int(json.status))
    #expect(json.status == text.status && (last["message"] as? String)?.isEmpty == false)
  }

  @Test func `a command that hangs delays the end by no more than its patience`() throws {
    let result = try Program.run(segrecBinary, arguments(["--on-event", "sleep 600"]), seconds: 120)
    #expect(result.status == 0)
    #expect(result.errors.contains("events were left out"), "\(result.errors)")
    // Killed with what it had started.
    #expect(try Program.run("pgrep", ["-f", "^sleep 600"]).status == 1)
  }

  @Test func `every reader of the socket gets every line, and one that leaves disturbs nobody`() throws {
    let path = directory.file("events")
    let program = try Program(
      segrecBinary, arguments(["--realtime", "--event-socket", path, "--log", "quiet"], seconds: 120))
    #expect(eventually(within: 60) { FileManager.default.fileExists(atPath: path) })
    let readers = try (0..<3).map { _ in
      try Program("python3", ["-c", TellingTests.reader, path, "all"])
    }
    let leaver = try Program("python3", ["-c", TellingTests.reader, path, "one"])
    #expect(try leaver.wait().status == 0)
    let haveAllSeenTwo = eventually(within: 60) {
      readers.allSatisfy { $0.output.split(separator: "\n").count { $0.contains("\"event\":\"segment\"") } >= 2 }
    }
    #expect(haveAllSeenTwo)
    program.send(signal: SIGINT)
    #expect(try program.wait().status == 0)
    let texts = try readers.map { try $0.wait().output }
    // Each came at a time of its own; from there on all have the same.
    let shortest = try #require(texts.min { $0.utf8.count < $1.utf8.count })
    for text in texts { #expect(text.hasSuffix(shortest), "\(text)") }
    let events = try objects(shortest)
    #expect(events.filter { $0["event"] as? String == "segment" }.count >= 2, "\(shortest)")
    #expect(events.last?["event"] as? String == "exit")
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test func `a socket that a dead process left is taken over, another file is not`() throws {
    let path = directory.file("events")
    let killed = try Program(segrecBinary, arguments(["--realtime", "--event-socket", path], seconds: 60))
    #expect(eventually(within: 60) { FileManager.default.fileExists(atPath: path) })
    killed.send(signal: SIGKILL)
    try killed.wait()
    #expect(try Program.run(segrecBinary, arguments(["--event-socket", path])).status == 0)
    try Data().write(to: URL(fileURLWithPath: path))
    let refused = try Program.run(segrecBinary, arguments(["--event-socket", path]))
    #expect(refused.status == 73)
    #expect(refused.errors.contains("--event-socket: cannot listen at \(path): "), "\(refused.errors)")
  }

  @Test func `counters stand in a file that is whole whenever it is read`() throws {
    let origin = try Origin(root: directory.file("root"))
    let path = directory.file("segrec.prom")
    let result = try Program.run(segrecBinary, arguments(["--upload", origin.address, "--metrics", path]))
    #expect(result.status == 0, "\(result.errors)")
    let text = try String(contentsOfFile: path, encoding: .utf8)
    for line in [
      "segrec_recorded_segments_total{recording=\"told\"} 5", "segrec_sent_segments_total{recording=\"told\"} 5",
      "segrec_backlog_segments{recording=\"told\"} 0", "segrec_frames_dropped_total{recording=\"told\"} 0",
      "segrec_frames_refilled_total{recording=\"told\"} 0", "segrec_upload_retries_total{recording=\"told\"} 0",
      "segrec_upload_state{recording=\"told\",state=\"idle\"} 1",
    ] { #expect(text.contains(line + "\n"), "\(line) in \(text)") }
    // Each metric is explained once and typed (Prometheus text format 0.0.4).
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      let name = line.prefix { $0 != "{" && $0 != " " }
      #expect(text.contains("# TYPE \(name) ") && text.contains("# HELP \(name) "), "\(name)")
    }
    let refused = try Program.run(segrecBinary, arguments(["--metrics", directory.file("none/file")]))
    #expect(refused.status == 73)
    #expect(refused.errors.contains("--metrics: cannot create"), "\(refused.errors)")
  }

  @Test func `a status that is watched tells what has changed`() throws {
    let spool = try PreparedSpool(segments: 2)
    let program = try Program(segrecBinary, ["status", "--spool", spool.path, "--watch"])
    #expect(eventually(within: 60) { program.output.contains("2 segments") }, "\(program.output)")
    try Data(count: 60_000).write(
      to: URL(fileURLWithPath: "\(spool.path)/\(PreparedSpool.run)/\(PreparedSpool.name(2))"))
    #expect(eventually(within: 60) { program.output.contains("3 segments") }, "\(program.output)")
    program.send(signal: SIGINT)
    #expect(try program.wait(seconds: 60).status == 0)
  }

  @Test func `no event shows a secret`() throws {
    let lines = directory.file("lines")
    let result = try Program.run(
      segrecBinary,
      arguments([
        "--upload", "http://127.0.0.1:1/?key=${KEY}", "--drain-timeout", "0s", "--on-event", "cat >> \(lines)",
      ]), environment: ["KEY": "s3cr3t-Pass"])
    #expect(result.status != 0)
    let told = try String(contentsOfFile: lines, encoding: .utf8)
    #expect(told.contains("\"event\":\"exit\""))
    #expect(!told.contains("s3cr3t-Pass"), "\(told)")
  }

  /// Prints what a socket gives: all of it, or one line.
  private static let reader = """
    import socket, sys
    s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); f = s.makefile()
    for line in f:
      print(line, end="", flush=True)
      if sys.argv[2] == "one": break
    """
}

private typealias TellingTests = `Telling others`
