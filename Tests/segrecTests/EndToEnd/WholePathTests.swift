import Foundation
import TestKit
import Testing

/// From an input to what a viewer gets, through the built binary and nothing else.
@Suite(.serialized) struct `The whole path` {
  private let directory: TemporaryDirectory
  private let origin: Origin

  init() throws {
    directory = try TemporaryDirectory()
    origin = try Origin(root: directory.file("root"))
  }

  private func record(_ arguments: [String], name: String, seconds: Double = 60) throws -> Program.Result {
    try Program.run(
      segrecBinary,
      ["record", "--recording", name, "--spool", directory.file("spool"), "--upload", origin.address] + arguments,
      seconds: seconds)
  }

  @Test(arguments: [
    ("encoded", [String]()), ("copied", ["--video", "copy", "--audio", "copy"]),
  ])
  func `a file comes out whole and to the frame`(name: String, arguments: [String]) throws {
    let input = directory.file("input.mp4")
    try Media.generate(input, seconds: 12.4)
    let result = try record(["--input", input] + arguments, name: name)
    #expect(result.status == 0, "\(result.errors)")
    let playlist = try origin.whole(name)
    try Media.decode(playlist)
    let video = try #require(try Media.stream(playlist, "v"))
    #expect(video.frames == 310)
    #expect(abs(video.duration - 12.4) < 0.04)
    let sound = try #require(try Media.stream(playlist, "a"))
    #expect(abs(sound.duration - 12.4) < 0.06)
    #expect(abs(sound.start - video.start) < 0.03)
    // All is acknowledged: nothing is left to send, and the acknowledged copies are kept for `clean`.
    let left = segmentNames(directory, below: "spool/\(name)")
    #expect(left.allSatisfy { $0.contains("/sent/") })
    #expect(sequences(left) == [0, 1, 2])
    // Encoded segments lie on the grid to the tick.
    if name == "encoded" {
      let ticks = left.compactMap { Int($0.dropLast(4).split(separator: "_").last ?? "") }
      #expect(ticks.prefix(2) == [450_000, 450_000])
    }
  }

  @Test func `standard input is recorded to its end`() throws {
    let input = directory.file("input.ts")
    try Media.generate(input, seconds: 6)
    let program = try Program(
      segrecBinary,
      [
        "record", "--input", "-", "--recording", "piped", "--spool", directory.file("spool"), "--upload",
        origin.address,
      ],
      hasInput: true)
    try program.write(Data(contentsOf: URL(fileURLWithPath: input)))
    program.closeInput()
    #expect(try program.wait().status == 0, "\(program.errors)")
    let video = try #require(try Media.stream(origin.whole("piped"), "v"))
    #expect(video.frames == 150)
  }

  @Test func `a second input brings the sound`() throws {
    let picture = directory.file("picture.mp4")
    let sound = directory.file("sound.wav")
    try Media.generate(picture, seconds: 5, arguments: ["-an", "-c:v", "libx264", "-preset", "ultrafast"])
    try Media.generate(sound, seconds: 5, arguments: ["-vn", "-c:a", "pcm_s16le"])
    let result = try record(["--input", picture, "--input", sound], name: "both")
    #expect(result.status == 0, "\(result.errors)")
    let playlist = try origin.whole("both")
    #expect(try Media.stream(playlist, "v")?.frames == 125)
    #expect(try Media.stream(playlist, "a")?.codec == "aac")
  }

  @Test func `a generated source stops after the given duration`() throws {
    let result = try record(
      [
        "--input-format", "lavfi", "--input", "testsrc2=size=320x180:rate=25[out0];sine=frequency=440[out1]",
        "--duration",
        "7s",
      ], name: "generated")
    #expect(result.status == 0, "\(result.errors)")
    let playlist = try origin.whole("generated")
    let video = try #require(try Media.stream(playlist, "v"))
    #expect(video.frames == 175)
    #expect(try HTTP.get("\(origin.address)/generated/main/vod.m3u8").body.contains("#EXT-X-ENDLIST"))
  }

  @Test func `a directory is a server too`() throws {
    let input = directory.file("input.mp4")
    try Media.generate(input, seconds: 6)
    let target = directory.file("archive")
    let arguments = [
      "record", "--input", input, "--recording", "filed", "--spool", directory.file("spool"), "--upload",
      "file://\(target)",
    ]
    // The place of a disk that is not mounted: nothing is made there.
    let missing = try Program.run(segrecBinary, arguments)
    #expect(missing.status == 73 && missing.errors.contains("there is no directory \(target)"), "\(missing.errors)")
    #expect(!FileManager.default.fileExists(atPath: target))
    try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: false)
    let result = try Program.run(segrecBinary, arguments)
    #expect(result.status == 0, "\(result.errors)")
    #expect(try Program.run(segrecBinary, ["stitch", target]).status == 0)
    try Media.decode("\(target)/filed/vod.m3u8")
    #expect(try Media.stream("\(target)/filed/vod.m3u8", "v")?.frames == 150)
  }

  @Test func `an export is one file with everything`() throws {
    let input = directory.file("input.mp4")
    try Media.generate(input, seconds: 11)
    #expect(try record(["--input", input], name: "talk").status == 0)
    let output = directory.file("talk.mp4")
    let result = try Program.run(segrecBinary, ["export", "\(origin.root)/talk", output])
    #expect(result.status == 0, "\(result.errors)")
    try Media.decode(output)
    let video = try #require(try Media.stream(output, "v"))
    #expect(video.frames == 275)
    #expect(abs(video.duration - 11) < 0.04)
  }

  @Test func `status tells what is there as text and as JSON`() throws {
    let input = directory.file("input.mp4")
    try Media.generate(input, seconds: 6)
    #expect(try record(["--input", input], name: "told").status == 0)
    let text = try Program.run(segrecBinary, ["status", "--spool", directory.file("spool")])
    #expect(text.status == 0)
    #expect(text.output.contains("told"))
    let json = try Program.run(segrecBinary, ["status", "--root", origin.root, "--json"])
    #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(json.output.utf8)) }
    #expect(json.output.contains("\"told\""))
  }

  @Test func `clean removes what is sent and old, and tells before when asked`() throws {
    let scene = ["--input-format", "lavfi", "--input", "testsrc2=size=320x180:rate=25", "--realtime"]
    let result = try record(scene + ["--segment-duration", "1s", "--duration", "2s"], name: "old")
    #expect(result.status == 0, "\(result.errors)")
    let spool = directory.file("spool")
    let before = directory.files(below: "spool")
    let dry = try Program.run(segrecBinary, ["clean", "--spool", spool, "--max-age", "0s", "--dry-run"])
    #expect(dry.status == 0, "\(dry.errors)")
    #expect(directory.files(below: "spool") == before)
    let kept = try Program.run(segrecBinary, ["clean", "--spool", spool])
    #expect(kept.status == 0)
    #expect(segmentNames(directory, below: "spool").count == 2, "younger than a day")
    let done = try Program.run(segrecBinary, ["clean", "--spool", spool, "--max-age", "0s"])
    #expect(done.status == 0, "\(done.errors)")
    #expect(segmentNames(directory, below: "spool").isEmpty)
  }
}
