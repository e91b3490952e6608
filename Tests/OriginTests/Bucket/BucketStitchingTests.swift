import HLS
import Platform
import Storage
import Synchronization
import TestKit
import Testing

@testable import Origin

@Suite struct `Stitching a bucket` {
  let scene: BucketScene
  let key: RunKey

  init() throws {
    scene = try BucketScene()
    key = try StitchScene.key(BucketScene.run)
  }

  /// Pages of two keys: whatever is listed takes several.
  @Test(arguments: [1_000, 2])
  func `gives the lists that the same directory gets`(pageSize: Int) throws {
    scene.bucket.change { $0.pageSize = pageSize }
    let local = try StitchScene()
    let second = try StitchScene.key(StitchScene.run(1, after: 60))
    let mic = try StitchScene.key(StitchScene.run(), .mic)
    for (key, count, kind) in [(key, 9, MarkerName.Kind.next), (second, 3, .end), (mic, 9, .end)] {
      try local.initSection(key)
      scene.initSection(key)
      for number in 0..<count where number != 4 {
        try local.segment(number, key)
        scene.segment(number, key)
      }
      try local.marker(count, kind, key)
      scene.marker(count, kind, key)
    }
    scene.bucket.put("pre/lecture/main/foreign.txt", [1])
    scene.bucket.put("pre/lecture/.hidden/x", [1])
    scene.bucket.put("other/lecture/main/\(BucketScene.run)/init.mp4", [1])
    var configuration = StitchConfiguration()
    configuration.policy.gapAfter = .zero
    let there = try stitchOnce(try scene.store(), configuration, log: .none)
    #expect(try there == local.once(configuration))
    for list in ["live", "vod"] {
      for place in ["", "main/", "mic/"] {
        let text = try #require(scene.bucket.text("pre/lecture/\(place)\(list).m3u8"))
        #expect(text == local.text("lecture/\(place)\(list).m3u8"))
      }
    }
  }

  @Test func `a segment that is made known costs one head and one list`() throws {
    let store = try scene.store()
    let made = [scene.initSection(key), scene.segment(0, key)]
    var worker = StitchWorker(
      store, StitchConfiguration(), .none, owns: { _ in true }, writeWhole: { _ in }, onUpdate: { _ in })
    for path in made { worker.take(.file(path), at: .now) }
    worker.work(at: .now)
    _ = scene.bucket.takeCounts()
    for number in 1...10 {
      worker.take(.file(scene.segment(number, key)), at: .now)
      worker.work(at: .now)
      #expect(scene.bucket.takeCounts() == ["GET": 1, "PUT": 1])
    }
    #expect(try scene.playlist("lecture/main/live.m3u8").entries.count == 11)
  }

  @Test func `a segment that is found costs one listing more, however many there are`() throws {
    let store = try scene.store()
    scene.initSection(key)
    for number in 0..<50 { scene.segment(number, key) }
    scene.bucket.change { $0.pageSize = 5 }
    var stitching = try scene.recording(store)
    _ = try stitching.advance(at: .now)
    _ = scene.bucket.takeCounts()
    var sum: [String: Int] = [:]
    for number in 50..<62 {
      scene.segment(number, key)
      try stitching.scan(changedOnly: true, at: .now)
      _ = try stitching.advance(at: .now)
      sum.merge(scene.bucket.takeCounts()) { $0 + $1 }
    }
    // Two looks for new renditions among them.
    #expect(sum == ["LIST": 14, "GET": 12, "PUT": 12])
  }

  @Test func `numbers that come in any order are found`() throws {
    let store = try scene.store()
    scene.initSection(key)
    scene.segment(0, key)
    var stitching = try scene.recording(store)
    _ = try stitching.advance(at: .now)
    for number in [3, 1, 2] {
      scene.segment(number, key)
      try stitching.scan(changedOnly: true, at: .now)
      _ = try stitching.advance(at: .now)
    }
    #expect(try scene.playlist("lecture/main/live.m3u8").entries.map(\.sequence) == [0, 1, 2, 3])
  }

  @Test func `what is made known and is not there changes nothing`() throws {
    let store = try scene.store()
    scene.initSection(key)
    scene.segment(0, key)
    var stitching = try scene.recording(store)
    _ = try stitching.advance(at: .now)
    let before = scene.bucket.text("pre/lecture/main/live.m3u8")
    for entry in [RunEntry.segment(StitchScene.name(1, of: key.run)), .marker(MarkerName(count: 1, kind: .end))] {
      try stitching.arrived(EntryPath(key: key, entry: entry), at: .now)
      _ = try stitching.advance(at: .now)
    }
    let other = try StitchScene.key(StitchScene.run(1, after: 60))
    try stitching.arrived(EntryPath(key: other, entry: .initSection), at: .now)
    try stitching.arrived(EntryPath(key: other, entry: .segment(StitchScene.name(0, of: other.run))), at: .now)
    _ = try stitching.advance(at: .now)
    #expect(scene.bucket.text("pre/lecture/main/live.m3u8") == before)
  }

