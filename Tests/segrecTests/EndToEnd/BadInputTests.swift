import Foundation
import TestKit
import Testing

/// Bad input gets one line that names it, and the exit code that tells scripts what it was.
@Suite(.serialized) struct `Bad input` {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
    try Data().write(to: URL(fileURLWithPath: directory.file("empty.mp4")))
    var generator = SystemRandomNumberGenerator()
    let noise = (0..<65_536).map { _ in UInt8.random(in: 0...255, using: &generator) }
    try Data(noise).write(to: URL(fileURLWithPath: directory.file("noise.mp4")))
    // A header that promises sound, and no sample.
    let silent = [UInt8]("RIFF$\0\0\0WAVEfmt \u{10}\0\0\0\u{1}\0\u{1}\0".utf8) + [0x40, 0x1F, 0, 0, 0x80, 0x3E, 0, 0]
    try Data(silent + [2, 0, 16, 0] + "data\0\0\0\0".utf8).write(to: URL(fileURLWithPath: directory.file("silent.wav")))
    try Data("x".utf8).write(to: URL(fileURLWithPath: directory.file("occupied")))
  }

  /// Options with `@` for the test's directory, the exit code, and what the line must name.
  static let cases: [([String], Int32, String)] = [
    (["record", "--input", "@/missing.mp4"], 66, "missing.mp4"),
    (["record", "--input", "@/empty.mp4"], 65, "empty.mp4"),
    (["record", "--input", "@/noise.mp4"], 65, "noise.mp4"),
    (["record", "--input", "@/silent.wav"], 65, "silent.wav"),
    (["record", "--input", "@"], 65, "@"),
    (["record"], 64, "--input"),
    (["record", "--input-format", "x11grab", "--input", ":64999"], 69, "Cannot open display :64999"),
    (["record", "--input-format", "pulse", "--input", "x"], 69, "pactl list short sources"),
    (["record", "--input-format", "v4l2", "--input", "/dev/video64"], 66, "group video"),
    (["record", "--input-format", "alsa", "--input", "hw:64"], 69, "arecord -L"),
    (
      ["record", "--input", "http://u:geheim@nosuch.invalid/x?t=geheim"], 69,
      "Failed to resolve hostname nosuch.invalid"
    ),
    (["record", "--input", "x", "--no-such-option"], 64, "--no-such-option"),
    (["record", "--input", "x", "--segment-duration", "soon"], 64, "--segment-duration"),
    (["record", "--input-format", "no-such-format", "--input", "x"], 64, "no-such-format"),
    (
      ["record", "--input-format", "lavfi", "--input", "testsrc2", "--encoder", "no-such-encoder"], 64,
      "no-such-encoder"
    ),
    (["record", "--input-format", "lavfi", "--input", "testsrc2", "--encoder", "aac"], 64, "encoder aac"),
    (["record", "--input-format", "lavfi", "--input", "testsrc2", "--encoder", "mpeg4"], 64, "encoder mpeg4"),
    (["record", "--input-format", "lavfi", "--input", "testsrc2", "--spool", "@/occupied"], 73, "occupied"),
    (["record", "--input-format", "lavfi", "--input", "testsrc2", "--upload", "ftp://host/"], 64, "--upload"),
    (
      ["record", "--input-format", "lavfi", "--input", "testsrc2", "--upload", "http://u:geheim@h/"], 64, "--netrc-file"
    ),
    (
      [
        "record", "--input-format", "lavfi", "--input", "testsrc2", "--upload", "http://h/", "--token-file",
        "@/empty.mp4",
      ], 64, "empty.mp4"
    ),
    (
      ["record", "--input-format", "lavfi", "--input", "testsrc2", "--upload", "s3://bucket/x"], 64, "AWS_ACCESS_KEY_ID"
    ),
    (["upload", "--spool", "@", "--upload", "s3://bucket/x"], 64, "AWS_ACCESS_KEY_ID"),
    (["record", "--input", "rtsp://${NO_SUCH_VARIABLE}@h/"], 64, "NO_SUCH_VARIABLE"),
    (["record", "--input", "x", "--recording", "../up"], 64, "--recording"),
    (["upload", "--spool", "@/nothing", "--upload", "http://127.0.0.1:1"], 66, "nothing"),
    (["serve"], 64, "--root"),
    (["serve", "--root", "@/root", "--listen", "0.0.0.0:0"], 64, "--token-file"),
    (["serve", "--root", "@/root", "--cert", "@/missing.pem"], 64, "--key"),
    (["stitch", "@/nothing"], 66, "nothing"),
    (["stitch", "@/", "--recording", "nobody"], 66, "nobody"),
    (["upload", "--upload", "http://127.0.0.1:1", "--upload", "http://127.0.0.1:2"], 64, "--upload"),
    (["record", "--input", "x", "--mic", "y", "--mic-gain", "31"], 64, "-60 to 30"),
    (["record", "--input", "x", "--push", "rtmp://host/app"], 64, "--push"),
    (["record", "--input", "x", "--push", "rtmp:///app/key"], 64, "--push"),
    (["export", "@/nothing", "@/out.mp4"], 66, "nothing"),
    (["status"], 64, "--spool"),
    (["clean"], 64, "--spool"),
    (["recrod"], 64, "record"),
  ]

  @Test(arguments: cases)
  func `one line names it`(words: [String], code: Int32, subject: String) throws {
    let spool = words.first == "record" && !words.contains("--spool") ? ["--spool", directory.file("spool")] : []
    let arguments = words.map { $0.replacingOccurrences(of: "@/", with: directory.path + "/") }
      .map { $0 == "@" ? directory.path : $0 }
    let result = try Program.run(
      segrecBinary, arguments + spool,
      environment: [
        "SEGREC_TOKEN": nil, "NO_SUCH_VARIABLE": nil, "AWS_ACCESS_KEY_ID": nil, "HOME": directory.path,
      ], seconds: 20)
    #expect(result.status == code, "\(result.errors)")
    let lines = result.errors.split(separator: "\n")
    #expect(lines.count == 1, "\(result.errors)")
    let expected = subject == "@" ? directory.path : subject
    #expect(result.errors.contains(expected), "\(result.errors)")
    #expect(!result.errors.contains("geheim"))
    if words.first == "record", FileManager.default.fileExists(atPath: directory.file("spool")) {
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory.file("spool")) == [])
    }
  }
}
