import Foundation
import TestKit
import Testing

/// Several qualities through the built binary: from one input to variants that a player changes between.
@Suite struct `A ladder of qualities` {
  private let directory: TemporaryDirectory
  private let origin: Origin

  init() throws {
    directory = try TemporaryDirectory()
    origin = try Origin(root: directory.file("root"), arguments: ["--gap-after", "2s"])
  }

  private func recorder(_ arguments: [String], upload: String) throws -> Program {
    try Program(
      segrecBinary,
      [
        "record", "--recording", "talk", "--spool", directory.file("spool"), "--upload", upload, "--ladder",
        "360p,180p,90p@60k", "--segment-duration", "1s", "--chunk-duration", "200ms",
      ] + arguments)
  }

  /// What a media playlist says, by discontinuity: seconds, gaps included.
  private func seconds(_ variant: String) throws -> [Double] {
    let list = try HTTP.get("\(origin.address)/talk/\(variant)/vod.m3u8").body
    var parts = [0.0]
    for line in list.split(separator: "\n") {
      if line == "#EXT-X-DISCONTINUITY" { parts.append(0) }
      if line.hasPrefix("#EXTINF:") { parts[parts.count - 1] += Double(line.dropFirst(8).dropLast()) ?? 0 }
    }
    return parts
  }

  @Test func `is variants of the same pictures and sound, with a choice of sound beside all`() throws {
    let input = directory.file("input.mp4")
    try Media.generate(input, seconds: 4.4)
    let program = try recorder(
      ["--input", input, "--input-format", "lavfi", "--mic", "sine", "--mic-mode", "separate"], upload: origin.address)
    let result = try program.wait()
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.errors.components(separatedBy: "360p is left out; recording 180p, 90p").count == 2)
    let whole = try origin.whole("talk")
    let lines = try HTTP.get(whole).body.split(separator: "\n").map(String.init)
    #expect(lines.filter { !$0.hasPrefix("#") } == ["main/vod.m3u8", "90p/vod.m3u8"])
    let variants = lines.filter { $0.hasPrefix("#EXT-X-STREAM-INF:") }
    for (line, size) in zip(variants, ["320x180", "160x90"]) {
      #expect(line.contains("RESOLUTION=\(size),FRAME-RATE=25.000,AUDIO=\"sound\""), "\(line)")
      #expect(line.contains(",mp4a.40.2\""), "\(line)")
    }
    #expect(lines.filter { $0.hasPrefix("#EXT-X-MEDIA:") }.count == 2)
    for (variant, width) in [("main", 320), ("90p", 160)] {
      let playlist = "\(origin.address)/talk/\(variant)/vod.m3u8"
      try Media.decode(playlist)
      let video = try #require(try Media.stream(playlist, "v"))
      #expect((video.frames, video.width) == (110, width))
      let sound = try #require(try Media.stream(playlist, "a"))
      #expect(abs(sound.duration - 4.4) < 0.06)
    }
    let names = ["main", "90p"].map { variant in
      segmentNames(directory, below: "root/talk/\(variant)").map { ($0 as NSString).lastPathComponent }
    }
    #expect(names[0] == names[1] && names[0].count == 5)
    // One file of it all holds the pictures once.
    let file = directory.file("talk.mp4")
    let exported = try Program.run(segrecBinary, ["export", directory.file("root") + "/talk", file])
    #expect(exported.status == 0, "\(exported.errors)")
    let streams = try Program.tool(
      "ffprobe", ["-v", "error", "-show_entries", "stream=codec_type", "-of", "csv=p=0", file])
    #expect(streams.split(separator: "\n") == ["video", "audio", "audio"])
  }

  @Test func `goes on together after a kill, whatever the crash left of each`() throws {
    let scene = ["--input-format", "lavfi", "--input", "testsrc2=size=320x180:rate=25[out0];sine[out1]", "--realtime"]
    // Nobody is there to take anything in.
    let killed = try recorder(scene, upload: "http://127.0.0.1:9")
    try killed.wait(for: "segment 1 of 90p recorded")
    let pattern = "90p/"
    #expect(
      eventually(within: 20) {
        directory.files(below: "spool/talk").contains { $0.hasPrefix(pattern) && $0.hasSuffix(".part") }
      })
    killed.send(signal: SIGKILL)
    _ = try killed.wait()
    // Of one of them the crash left a second less.
    let files = directory.files(below: "spool/talk").filter { $0.hasPrefix(pattern) && $0.hasSuffix(".part") }
    for name in files { try FileManager.default.removeItem(atPath: directory.file("spool/talk") + "/" + name) }
    let next = try recorder(scene + ["--duration", "2s"], upload: origin.address).wait()
    #expect(next.status == 0, "\(next.errors)")
    let whole = try origin.whole("talk")
    for variant in ["main", "90p"] {
      let names = segmentNames(directory, below: "root/talk/\(variant)")
      let markers = directory.files(below: "root/talk/\(variant)").filter {
        $0.hasSuffix(".next") || $0.hasSuffix(".end")
      }
      #expect(markers.count == 2)
      for marker in markers {
        let run = (marker as NSString).deletingLastPathComponent
        let count = Int((marker as NSString).lastPathComponent.split(separator: ".")[0])
        #expect(sequences(names.filter { $0.hasPrefix(run) }) == Array(0..<(count ?? 0)))
      }
    }
    let (first, second) = (try seconds("main"), try seconds("90p"))
    #expect(first.count == 2 && second.count == 2)
    #expect(zip(first, second).allSatisfy { abs($0 - $1) < 0.21 }, "\(first) \(second)")
    try Media.decode("\(origin.address)/talk/90p/vod.m3u8")
    try Media.decode(whole)
  }
}