  /// Each list is put on top of the one its writer read, so that a worker that slept cannot put an older one back.
  @Test(arguments: [StitchingPolicy.Window.last(ticks: 20 * 90_000), .all])
  func `a worker that slept does not replace a newer list`(window: StitchingPolicy.Window) throws {
    scene.initSection(key)
    scene.segment(0, key)
    var policy = StitchingPolicy()
    policy.window = window
    let name = try #require(StitchScene.recording)
    var slept = try RecordingStitching(try scene.store(), name, policy, .none, at: .now)
    _ = try slept.advance(at: .now)
    scene.segment(1, key)
    try slept.scan(changedOnly: true, at: .now)
    var awake = try RecordingStitching(try scene.store(), name, policy, .none, at: .now)
    for number in 2..<8 { scene.segment(number, key) }
    try awake.scan(changedOnly: true, at: .now)
    _ = try awake.advance(at: .now)
    let newer = scene.bucket.text("pre/lecture/main/live.m3u8")
    #expect(throws: StorageError.self) { _ = try slept.advance(at: .now) }
    #expect(scene.bucket.text("pre/lecture/main/live.m3u8") == newer)
    // What it does then: forgets all, and goes on where the other is.
    var again = try RecordingStitching(try scene.store(), name, policy, .none, at: .now)
    scene.segment(8, key)
    try again.scan(changedOnly: true, at: .now)
    _ = try again.advance(at: .now)
    let list = try scene.playlist("lecture/main/live.m3u8")
    #expect(list.entries.last?.sequence == 8)
    #expect(list.mediaSequence + list.entries.count == 9)
  }

  @Test func `an ended recording is not asked about again until something is made known`() throws {
    let store = try scene.store()
    scene.put(.initSection, MediaSamples.initSection, key, age: 60)
    for number in 0..<3 { scene.segment(number, key, age: 60) }
    scene.put(.marker(MarkerName(count: 3, kind: .end)), [], key, age: 60)
    _ = try stitchOnce(store, StitchConfiguration(), log: .none)
    #expect(try store.isSettled(key.recording))
    _ = scene.bucket.takeCounts()
    #expect(try store.isSettled(key.recording))
    #expect(scene.bucket.takeCounts() == [:])
    // Another process finds out with a listing of the recording, and the end of each list with what lies behind it.
    #expect(try scene.store().isSettled(key.recording))
    #expect(scene.bucket.takeCounts() == ["LIST": 2, "GET": 1])
    let second = try StitchScene.key(StitchScene.run(1, after: 60))
    scene.initSection(second)
    #expect(try !scene.store().isSettled(key.recording))
  }

  @Test func `a store that is away is told once, and what came meanwhile is in the list when it is back`() throws {
    let events = Mutex<[String]>([])
    let log = Log { event in events.withLock { $0.append(event.name) } }
    let store = try scene.store(log: log)
    scene.initSection(key)
    scene.segment(0, key)
    var configuration = StitchConfiguration()
    configuration.threads = 2
    configuration.rescanInterval = .milliseconds(50)
    let updates = Updates()
    let service = StitchService(store, configuration, log: log) { updates.add($0) }
    try service.start()
    defer { service.stop() }
    service.hint(EntryPath(key: key, entry: .initSection))
    #expect(updates.reach(1))
    scene.bucket.change { $0.isDown = true }
    for number in 1..<4 { service.hint(scene.segment(number, key)) }
    #expect(eventually(within: 60) { events.withLock { $0.contains("store-away") } })
    scene.bucket.change { $0.isDown = false }
    #expect(updates.reach(4))
    let said = events.withLock { $0 }
    #expect(said.filter { $0 == "store-away" }.count == 1)
    #expect(said.filter { $0 == "store-back" }.count == 1)
    #expect(!said.contains("stitch"))
  }

  @Test func `phone pieces are refused in words`() throws {
    let texts = Mutex<[String]>([])
    let log = Log { event in texts.withLock { $0.append(event.message) } }
    for number in 0..<3 { scene.put(.piece(sequence: number), [1], key) }
    let name = try #require(StitchScene.recording)
    var stitching = try RecordingStitching(try scene.store(), name, StitchingPolicy(), log, at: .now)
    _ = try stitching.advance(at: .now)
    #expect(texts.withLock { $0 }.filter { $0.contains("segrec stitch on that") }.count == 1)
  }
}
