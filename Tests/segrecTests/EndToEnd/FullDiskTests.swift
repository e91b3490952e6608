import Foundation
import TestKit
import Testing

/// A spool on a file system of 2.5 MB of its own. Needs the right to mount.
@Suite(.serialized) struct `A full spool` {
  private let directory: TemporaryDirectory
  private let disk: SmallDisk

  init() throws {
    directory = try TemporaryDirectory()
    disk = try SmallDisk(directory.file("spool"), bytes: 5 << 19)
  }

  /// About 400 kB a second, which no encoder makes less of.
  private static let scene = [
    "--input-format", "lavfi", "--input", "testsrc2=size=320x180:rate=25,noise=alls=90:allf=t", "--realtime", "--audio",
    "none", "--segment-duration", "1s", "--chunk-duration", "250ms", "--video-bitrate", "3200k",
  ]

  private func recorder(_ arguments: [String]) throws -> Program {
    try Program(
      segrecBinary, ["record", "--recording", "talk", "--spool", directory.file("spool")] + Self.scene + arguments)
  }

  /// Whatever happened: names of the contract denote whole files, and nothing is left half.
  private func expectWhole() throws {
    let files = directory.files(below: "spool")
    #expect(files.allSatisfy { !$0.hasSuffix(".part") }, "\(files)")
    for name in files where name.hasSuffix(".m4s") || name.hasSuffix(".mp4") {
      let size = try FileManager.default.attributesOfItem(atPath: directory.file("spool") + "/" + name)[.size] as? Int
      #expect((size ?? 0) > 500, "\(name)")
    }
  }

  // 0: no reserve, so that writing itself fails.
  @Test(arguments: ["0", "500k"])
  func `told to stop, a recording ends cleanly with 74`(minimumFree: String) throws {
    let result = try recorder(["--when-full", "stop", "--min-free", minimumFree, "--duration", "60s"]).wait()
    #expect(result.status == 74, "\(result.errors)")
    #expect(result.errors.contains("left on its disk, --min-free keeps"), "\(result.errors)")
    try expectWhole()
    let segments = segmentNames(directory, below: "spool")
    #expect(segments.count >= 3)
    #expect(sequences(segments) == Array(0..<segments.count))
    #expect(directory.files(below: "spool").contains { $0.hasSuffix("/\(segments.count).end") })
  }

  /// A stream that comes whether it is wanted or not: 400 kB a second, and a key frame each second.
  private func stream(to port: Int) throws -> Program {
    try Program(
      "ffmpeg",
      [
        "-nostdin", "-v", "error", "-re", "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25,noise=alls=90:allf=t",
        "-c:v",
        "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-g", "25", "-b:v", "3200k", "-maxrate", "3200k",
        "-bufsize", "800k", "-f", "mpegts", "udp://127.0.0.1:\(port)?pkt_size=1316",
      ])
  }

