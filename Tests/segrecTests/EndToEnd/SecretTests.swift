import Foundation
import TestKit
import Testing

/// Nothing secret is ever printed, and nothing secret stands in the process list.
@Suite(.serialized) struct `Secrets` {
  private static let secrets = ["s3cr3t-Pass/word", "t0ken-ABC-0123456789"]
  /// As they are, and as a URL would carry them.
  private static let forms = secrets + ["s3cr3t-Pass%2Fword", "s3cr3t-Pass%2fword"]
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  private static let environment: [String: String?] = [
    "CAMERA": "s3cr3t-Pass%2Fword", "SEGREC_TOKEN": "t0ken-ABC-0123456789",
  ]

  @Test(arguments: [
    ["--input", "rtsp://viewer:${CAMERA}@127.0.0.1:1/stream"],
    ["--input", "http://viewer:${CAMERA}@127.0.0.1:1/stream?token=t0ken-ABC-0123456789"],
    ["--input", "rtsp://viewer:s3cr3t-Pass%2Fword@127.0.0.1:1/stream"],
    ["--input", "http://127.0.0.1:1/x?access_token=t0ken-ABC-0123456789&sig=s3cr3t-Pass%2Fword"],
    ["--input", "rtmp://127.0.0.1:1/app/t0ken-ABC-0123456789?key=s3cr3t-Pass%2Fword"],
    [
      "--input-format", "lavfi", "--input", "testsrc2=rate=25", "--duration", "1s", "--upload", "http://127.0.0.1:1/up",
    ],
    ["--input-format", "lavfi", "--input", "testsrc2=rate=25", "--upload", "http://u:s3cr3t-Pass%2Fword@127.0.0.1:1/"],
  ])
  func `an error shows none`(arguments: [String]) throws {
    for format in ["text", "json"] {
      let result = try Program.run(
        segrecBinary,
        ["record", "--spool", directory.file("spool"), "--log", format, "--drain-timeout", "0s"] + arguments,
        environment: Self.environment)
      #expect(result.status != 0)
      #expect(!result.errors.isEmpty)
      for form in Self.forms { #expect(!(result.errors + result.output).contains(form), "\(result.errors)") }
    }
  }

  @Test func `a password typed into an input is gone from the process list`() throws {
    // A listener that accepts and says nothing keeps the recorder waiting.
    let listener = try Program(
      "python3",
      [
        "-c",
        """
        import socket, sys
        s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True)
        c, _ = s.accept(); print("accepted", flush=True); c.recv(1 << 20); s.accept()
        """,
      ])
    try listener.wait(for: "\n")
    let port = listener.output.trimmingCharacters(in: .whitespacesAndNewlines)
    let program = try Program(
      segrecBinary,
      ["record", "--spool", directory.file("spool"), "--input", "http://viewer:s3cr3t-Pass%2Fword@127.0.0.1:\(port)/x"])
    try listener.wait(for: "accepted")
    let line = try String(contentsOfFile: "/proc/\(program.processIdentifier)/cmdline", encoding: .utf8)
    #expect(line.contains("record"))
    for form in Self.forms { #expect(!line.contains(form)) }
    program.send(signal: SIGTERM)
    _ = try program.wait()
    listener.send(signal: SIGKILL)
  }
}
