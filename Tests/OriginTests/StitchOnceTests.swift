import HLS
import Platform
import Storage
import TestKit
import Testing

@testable import Origin

@Suite struct `Stitching once` {
  let scene: StitchScene
  let key: RunKey

  init() throws {
    scene = try StitchScene()
    key = try StitchScene.key(StitchScene.run())
  }

  @Test func `an ended recording gets its live and whole lists, each behind a multivariant playlist`() throws {
    try scene.initSection(key)
    for number in 0..<4 { try scene.segment(number, key) }
    try scene.marker(4, .end, key)
    let summary = try scene.once()
    #expect((summary.recordings, summary.ended, summary.segments, summary.gaps) == (1, 1, 4, 0))
    let live = try scene.playlist("lecture/main/live.m3u8")
    #expect(live.isEnded)
    #expect(live.entries.count == 4)
    let whole = try scene.playlist("lecture/main/vod.m3u8")
    #expect(whole.kind == .vod)
    #expect(whole.entries == live.entries)
    for list in ["live", "vod"] {
      let text = try #require(scene.text("lecture/\(list).m3u8"))
      #expect(text.contains("#EXT-X-INDEPENDENT-SEGMENTS\n"))
      #expect(text.contains("CODECS=\"avc1.64001f,mp4a.40.2\",RESOLUTION=1280x720,FRAME-RATE=25.000\n"))
      #expect(text.contains("\nmain/\(list).m3u8\n"))
    }
  }

  @Test func `a second pass changes nothing`() throws {
    try scene.initSection(key)
    for number in [0, 1, 3] { try scene.segment(number, key) }
    _ = try scene.once()
    let before = scene.text("lecture/main/live.m3u8")
    _ = try scene.once()
    #expect(scene.text("lecture/main/live.m3u8") == before)
    #expect(try scene.playlist("lecture/main/live.m3u8").entries.count == 2)
    #expect(scene.text("lecture/vod.m3u8") == nil)
  }

  @Test func `waiting for a missing segment counts from the time of the later file`() throws {
    try scene.initSection(key)
    try scene.segment(0, key)
    let later = try scene.segment(2, key)
    _ = try scene.once()
    #expect(try scene.playlist("lecture/main/live.m3u8").entries.count == 1)
    try scene.age(later, by: 20)
    _ = try scene.once()
    #expect(try scene.playlist("lecture/main/live.m3u8").entries.map(\.isGap) == [false, true, false])
  }

  @Test func `a segment that came after its gap is whole in vod`() throws {
    try scene.initSection(key)
    try scene.segment(0, key)
    try scene.age(try scene.segment(2, key), by: 20)
    _ = try scene.once()
    try scene.segment(1, key)
    try scene.marker(3, .end, key)
    _ = try scene.once()
    #expect(try scene.playlist("lecture/main/live.m3u8").entries.map(\.isGap) == [false, true, false])
    #expect(try scene.playlist("lecture/main/vod.m3u8").entries.map(\.isGap) == [false, false, false])
  }

