import Foundation
import Recording
import TestKit
import Testing

/// Edit lists say what of a file is presented (ISO 14496-12 §8.6.6): phones trim clips by them.
@Suite struct `Edited files` {
  /// Four seconds with a key frame every two, of which the first 1.2 are cut off without coding anew.
  private func trimmed(in directory: TemporaryDirectory, _ encoder: String = "libx264") throws -> String {
    let whole = try Generated.file(
      "whole.mp4", in: directory, "testsrc2=s=64x64:r=25:d=4[out0];sine=r=48000:d=4[out1]",
      ["-c:v", encoder, "-g", "50", "-preset", encoder == "libx264" ? "ultrafast" : "12", "-c:a", "aac"])
    let trimmed = directory.file("trimmed.mp4")
    try Program.tool("ffmpeg", ["-v", "error", "-ss", "1.2", "-i", whole, "-c", "copy", trimmed])
    return trimmed
  }

  @Test(arguments: ["libx264", "libsvtav1"])
  func `what was cut off is neither seen nor heard`(encoder: String) throws {
    let directory = try TemporaryDirectory()
    let recorded = try Recorded(try trimmed(in: directory, encoder), into: directory)
    let played = try recorded.played()
    #expect(played.pictures.count == 70)
    #expect(abs(played.soundEnd - 2.8) < 0.022)
    #expect(recorded.runs.first?.ticks == [252_000])
  }

  @Test func `copied pictures are shown from the key frame on, which is said`() throws {
    let directory = try TemporaryDirectory()
    let recorded = try Recorded(try trimmed(in: directory), into: directory) { $0.video = .copy }
    #expect(try recorded.played().pictures.count == 100)
    #expect(recorded.events.count { $0.message.contains("before its edit") } == 1)
  }

  @Test func `padding behind the last sound is no sound`() throws {
    let directory = try TemporaryDirectory()
    let path = try Generated.file("low.m4a", in: directory, "sine=r=22050:d=2", ["-c:a", "aac"])
    #expect(abs(try Recorded(path, into: directory).played().soundEnd - 2) < 0.022)
  }
}
