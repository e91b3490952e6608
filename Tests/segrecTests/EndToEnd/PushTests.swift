import Foundation
import TestKit
import Testing

/// A real RTMP receiver: nginx with its RTMP module, which stores what it is sent.
@Suite(.serialized) struct `Live push` {
  private let directory: TemporaryDirectory
  private let port: Int

  init() throws {
    directory = try TemporaryDirectory()
    port = try freePort()
  }

  private func receiver() throws -> Program {
    let root = directory.path
    let configuration = """
      load_module /usr/lib/nginx/modules/ngx_rtmp_module.so;
      daemon off; master_process off; pid \(root)/nginx.pid; error_log stderr; user root;
      events { worker_connections 64; }
      rtmp { server { listen 127.0.0.1:\(port); application live {
        live on; record all; record_path \(root)/received; record_unique on;
      } application closed { live on; deny publish all; } } }
      """
    try configuration.write(toFile: directory.file("nginx.conf"), atomically: true, encoding: .utf8)
    try FileManager.default.createDirectory(atPath: directory.file("received"), withIntermediateDirectories: true)
    return try Program("nginx", ["-c", directory.file("nginx.conf"), "-p", root])
  }

  private var received: [String] { directory.files(below: "received").map { directory.file("received/\($0)") } }

  private func size(_ path: String) -> Int {
    (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
  }

  private func record(_ options: [String], application: String = "live") throws -> Program {
    try Program(
      segrecBinary,
      ["record", "--spool", directory.file("spool"), "--recording", "talk", "--segment-duration", "1s", "--realtime"]
        + options + ["--push", "rtmp://127.0.0.1:\(port)/\(application)/k3y-ABC"])
  }

  @Test func `a receiver that comes, dies and comes back costs the recording nothing`() throws {
    let recorder = try record([
      "--input-format", "lavfi", "--input", "testsrc2=size=320x180:rate=25[out0];sine[out1]", "--video-bitrate", "1M",
    ])
    // Nobody is there yet.
    try recorder.wait(for: "Connection refused")
    let first = try receiver()
    try recorder.wait(for: "sending to")
    #expect(eventually(within: 60) { received.count == 1 && size(received[0]) > 100_000 })
    first.send(signal: SIGKILL)
    _ = try first.wait()
    let second = try receiver()
    defer { second.send(signal: SIGTERM) }
    #expect(eventually(within: 60) { received.count == 2 && size(received[1]) > 100_000 })
    recorder.send(signal: SIGTERM)
    let result = try recorder.wait()
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.errors.contains(" not (1 outage)"), "\(result.errors)")
    #expect(!result.errors.contains("k3y"), "\(result.errors)")
    for file in received {
      #expect(try Media.stream(file, "v")?.codec == "h264")
      #expect(try Media.stream(file, "a")?.codec == "aac")
    }
    // The first ends where nginx was killed.
    let last = try #require(received.last)
    #expect(eventually(within: 30) { (try? Media.decode(last)) != nil })
    try expectWholeRecording()
  }

  /// One run, and a picture for every 3600 ticks of what its names say.
  private func expectWholeRecording() throws {
    let files = directory.files(below: "spool/talk/main").map { directory.file("spool/talk/main/\($0)") }
    let segments = files.filter { $0.hasSuffix(".m4s") }
    #expect(Set(segments.map { ($0 as NSString).deletingLastPathComponent }).count == 1)
    let ticks = segments.reduce(0) { $0 + (Int($1.split(separator: "_").last?.dropLast(4) ?? "") ?? 0) }
    var whole = Data()
    for file in files.filter({ $0.hasSuffix("init.mp4") }) + segments {
      whole += try Data(contentsOf: URL(fileURLWithPath: file))
    }
    try whole.write(to: URL(fileURLWithPath: directory.file("whole.mp4")))
    #expect(try Media.stream(directory.file("whole.mp4"), "v")?.frames == ticks / 3600)
  }

  @Test(arguments: [true, false])
  func `a receiver that never takes anything is told at the end, and the recording is whole`(isThere: Bool) throws {
    let nginx = isThere ? try receiver() : nil
    defer { nginx?.send(signal: SIGTERM) }
    if isThere {
      #expect(try eventually(within: 60) { try Program.tool("ss", ["-ltn"]).contains("127.0.0.1:\(port) ") })
    }
    let result = try record(
      [
        "--input-format", "lavfi", "--input", "testsrc2=size=320x180:rate=25", "--duration", "6s",
      ], application: "closed"
    ).wait()
    #expect(result.status == 0, "\(result.errors)")
    let last = try #require(result.errors.split(separator: "\n").last)
    #expect(last.hasPrefix("recorded talk: 6.0 s"), "\(last)")
    if isThere {
      let told = result.errors.split(separator: "\n").filter { $0.contains("rtmp://") }
      #expect(told.count == 1, "told once, and not that anything is sent: \(told)")
      #expect(told[0].contains("at once, as where the stream key is refused; the recording goes on"), "\(told)")
    } else {
      #expect(last.contains("nothing pushed: the live receiver was never reached"), "\(last)")
    }
    #expect(!result.errors.contains("k3y"), "\(result.errors)")
    try expectWholeRecording()
  }

  @Test func `what is copied is sent as it is, from its first picture to its last`() throws {
    let server = try receiver()
    defer { server.send(signal: SIGTERM) }
    #expect(eventually(within: 30) { FileManager.default.fileExists(atPath: directory.file("nginx.pid")) })
    let input = directory.file("input.mp4")
    try Media.generate(input, seconds: 4)
    let recorder = try record(["--input", input, "--video", "copy", "--audio", "copy"])
    let result = try recorder.wait()
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.errors.contains(", 0.0 s not (0 outages)"), "\(result.errors)")
    #expect(try eventually(within: 30) { try received.count == 1 && Media.stream(received[0], "v")?.frames == 100 })
    try Media.decode(received[0])
  }

  @Test(arguments: [
    (["--push", "http://127.0.0.1/live/k3y"], "needs an address like"),
    (["--push", "rtmp://127.0.0.1/live/k3y", "--video", "hevc"], "takes H.264"),
  ])
  func `what cannot be sent is refused before anything is recorded`(options: [String], message: String) throws {
    let result = try Program.run(
      segrecBinary, ["record", "--spool", directory.file("spool"), "--input", "/dev/null"] + options)
    #expect(result.status == 64)
    #expect(result.errors.contains(message), "\(result.errors)")
  }
}