  @Test(arguments: ["0", "500k"])
  func `a stream that cannot wait goes on in a new run when there is room again`(minimumFree: String) throws {
    let server = try FaultServer()
    server.goDown()
    let port = try freePort()
    let program = try Program(
      segrecBinary,
      [
        "record", "--recording", "talk", "--spool", directory.file("spool"), "--upload", server.url, "--input",
        "udp://127.0.0.1:\(port)?fifo_size=100000", "--video", "copy", "--audio", "none", "--segment-duration", "1s",
        "--chunk-duration", "250ms", "--min-free", minimumFree,
      ])
    let source = try stream(to: port)
    defer { source.send(signal: SIGKILL) }
    try program.wait(for: "lost until there is room", seconds: 60)
    try expectWhole()
    let before = segmentNames(directory, below: "spool").count
    // What is lost is time: of a live stream, a second and a half.
    _ = eventually(within: 1.5) { false }
    try server.comeBack()
    try program.wait(for: "goes on in a new run", seconds: 60)
    #expect(server.wait { $0.storedOrder.count { $0.hasSuffix(".m4s") } >= before + 2 })
    program.send(signal: SIGINT)
    let result = try program.wait(seconds: 60)
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.errors.contains("lost"), "\(result.errors)")
    expectRuns(server)
  }

  /// At least two runs, each whole and closed, the last one with the end of the recording.
  private func expectRuns(_ server: FaultServer) {
    #expect(server.overwrites == 0)
    let runs = Dictionary(grouping: server.storedOrder) { $0.split(separator: "/").dropLast().joined(separator: "/") }
    #expect(runs.count >= 2)
    for names in runs.values {
      let segments = names.filter { $0.hasSuffix(".m4s") }
      #expect(sequences(segments).sorted() == Array(0..<segments.count))
      #expect(names.first?.hasSuffix("init.mp4") == true)
      #expect(names.last?.hasSuffix("/\(segments.count).next") == true || names.last?.hasSuffix(".end") == true)
    }
    #expect(server.storedOrder.count { $0.hasSuffix(".end") } == 1)
  }

  @Test(arguments: ["0", "500k"])
  func `what can wait does, and loses nothing`(minimumFree: String) throws {
    let server = try FaultServer()
    server.goDown()
    let program = try recorder(["--upload", server.url, "--duration", "9s", "--min-free", minimumFree])
    try program.wait(for: "waits for room", seconds: 60)
    try expectWhole()
    try server.comeBack()
    let result = try program.wait(seconds: 60)
    #expect(result.status == 0, "\(result.errors)")
    let segments = server.storedOrder.filter { $0.hasSuffix(".m4s") }
    #expect(sequences(segments).sorted() == Array(0..<9))
    #expect(server.storedOrder.last?.hasSuffix("/9.end") == true)
    // Every picture once, although the disk was full in the middle of writing some.
    let names = ["init.mp4"] + segments.map { ($0 as NSString).lastPathComponent }.sorted()
    let bytes = names.compactMap { name in server.files.first { $0.key.hasSuffix("/" + name) }?.value }
    let whole = directory.file("whole.mp4")
    try bytes.reduce(Data(), +).write(to: URL(fileURLWithPath: whole))
    try Media.decode(whole)
    #expect(try Media.stream(whole, "v")?.frames == 225)
  }

  @Test func `a disk that can hold no more files is a full one`() throws {
    // The run, its segments, the locks, and eight that stay free.
    try disk.limit(files: 18)
    let stopped = try recorder(["--when-full", "stop", "--duration", "60s", "--video-bitrate", "200k"]).wait()
    #expect(stopped.status == 74, "\(stopped.errors)")
    #expect(stopped.errors.contains("takes no more files"), "\(stopped.errors)")
    try expectWhole()
    #expect(directory.files(below: "spool").contains { $0.hasSuffix(".end") })
    let waiting = try recorder(["--duration", "2s", "--video-bitrate", "200k"])
    try waiting.wait(for: "waits for room", seconds: 60)
    try disk.limit(files: 60)
    let result = try waiting.wait(seconds: 60)
    #expect(result.status == 0, "\(result.errors)")
    let names = segmentNames(directory, below: "spool")
    let newest = (try #require(names.max()) as NSString).deletingLastPathComponent
    #expect(sequences(names.filter { $0.hasPrefix(newest) }) == [0, 1])
  }

  @Test func `a disk that may only be read is named, and what is on it stays`() throws {
    let first = try recorder(["--duration", "2s", "--video-bitrate", "200k"]).wait()
    #expect(first.status == 0, "\(first.errors)")
    let before = directory.files(below: "spool")
    try disk.remount("ro")
    for arguments in [
      ["record", "--recording", "talk", "--spool", directory.file("spool")] + Self.scene,
      ["upload", "--spool", directory.file("spool"), "--upload", "http://127.0.0.1:1"],
    ] {
      let refused = try Program.run(segrecBinary, arguments)
      #expect(refused.status == 74, "\(refused.errors)")
      #expect(refused.errors.contains("Read-only file system"), "\(refused.errors)")
    }
    #expect(directory.files(below: "spool") == before)
    try disk.remount("rw")
    let origin = try Origin(root: directory.file("root"))
    let sent = try Program.run(
      segrecBinary, ["upload", "--spool", directory.file("spool"), "--upload", origin.address])
    #expect(sent.status == 0, "\(sent.errors)")
    #expect(sequences(segmentNames(directory, below: "root")) == [0, 1])
  }

  @Test func `what nobody has goes only when told so, the oldest first, each one said`() throws {
    let program = try recorder(["--when-full", "drop-oldest", "--duration", "10s"])
    let result = try program.wait(seconds: 60)
    #expect(result.status == 0, "\(result.errors)")
    let kept = sequences(segmentNames(directory, below: "spool"))
    #expect(kept.last == 9)
    let first = try #require(kept.first)
    #expect(first > 0 && kept == Array(first...9))
    #expect(result.errors.components(separatedBy: "which no server has acknowledged").count - 1 == first)
    try expectWhole()
  }
}

/// A file system in memory, mounted for as long as it lives.
final class SmallDisk {
  private let path: String

  init(_ path: String, bytes: Int) throws {
    self.path = path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    let result = try Program.run("/usr/bin/mount", ["-t", "tmpfs", "-o", "size=\(bytes)", "segrec-test", path])
    guard result.status == 0 else { throw Program.Failure(description: "cannot mount: \(result.errors)") }
  }

  func remount(_ options: String) throws {
    let result = try Program.run("/usr/bin/mount", ["-o", "remount,\(options)", path])
    guard result.status == 0 else { throw Program.Failure(description: "cannot remount: \(result.errors)") }
  }

  /// Files and directories that it can have in all.
  func limit(files: Int) throws { try remount("nr_inodes=\(files)") }

  deinit { _ = try? Program.run("/usr/bin/umount", ["-l", path]) }
}