  @Test func `bit rates are those of the window when more than the window is there at first`() throws {
    var configuration = StitchConfiguration()
    configuration.policy.window = .last(ticks: 30 * 90_000)
    try scene.initSection(key)
    func rates() throws -> [String: Int64] {
      _ = try scene.once(configuration)
      return MultivariantPlaylist.bandwidths(Array(try #require(scene.text("lecture/live.m3u8")).utf8))
    }
    try scene.segment(0, key)
    let one = try rates()
    #expect(one.values.allSatisfy { $0 > 1 } && !one.isEmpty)
    for list in ["lecture/live.m3u8", "lecture/main/live.m3u8"] { try scene.tree.removeDerived(list) }
    for number in 1..<40 { try scene.segment(number, key) }
    #expect(try rates() == one)
    try scene.segment(40, key)
    #expect(try rates() == one)
  }

  @Test func `numbers go on over passes while the window slides`() throws {
    var configuration = StitchConfiguration()
    configuration.policy.window = .last(ticks: 15 * 90_000)
    try scene.initSection(key)
    for number in 0..<12 {
      try scene.segment(number, key)
      _ = try scene.once(configuration)
    }
    let live = try scene.playlist("lecture/main/live.m3u8")
    #expect(live.mediaSequence == 9)
    #expect(live.entries.map(\.sequence) == [9, 10, 11])
  }

  @Test func `an event list grows over passes, ends, and goes on`() throws {
    var configuration = StitchConfiguration()
    configuration.policy.window = .all
    try scene.initSection(key)
    for number in 0..<5 {
      try scene.segment(number, key)
      _ = try scene.once(configuration)
    }
    try scene.marker(5, .end, key)
    _ = try scene.once(configuration)
    var live = try scene.playlist("lecture/main/live.m3u8")
    #expect(live.kind == .event)
    #expect(live.entries.map(\.sequence) == [0, 1, 2, 3, 4])
    #expect(live.isEnded)
    let second = try StitchScene.key(StitchScene.run(1, after: 60))
    try scene.initSection(second)
    try scene.segment(0, second)
    _ = try scene.once(configuration)
    live = try scene.playlist("lecture/main/live.m3u8")
    #expect(live.entries.count == 6)
    #expect(!live.isEnded)
    #expect(live.rendered() == Array(try #require(scene.text("lecture/main/live.m3u8")).utf8))
  }

  @Test func `pictures that cannot be entered take the claim of independence away for good`() throws {
    try scene.initSection(key)
    try scene.segment(0, key)
    try scene.segment(1, key, startsWithSync: false)
    _ = try scene.once()
    #expect(scene.text("lecture/live.m3u8")?.contains("INDEPENDENT") == false)
    try scene.segment(2, key)
    _ = try scene.once()
    #expect(scene.text("lecture/live.m3u8")?.contains("INDEPENDENT") == false)
  }

  @Test func `all renditions have the target duration of the first that was published`() throws {
    let mic = try StitchScene.key(StitchScene.run(), .mic)
    try scene.initSection(key)
    try scene.initSection(mic, MediaSamples.soundOnly)
    try scene.put(
      .segment(StitchScene.name(0, of: key.run, ticks: 720_000)), key, MediaSamples.segment(second: 0, seconds: 8))
    _ = try scene.once()
    try scene.put(.segment(StitchScene.name(0, of: key.run)), mic, MediaSamples.segment(second: 0))
    _ = try scene.once()
    #expect(try scene.playlist("lecture/main/live.m3u8").targetDuration == 8)
    #expect(try scene.playlist("lecture/mic/live.m3u8").targetDuration == 8)
    #expect(scene.text("lecture/live.m3u8")?.contains("NAME=\"Microphone\"") == true)
  }

  @Test func `a damaged init section holds up nothing but its run`() throws {
    let second = try StitchScene.key(StitchScene.run(1, after: 60))
    try scene.initSection(key, [1, 2, 3])
    try scene.segment(0, key)
    try scene.initSection(second)
    try scene.age(try scene.segment(0, second), by: 20)
    try scene.age(try scene.marker(1, .end, second), by: 20)
    let summary = try scene.once()
    #expect((summary.failed, summary.ended) == (0, 1))
    #expect(try scene.playlist("lecture/main/vod.m3u8").entries.map(\.run) == [second.run])
  }

  @Test func `foreign files and directories are left alone`() throws {
    try scene.initSection(key)
    try scene.segment(0, key)
    try scene.tree.writeAtomically("lecture/notes.txt", [1])
    try scene.tree.writeAtomically("lecture/main/poster.jpg", [1])
    _ = try scene.once()
    #expect(scene.text("lecture/notes.txt") != nil)
    #expect(try scene.playlist("lecture/main/live.m3u8").entries.count == 1)
  }

  @Test func `an unreadable list is written anew, and said`() throws {
    try scene.initSection(key)
    try scene.segment(0, key)
    try scene.tree.writeAtomically("lecture/main/live.m3u8", Array("nonsense\n".utf8))
    let lines = Monitor<[String]>([])
    _ = try stitchOnce(
      scene.tree, StitchConfiguration(), log: Log { event in lines.withLock { $0.append(event.message) } })
    #expect(try scene.playlist("lecture/main/live.m3u8").entries.count == 1)
    #expect(lines.withLock { $0 }.contains { $0.contains("live.m3u8 is damaged") })
  }

  @Test func `a run that only one rendition has is an absence in the other, so that discontinuities count alike`()
    throws
  {
    for number in 0..<3 {
      let run = StitchScene.run(number, after: Int64(number) * 60)
      for rendition in [RenditionName.main, .mic] where rendition == .main || number != 1 {
        let key = try StitchScene.key(run, rendition)
        try scene.initSection(key, rendition == .main ? MediaSamples.initSection : MediaSamples.soundOnly)
        for sequence in 0..<2 { try scene.age(try scene.segment(sequence, key), by: 60) }
        try scene.age(try scene.marker(2, number == 2 ? .end : .next, key), by: 60)
      }
    }
    var configuration = StitchConfiguration()
    configuration.policy.gapAfter = .zero
    _ = try scene.once(configuration)
    for list in ["live", "vod"] {
      let main = try scene.playlist("lecture/main/\(list).m3u8")
      let mic = try scene.playlist("lecture/mic/\(list).m3u8")
      #expect(main.entries.map(\.isDiscontinuity) == [false, false, true, false, true, false])
      #expect(mic.entries.map(\.isDiscontinuity) == main.entries.map(\.isDiscontinuity))
      #expect(mic.entries.map(\.isAbsence) == [false, false, true, true, false, false])
      #expect(mic.entries.map(\.ticks) == main.entries.map(\.ticks))
      #expect(mic.isEnded && main.isEnded)
      #expect(scene.text("lecture/mic/\(list).m3u8")?.contains("\(StitchScene.run(1, after: 60))/init.mp4") == false)
    }
  }

  @Test func `what a killed process left of a list is gone after the next writing`() throws {
    try scene.initSection(key)
    try scene.segment(0, key)
    try scene.put(aside: "lecture/main/.live.m3u8.part", [1])
    try scene.put(aside: "lecture/.live.m3u8.part", [1])
    _ = try scene.once()
    #expect(scene.text("lecture/main/.live.m3u8.part") == nil)
    #expect(scene.text("lecture/.live.m3u8.part") == nil)
    #expect(try scene.playlist("lecture/main/live.m3u8").entries.count == 1)
  }
}
