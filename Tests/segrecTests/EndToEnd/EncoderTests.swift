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
    let began = ContinuousClock.now
    let result = try program.wait(seconds: 20)
    #expect(ContinuousClock.now - began < .seconds(11))
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
    let result = try program.wait(seconds: 20)
    #expect(result.status == 0, "\(result.errors)")
  }
}
