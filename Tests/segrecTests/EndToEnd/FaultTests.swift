import Foundation
import TestKit
import Testing

/// What is promised when something goes wrong, through the built binary.
@Suite(.serialized) struct `A recording under faults` {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  private static let scene = [
    "--input-format", "lavfi", "--input", "testsrc2=size=320x180:rate=25[out0];sine=frequency=440[out1]", "--realtime",
    "--segment-duration", "1s", "--chunk-duration", "250ms",
  ]

  private func recorder(_ address: String, seconds: Int, spool: String? = nil, arguments: [String] = []) throws
    -> Program
  {
    try Program(
      segrecBinary,
      [
        "record", "--recording", "talk", "--spool", spool ?? directory.file("spool"), "--upload", address, "--duration",
        "\(seconds)s",
      ] + Self.scene + arguments)
  }

  @Test func `a server that goes and comes back costs nothing`() throws {
    let first = try Origin(root: directory.file("root"))
    let program = try recorder(first.address, seconds: 10)
    #expect(eventually(within: 20) { !segmentNames(directory, below: "root").isEmpty })
    try first.stop()
    #expect(
      eventually(within: 20) { segmentNames(directory, below: "spool").filter { !$0.contains("/sent/") }.count >= 3 })
    let second = try Origin(root: directory.file("root"), port: first.port)
    let result = try program.wait()
    #expect(result.status == 0, "\(result.errors)")
    #expect(sequences(segmentNames(directory, below: "root")) == Array(0..<10))
    try Media.decode(second.whole("talk"))
    #expect(try Media.stream("\(second.address)/talk/vod.m3u8", "v")?.frames == 250)
  }

  @Test func `a server gone for good is exit 75 with the command that finishes`() throws {
    let origin = try Origin(root: directory.file("root"))
    let port = origin.port
    try origin.stop()
    let program = try recorder(origin.address, seconds: 3, arguments: ["--drain-timeout", "1s"])
    let result = try program.wait()
    #expect(result.status == 75, "\(result.errors)")
    let last = try #require(result.errors.split(separator: "\n").last)
    #expect(last.contains("3 segments"), "\(last)")
    let command = try #require(last.range(of: "segrec upload ").map { last[$0.lowerBound...] })
    let words = command.split(separator: " ").dropFirst().map { $0.trimmingCharacters(in: ["'"]) }
    let again = try Origin(root: directory.file("root"), port: port)
    let finished = try Program.run(segrecBinary, Array(words))
    #expect(finished.status == 0, "\(finished.errors)")
    #expect(sequences(segmentNames(directory, below: "root")) == [0, 1, 2])
    try Media.decode(again.whole("talk"))
  }

  @Test(arguments: [1.1, 2.4, 3.7])
  func `a killed recorder loses at most its open chunk`(after seconds: Double) throws {
    let lost = try attempts(until: { $0 < 1.2 }) { try loss(after: seconds, attempt: $0) }
    #expect(try #require(lost.last) < 1.2, "\(lost)")
  }

  /// Kills a recorder and finishes its recording with `segrec upload`.
  ///
  /// - Returns: seconds that are not on the server.
  private func loss(after seconds: Double, attempt: Int) throws -> Double {
    let root = directory.file("root\(attempt)")
    let spool = directory.file("spool\(attempt)")
    let origin = try Origin(root: root)
    let program = try recorder(origin.address, seconds: 60, spool: spool)
    try program.wait(for: "segment")
    let started = ContinuousClock.now
    _ = eventually(within: seconds) { false }
    program.send(signal: SIGKILL)
    let lived = 1 + (ContinuousClock.now - started) / .seconds(1)
    #expect(try program.wait().status == -SIGKILL)
    let upload = try Program.run(segrecBinary, ["upload", "--spool", spool, "--upload", origin.address])
    #expect(upload.status == 0, "\(upload.errors)")
    let names = segmentNames(directory, below: "root\(attempt)")
    #expect(sequences(names) == Array(0..<names.count))
    #expect(directory.files(below: "spool\(attempt)").allSatisfy { !$0.hasSuffix(".part") })
    let playlist = try origin.whole("talk")
    try Media.decode(playlist)
    #expect(try HTTP.get("\(origin.address)/talk/main/vod.m3u8").body.contains("#EXT-X-ENDLIST"))
    return lived - (try #require(try Media.stream(playlist, "v")).duration)
  }

  @Test func `a server that refuses the token is exit 77 and the spool keeps all`() throws {
    let origin = try Origin(root: directory.file("root"), environment: ["SEGREC_TOKEN": "right-token-0123"])
    let program = try Program(
      segrecBinary,
      [
        "record", "--recording", "talk", "--spool", directory.file("spool"), "--upload", origin.address, "--duration",
        "2s",
        "--drain-timeout", "1s",
      ] + Self.scene, environment: ["SEGREC_TOKEN": "wrong-token-4567"])
    let result = try program.wait()
    #expect(result.status == 77, "\(result.errors)")
    #expect(!result.errors.contains("wrong-token-4567"))
    #expect(sequences(segmentNames(directory, below: "spool")) == [0, 1])
    #expect(segmentNames(directory, below: "root").isEmpty)
  }

  @Test func `a second recorder of the same recording is refused`() throws {
    let program = try Program(
      segrecBinary,
      ["record", "--recording", "talk", "--spool", directory.file("spool"), "--duration", "60s"] + Self.scene)
    try program.wait(for: "segment")
    let second = try Program.run(
      segrecBinary,
      ["record", "--recording", "talk", "--spool", directory.file("spool"), "--duration", "1s"] + Self.scene)
    #expect(second.status == 69, "\(second.errors)")
    #expect(second.errors.contains("talk is in use by process \(program.processIdentifier)"))
    program.send(signal: SIGINT)
    #expect(try program.wait().status == 0)
  }

  @Test func `a second request leaves at once and says what is left and how to send it`() throws {
    let program = try Program(
      segrecBinary,
      [
        "record", "--input-format", "lavfi", "--input", "testsrc2=size=160x90:rate=10", "--realtime", "--recording",
        "talk", "--segment-duration", "1s", "--spool", directory.file("spool"), "--upload", "http://127.0.0.1:1",
        "--drain-timeout", "60s",
      ])
    try program.wait(for: "segment 1 recorded")
    program.send(signal: SIGINT)
    #expect(eventually(within: 60) { directory.files(below: "spool").contains { $0.hasSuffix(".end") } })
    #expect(
      eventually(within: 40) {
        program.send(signal: SIGINT)
        return program.errors.contains("to send:")
      })
    let result = try program.wait(seconds: 40)
    #expect(result.status == 75)
    let last = try #require(result.errors.split(separator: "\n").last)
    #expect(last.contains("segments"), "\(result.errors)")
    #expect(
      last.hasSuffix("to send: segrec upload --spool \(directory.file("spool")) --upload http://127.0.0.1:1"),
      "\(result.errors)")
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func `a request to stop ends a playable recording`(signal: Int32) throws {
    let origin = try Origin(root: directory.file("root"))
    let program = try recorder(origin.address, seconds: 60)
    try program.wait(for: "segment")
    program.send(signal: signal)
    // `timeout` and shells that pass signals on make two of one.
    program.send(signal: signal == SIGINT ? SIGTERM : SIGINT)
    #expect(try program.wait().status == 0, "\(program.errors)")
    // The list of the whole recording is written behind the last acknowledgement.
    let isEnded = try eventually(within: 60) {
      try HTTP.get("\(origin.address)/talk/main/vod.m3u8").body.contains("#EXT-X-ENDLIST")
        && HTTP.get("\(origin.address)/talk/vod.m3u8").status == 200
    }
    #expect(isEnded)
    try Media.decode("\(origin.address)/talk/vod.m3u8")
  }
}
