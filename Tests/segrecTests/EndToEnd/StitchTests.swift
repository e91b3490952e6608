import Foundation
import HLS
import TestKit
import Testing

/// `segrec stitch` over files that come late, never, or after the end.
@Suite(.serialized) struct `Late and missing` {
  private let directory: TemporaryDirectory
  private let recording: String
  /// Segments of the tracked sample, which decode; here under names that make a longer run.
  private let sample: [String]

  init() throws {
    directory = try TemporaryDirectory()
    recording = directory.file("root/talk/main")
    let run = packageDirectory + "/segments/sample/main/20261130T100404.393Z_1b6c"
    sample = ["\(run)/init.mp4", "\(run)/00000000_20261130T100404.393Z_450000.m4s"]
  }

  private func run(_ number: Int, after seconds: Int64 = 0) -> RunName {
    RunName(start: WallClockTime(milliseconds: 1_796_000_000_000 + seconds * 1_000), suffix: UInt16(number))
  }

  private func put(_ numbers: [Int], _ run: RunName, marker: String? = nil, ago seconds: Double = 0) throws {
    let files = FileManager.default
    let place = "\(recording)/\(run)"
    try files.createDirectory(atPath: place, withIntermediateDirectories: true)
    if !files.fileExists(atPath: "\(place)/init.mp4") {
      try files.copyItem(atPath: sample[0], toPath: "\(place)/init.mp4")
    }
    var made: [String] = []
    for number in numbers {
      let name = SegmentName(
        sequence: number, start: run.start.advanced(byTicks: Int64(number) * 450_000), ticks: 450_000)
      made.append("\(place)/\(name)")
      try files.copyItem(atPath: sample[1], toPath: "\(place)/\(name)")
    }
    if let marker {
      made.append("\(place)/\(marker)")
      try Data().write(to: URL(fileURLWithPath: "\(place)/\(marker)"))
    }
    for path in made {
      try files.setAttributes([.modificationDate: Date(timeIntervalSinceNow: -seconds)], ofItemAtPath: path)
    }
  }

  private func stitch(_ options: String...) throws -> Program.Result {
    let result = try Program.run(segrecBinary, ["stitch", directory.file("root")] + options)
    #expect(result.status == 0, "\(result.errors)")
    return result
  }

  private func list(_ name: String) throws -> MediaPlaylist {
    try MediaPlaylist(parsing: Array(Data(contentsOf: URL(fileURLWithPath: "\(recording)/\(name).m3u8"))))
  }

  @Test func `a missing segment is waited for as long as --gap-after says, and the whole list has it when it comes`()
    throws
  {
    try put([0, 2], run(0), ago: 8)
    _ = try stitch()
    #expect(try list("live").entries.map(\.sequence) == [0])
    let said = try stitch("--gap-after", "5s")
    #expect(said.errors.contains("segment 1 of talk/main") || said.output.contains("segment 1 of talk/main"))
    let published = try list("live").entries
    #expect(published.map(\.isGap) == [false, true, false])
    #expect(published[1].ticks == 450_000)

    try put([1], run(0), marker: "4.end")
    try put([3], run(0))
    _ = try stitch()
    #expect(Array(try list("live").entries.prefix(3)) == published)
    #expect(try list("live").isEnded)
    #expect(try list("vod").entries.map(\.isGap) == [false, false, false, false])
  }

  @Test func `what comes after the whole list was written gets into it`() throws {
    try put([0, 2], run(0), marker: "3.end", ago: 60)
    _ = try stitch()
    #expect(try list("vod").entries.map(\.isGap) == [false, true, false])
    let watcher = try Program(segrecBinary, ["stitch", directory.file("root"), "--watch"])
    try watcher.wait(for: "watching")
    try put([1], run(0))
    #expect(eventually(within: 20) { (try? list("vod"))?.entries.contains(where: \.isGap) == false })
    watcher.send(signal: SIGTERM)
    #expect(try watcher.wait().status == 0)
  }

  @Test func `an outage of the recorder is a new run and no gap`() throws {
    try put([0, 1], run(0), marker: "2.next", ago: 600)
    try put([0], run(1, after: 600), ago: 5)
    _ = try stitch()
    let entries = try list("live").entries
    #expect(entries.allSatisfy { !$0.isGap })
    #expect(entries.map(\.isDiscontinuity) == [false, false, true])
    #expect(entries[2].date == run(1, after: 600).start)
    #expect(try !list("live").isEnded)
  }

  @Test func `silence ends a recording after --idle-end, and a new run opens it again`() throws {
    try put([0, 1], run(0), ago: 90)
    _ = try stitch("--idle-end", "10m")
    #expect(try !list("live").isEnded)
    _ = try stitch("--idle-end", "1m")
    #expect(try list("live").isEnded)
    #expect(try list("vod").entries.count == 2)
    let before = try list("live").entries

    try put([0], run(1, after: 100), marker: "1.end")
    _ = try stitch()
    #expect(try list("live").isEnded)
    #expect(Array(try list("live").entries.prefix(2)) == before)
    #expect(try list("vod").entries.map(\.isDiscontinuity) == [false, false, true])
    try Media.decode("\(directory.file("root"))/talk/vod.m3u8")
  }

  @Test func `a recording goes on after its end`() throws {
    try put([0], run(0), marker: "1.end", ago: 60)
    _ = try stitch()
    #expect(try list("live").isEnded)
    try put([0], run(1, after: 100))
    _ = try stitch()
    #expect(try !list("live").isEnded)
    #expect(try list("live").entries.count == 2)
  }

  @Test func `a root that another process stitches is one line and exit 75`() throws {
    try put([0], run(0))
    let watcher = try Program(segrecBinary, ["stitch", directory.file("root"), "--watch"])
    try watcher.wait(for: "watching")
    for arguments in [
      ["stitch", directory.file("root")], ["serve", "--root", directory.file("root"), "--listen", "127.0.0.1:0"],
    ] {
      let result = try Program.run(segrecBinary, arguments)
      #expect(result.status == 75)
      #expect(result.errors.split(separator: "\n").count == 1)
      #expect(result.errors.contains("process \(watcher.processIdentifier)"))
    }
    watcher.send(signal: SIGTERM)
    try watcher.wait()
  }
}
