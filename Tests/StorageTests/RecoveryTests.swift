import Foundation
import HLS
import Platform
import Storage
import TestKit
import Testing

@Suite struct `Recovery` {
  let directory: TemporaryDirectory
  let tree: Tree
  let scene = Scene()

  init() throws {
    directory = try TemporaryDirectory()
    tree = try Tree(root: directory.path, create: false)
  }

  private func put(_ name: String, _ bytes: [UInt8], _ key: RunKey? = nil) throws {
    let url = URL(fileURLWithPath: directory.file("\(key ?? scene.key)/\(name)"))
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: url)
  }

  private func recover(_ kind: MarkerName.Kind = .end) throws -> RecoveryReport {
    try tree.recover(tree.lock(Scene.recording), closingWith: kind, now: Scene.began)
  }

  private func names(of key: RunKey? = nil) -> [String] { directory.files(below: (key ?? scene.key).description) }

  private func partial(_ sequence: Int) -> String {
    ".0000000\(sequence)_\(scene.start(sequence).compact).part"
  }

  private func segment(_ sequence: Int, ticks: Int64 = 270_000) -> String {
    SegmentName(sequence: sequence, start: scene.start(sequence), ticks: ticks).description
  }

  @Test(arguments: [0, 1, 100, 300, 100_000])
  func `a partial is cut after its last whole chunk`(extra: Int) throws {
    let two = scene.chunk(0, 0) + scene.chunk(0, 1)
    try put("init.mp4", scene.initSection)
    try put(partial(0), two + scene.chunk(0, 2).prefix(min(extra, scene.chunk(0, 2).count - 1)))
    let report = try recover()
    #expect(report.salvaged.map(\.entry.description) == [segment(0, ticks: 180_000)])
    #expect(names() == [segment(0, ticks: 180_000), "1.end", "init.mp4"].sorted())
    let bytes = FileManager.default.contents(atPath: directory.file("\(scene.key)/\(segment(0, ticks: 180_000))"))
    #expect(bytes.map(Array.init) == two)
  }

  @Test(arguments: [0, 1, 7, 8, 100])
  func `a partial without a whole chunk goes`(length: Int) throws {
    try put("init.mp4", scene.initSection)
    try put(segment(0), scene.segment(0))
    try put(partial(1), Array(scene.chunk(1, 0).prefix(length)))
    let report = try recover()
    #expect(report.removed == 1)
    #expect(names() == [segment(0), "1.end", "init.mp4"].sorted())
  }

  /// Chunks of a second that a kill left in `main` and in `mic`, and those that are kept of each.
  @Test(arguments: [
    // One chunk more is a kill between two writes; nothing of a first second is kept either.
    ([4, 5], [4, 4]), ([5, 4], [4, 4]), ([4, 3], [3, 3]), ([3, 4], [3, 3]), ([1, 0], [0, 0]), ([0, 1], [0, 0]),
    // Two more are something else, and no cut of one makes them alike.
    ([5, 3], [5, 3]), ([2, 0], [2, 0]), ([5, 5], [5, 5]),
  ])
  func `renditions of a killed recorder end together`(left: [Int], kept: [Int]) throws {
    let mic = RunKey(
      recording: Scene.recording, rendition: try #require(RenditionName("mic")), run: scene.key.run)
    for (key, chunks) in zip([scene.key, mic], left) {
      try put("init.mp4", scene.initSection, key)
      for number in 0..<Scene.segments {
        let held = min(3, chunks - 3 * number)
        if held == 3 {
          try put(segment(number), scene.segment(number), key)
        } else if held >= 0 {
          try put(partial(number), (0..<held).flatMap { scene.chunk(number, $0) }, key)
        }
      }
    }
    let report = try recover()
    #expect(report.problems == [])
    for (key, chunks) in zip([scene.key, mic], kept) {
      let held = names(of: key).compactMap { SegmentName($0) }.reduce(0) { $0 + Int($1.ticks / Scene.chunkTicks) }
      #expect(held == chunks, "\(key)")
    }
  }

  @Test(arguments: [true, false])
  func `after a power cut a chunk with a hole of zeros is not whole`(restarted: Bool) throws {
    let chunks = (0..<3).map { index in
      chunkBytes(decodeTime: UInt64(index) * 90_000, [SampleBytes(duration: 90_000, size: 20_000)])
    }
    var bytes = chunks.flatMap(\.self)
    let hole = (chunks[0].count + 8_192) / 4_096 * 4_096
    bytes.replaceSubrange(hole..<hole + 4_096, with: [UInt8](repeating: 0, count: 4_096))
    try put("init.mp4", scene.initSection)
    try put(partial(0), bytes)
    let started = try #require(SystemStart.time())
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: Double(started) / 1_000 + (restarted ? -60 : 1))],
      ofItemAtPath: directory.file("\(scene.key)/\(partial(0))"))
    #expect(try recover().salvaged.map(\.entry.description) == [segment(0, ticks: restarted ? 90_000 : 270_000)])
  }

  @Test func `segments that were sent or refused count as well`() throws {
    try put("init.mp4", scene.initSection)
    try put("sent/\(segment(0))", [1])
    try put("refused/\(segment(1))", [1])
    #expect(try recover().closed.map(\.entry.description) == ["2.end"])
  }

  @Test func `a partial tells how many came before it when all of those are gone`() throws {
    try put("init.mp4", scene.initSection)
    try put(partial(5), [])
    #expect(try recover().closed.map(\.entry.description) == ["5.end"])
  }

  @Test func `only the newest run ends a recording, and earlier ones are followed by it`() throws {
    let later = RunKey(
      recording: Scene.recording, rendition: .main,
      run: RunName(after: scene.key.run, now: Scene.began, suffix: 1))
    try put("init.mp4", scene.initSection)
    try put("init.mp4", scene.initSection, later)
    #expect(try recover().closed.map(\.description) == ["\(scene.key)/0.next", "\(later)/0.end"])
  }

  @Test func `a recording that goes on gets no end`() throws {
    try put("init.mp4", scene.initSection)
    #expect(try recover(.next).closed.map(\.entry.description) == ["0.next"])
    #expect(try recover(.next).didNothing)
  }

  @Test func `a recorder that stopped between two runs leaves a recording that ends`() throws {
    try put("init.mp4", scene.initSection)
    try put("0.next", [])
    let closed = try #require(recover().closed.first)
    #expect(closed.entry == .marker(MarkerName(count: 0, kind: .end)))
    #expect(closed.key.run > scene.key.run)
    #expect(try recover().didNothing)
  }

  @Test func `a run whose init section is missing is closed, and nothing is made of its partial`() throws {
    try put(partial(0), scene.segment(0))
    let report = try recover()
    #expect(report.removed == 1)
    #expect(names() == ["0.end"])
  }

  @Test func `a damaged init section is told, and the partial stays`() throws {
    try put("init.mp4", [0, 0, 0, 9, 1, 2])
    try put(partial(0), scene.segment(0))
    let report = try recover()
    #expect(report.problems.count == 1)
    #expect("\(report.problems)".contains("init.mp4 is damaged"))
    #expect(names() == [partial(0), "0.end", "init.mp4"].sorted())
  }

  @Test func `a partial whose segment is there already is a leftover of its commit`() throws {
    try put("init.mp4", scene.initSection)
    try put(segment(0), scene.segment(0))
    try put(partial(0), scene.segment(0))
    #expect(try recover().removed == 1)
    #expect(names() == [segment(0), "1.end", "init.mp4"].sorted())
  }

  @Test func `foreign and closed things are left as they are`() throws {
    let foreign = ["notes.txt", ".hidden", "0001.m4s", "00000000.mp4.tmp", ".1f.part"]
    for name in foreign { try put(name, [1]) }
    try put("init.mp4", scene.initSection)
    try put("0.end", [])
    #expect(try recover().didNothing)
    #expect(names() == (foreign + ["init.mp4", "0.end"]).sorted())
  }

  @Test func `random damage never makes a segment that is not whole, and never stops recovery`() throws {
    var random = SeededRandom(42)
    let whole = scene.segment(0)
    let initSection = try InitSection(parsing: scene.initSection)
    for _ in 0..<200 {
      var bytes = whole
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
      try put("init.mp4", scene.initSection)
      try put(partial(0), bytes)
      let report = try recover()
      #expect(report.problems == [])
      #expect(!names().contains { $0.hasSuffix(".part") })
      for entry in report.salvaged {
        let saved = try #require(FileManager.default.contents(atPath: directory.file(entry.description)))
        var scan = ChunkScan(initSection)
        scan.feed(Array(saved))
        #expect(scan.wholeLength == UInt64(saved.count))
      }
      try FileManager.default.removeItem(atPath: directory.file(scene.key.description))
    }
  }

  @Test func `temporary files of receivers go when they are old, a recorder's do not`() throws {
    let recording = Scene.recording
    for name in [".1f.part", partial(0), ".init.part", "init.mp4"] { try put(name, [1]) }
    try Data().write(to: URL(fileURLWithPath: directory.file("\(recording)/.2e.part")))
    try Data().write(to: URL(fileURLWithPath: directory.file("\(recording)/main/.3d.part")))
    #expect(try tree.removeAbandonedTemporaries(of: recording, before: WallClock.now() - 60_000) == 0)
    #expect(try tree.removeAbandonedTemporaries(of: recording, before: WallClock.now() + 60_000) == 3)
    #expect(names() == [partial(0), ".init.part", "init.mp4"].sorted())
  }
}
