import Foundation
import TestKit
import Testing

/// MPEG-TS whose encoder was started anew: under other PIDs, in another codec, at another size.
@Suite struct `A source that changes what it sends` {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  private static let h264 = ["libx264", "-preset", "ultrafast", "-qp", "0"]
  private static let hevc = ["libx265", "-preset", "ultrafast", "-x265-params", "log-level=0:open-gop=0"]

  private func arguments(_ seconds: Int?, _ size: String, _ codec: [String], _ rate: Int, pictures: Int = 25)
    -> [String]
  {
    let end = seconds.map { ":d=\($0)" } ?? ""
    return [
      "-nostdin", "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=s=\(size):r=\(pictures)\(end)", "-f", "lavfi",
      "-i",
      "sine=r=\(rate)\(end)", "-g", "25", "-pix_fmt", "yuv420p", "-c:a", "aac", "-c:v",
    ] + codec + ["-f", "mpegts"]
  }

  // libav's reader of HLS knows no list whose codec changes: what is copied is H.264 both times.
  @Test(arguments: [[], ["--video", "copy", "--audio", "copy"]])
  func `loses nothing, and begins a run where tracks come under other numbers`(options: [String]) throws {
    // More than is read to find out what there is.
    _ = try Program.tool("ffmpeg", arguments(6, "1280x720", Self.h264, 48_000) + [directory.file("a.ts")])
    _ = try Program.tool(
      "ffmpeg",
      arguments(4, "320x180", options.isEmpty ? Self.hevc : Self.h264, 44_100) + [
        "-streamid", "0:512", "-streamid", "1:513", directory.file("b.ts"),
      ])
    var bytes = try Data(contentsOf: URL(fileURLWithPath: directory.file("a.ts")))
    #expect(bytes.count > 6_000_000)
    bytes += try Data(contentsOf: URL(fileURLWithPath: directory.file("b.ts")))
    try bytes.write(to: URL(fileURLWithPath: directory.file("ab.ts")))
    let result = try Program.run(
      segrecBinary,
      ["record", "--recording", "it", "--spool", directory.file("spool"), "--input", directory.file("ab.ts")] + options)
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.errors.contains("goes on in other tracks"), "\(result.errors)")
    let runs = directory.files(below: "spool").filter { $0.hasSuffix("init.mp4") }
    #expect(runs.count == 2, "\(runs)")
    #expect(try Program.run(segrecBinary, ["stitch", directory.file("spool")]).status == 0)
    let playlist = directory.file("spool/it/main/vod.m3u8")
    try Media.decode(playlist)
    let text = try String(contentsOfFile: playlist, encoding: .utf8)
    let lengths = text.split(separator: "\n").compactMap { line in
      line.hasPrefix("#EXTINF:") ? Double(line.dropFirst(8).prefix { $0 != "," }) : nil
    }
    #expect(abs(lengths.reduce(0, +) - 10) < 0.1, "\(lengths)")
  }

  private static let quick = ["libx264", "-preset", "ultrafast"]
  // A decoder makes something of MPEG-2, whose start codes are like those of H.264.
  @Test(arguments: [
    ([], quick, hevc, "what comes as h264 has become another codec; opening it again"),
    (["--video", "copy"], quick, hevc, "what comes as h264 has become another codec; opening it again"),
    ([], quick, ["mpeg2video"], "could not be decoded for "),
  ])
  func `that becomes another codec is opened again`(
    options: [String], before: [String], after: [String], expected: String
  ) throws {
    let address = "udp://127.0.0.1:\(Int.random(in: 20_000...60_000))"
    func send(_ codec: [String]) throws -> Program {
      try Program("ffmpeg", ["-re"] + arguments(nil, "160x90", codec, 48_000, pictures: 75) + [address])
    }
    var source = try send(before)
    defer { source.send(signal: SIGKILL) }
    let program = try Program(
      segrecBinary,
      [
        "record", "--recording", "it", "--spool", directory.file("spool"), "--input", address, "--reconnect",
        "--input-timeout", "2s", "--segment-duration", "1s",
      ] + options)
    try program.wait(for: "segment 0 recorded")
    source.send(signal: SIGKILL)
    source = try send(after)
    try program.wait(for: expected)
    try program.wait(for: " is back")
    let recorded = directory.files(below: "spool").filter { $0.hasSuffix(".m4s") }.count
    #expect(
      eventually(within: 30) {
        directory.files(below: "spool").filter { $0.hasSuffix(".m4s") }.count > recorded + 1
      })
    program.send(signal: SIGTERM)
    let result = try program.wait(seconds: 60)
    #expect(result.status == 0, "\(result.errors)")
    #expect(directory.files(below: "spool").filter { $0.hasSuffix(".next") }.count >= 1)
    // What libav says about each picture is no news.
    #expect(result.errors.split(separator: "\n").count < 60, "\(result.errors)")
  }

  @Test func `that comes over HTTP without an end is opened again where that was asked for`() throws {
    let port = try freePort()
    let address = "http://127.0.0.1:\(port)/camera.ts"
    func serve() throws -> Program {
      try Program("ffmpeg", ["-re"] + arguments(2, "160x90", Self.h264, 48_000) + ["-listen", "1", address])
    }
    var source = try serve()
    defer { source.send(signal: SIGKILL) }
    // Asking by a connection would take its only one.
    #expect(try eventually(within: 60) { try Program.tool("ss", ["-ltn"]).contains("127.0.0.1:\(port) ") })
    let program = try Program(
      segrecBinary,
      ["record", "--recording", "it", "--spool", directory.file("spool"), "--input", address, "--reconnect"])
    try program.wait(for: "has ended; opening it again")
    source = try serve()
    try program.wait(for: " is back")
    program.send(signal: SIGTERM)
    let result = try program.wait(seconds: 60)
    #expect(result.status == 0, "\(result.errors)")
  }
}
