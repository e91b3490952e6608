import Foundation
import TestKit
import Testing

/// Encoders that are too slow or hang: libav's own, with a library before it that delays each picture.
@Suite struct `An encoder` {
  private let directory: TemporaryDirectory
  private let library: String

  init() throws {
    directory = try TemporaryDirectory()
    library = directory.file("slow.so")
    let source = directory.file("slow.c")
    // `av_codec_is_encoder`'s neighbours stay as they are: only frames of encoders for pictures (kind 0) are held up.
    let text = """
      #define _GNU_SOURCE
      #include <dlfcn.h>
      #include <stdlib.h>
      #include <unistd.h>
      struct context { void *class; int level; int kind; };
      int avcodec_send_frame(struct context *context, const void *frame) {
        static int count;
        int (*send)(struct context *, const void *) = dlsym(RTLD_NEXT, "avcodec_send_frame");
        if (frame && context->kind == 0) {
          if (++count > atoi(getenv("FRAMES_BEFORE"))) usleep(atoi(getenv("DELAY_MS")) * 1000);
        }
        return send(context, frame);
      }
      """
    try Data(text.utf8).write(to: URL(fileURLWithPath: source))
    try Program.tool("clang", ["-shared", "-fPIC", "-o", library, source, "-ldl"])
  }

  private func slow(after frames: Int, milliseconds: Int) -> [String: String?] {
    ["LD_PRELOAD": library, "FRAMES_BEFORE": "\(frames)", "DELAY_MS": "\(milliseconds)"]
  }

  @Test func `that stops answering ends the recording within 10 s, with what was whole`() throws {
    let program = try Program(
      segrecBinary,
      [
        "record", "--recording", "stuck", "--spool", directory.file("spool"), "--input-format", "lavfi", "--input",
        "testsrc2=s=160x90:r=25[out0];sine=r=48000[out1]", "--realtime", "--segment-duration", "2s",
      ], environment: slow(after: 60, milliseconds: 3_600_000))
    try program.wait(for: "segment 0 recorded")
    // 8 s and what a busy machine adds.
    let result = try program.wait(seconds: 60)
    #expect(result.status == 69)
    #expect(result.errors.contains("the encoder libx264 has not answered for 8 s"), "\(result.errors)")
    #expect(directory.files(below: "spool").contains { $0.hasSuffix(".end") })
  }

  @Test func `that cannot keep up gets fewer frames, and the recording says so`() throws {
    let port = Int.random(in: 20_000...60_000)
    let camera = try Program(
      "ffmpeg",
      [
        "-nostdin", "-v", "error", "-re", "-f", "lavfi", "-i", "testsrc2=s=160x90:r=30", "-c:v", "libx264", "-preset",
        "ultrafast", "-g", "15", "-f", "mpegts", "udp://127.0.0.1:\(port)",
      ])
    defer { camera.send(signal: SIGKILL) }
    let program = try Program(
      segrecBinary,
      [
        "record", "--recording", "slow", "--spool", directory.file("spool"), "--input", "udp://127.0.0.1:\(port)",
      ], environment: slow(after: 0, milliseconds: 60))
    try program.wait(for: "the encoder cannot keep up")
    try program.wait(for: "recording 24 frames a second")
    try program.wait(for: "recording 15 frames a second")
    program.send(signal: SIGTERM)
    let result = try program.wait(seconds: 60)
    #expect(result.status == 0, "\(result.errors)")
  }
}

/// A live source that goes away and comes back.
@Suite struct `A live source` {
  private let directory: TemporaryDirectory
  private let address = "udp://127.0.0.1:\(Int.random(in: 20_000...60_000))"

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func camera() throws -> Program {
    try Program(
      "ffmpeg",
      [
        "-nostdin", "-v", "error", "-re", "-f", "lavfi", "-i", "testsrc2=s=160x90:r=25", "-f", "lavfi", "-i", "sine",
        "-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-c:a", "aac", "-f", "mpegts", address,
      ])
  }

  @Test func `that is away for a while goes on in a new run, and its tracks end together`() throws {
    var source = try camera()
    defer { source.send(signal: SIGKILL) }
    let program = try Program(
      segrecBinary,
      [
        "record", "--recording", "away", "--spool", directory.file("spool"), "--input", address, "--reconnect",
        "--input-timeout", "1s", "--segment-duration", "1s",
      ])
    try program.wait(for: "segment 0 recorded")
    source.send(signal: SIGKILL)
    try program.wait(for: "nothing came in time; opening it again")
    source = try camera()
    try program.wait(for: " is back")
    let recorded = directory.files(below: "spool").filter { $0.hasSuffix(".m4s") }.count
    #expect(
      eventually(within: 20) {
        directory.files(below: "spool").filter { $0.hasSuffix(".m4s") }.count > recorded + 1
      })
    program.send(signal: SIGTERM)
    let result = try program.wait(seconds: 60)
    #expect(result.status == 0, "\(result.errors)")
    #expect(!result.errors.contains("cannot keep up"), "what waited at the start is no load")
    let files = directory.files(below: "spool")
    #expect(files.filter { $0.hasSuffix(".next") }.count == 1 && files.filter { $0.hasSuffix(".end") }.count == 1)
    // Of the first run.
    let start = try #require(files.first { $0.hasSuffix("init.mp4") })
    let segments = files.filter { $0.hasPrefix(start.dropLast("init.mp4".count)) && $0.hasSuffix(".m4s") }
    var bytes = Data()
    for name in [start] + segments {
      bytes += try Data(contentsOf: URL(fileURLWithPath: directory.file("spool/\(name)")))
    }
    try bytes.write(to: URL(fileURLWithPath: directory.file("run.mp4")))
    let video = try #require(try Media.stream(directory.file("run.mp4"), "v"))
    let sound = try #require(try Media.stream(directory.file("run.mp4"), "a"))
    #expect(abs(video.start + video.duration - sound.start - sound.duration) < 0.1)
  }
}
