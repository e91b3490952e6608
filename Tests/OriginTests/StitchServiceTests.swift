import Glibc
import HLS
import Platform
import Storage
import TestKit
import Testing

@testable import Origin

@Suite struct `Stitch service` {
  let scene: StitchScene
  let key: RunKey
  let updates = Updates()

  init() throws {
    scene = try StitchScene()
    key = try StitchScene.key(StitchScene.run())
  }

  private func service(_ change: (inout StitchConfiguration) -> Void = { _ in }) throws -> StitchService {
    var configuration = StitchConfiguration()
    configuration.threads = 2
    change(&configuration)
    let service = StitchService(scene.tree, configuration, log: .none) { [updates] in updates.add($0) }
    try service.start()
    return service
  }

  @Test func `a segment stands in the live list when its update is told`() throws {
    let service = try service()
    defer { service.stop() }
    service.hint(try scene.initSection(key))
    for number in 0..<5 {
      service.hint(try scene.segment(number, key))
      #expect(updates.reach(number + 1))
      #expect(try scene.playlist("lecture/main/live.m3u8").entries.count == number + 1)
    }
  }

  @Test func `the whole list follows the end marker`() throws {
    let service = try service()
    service.hint(try scene.initSection(key))
    service.hint(try scene.segment(0, key))
    service.hint(try scene.marker(1, .end, key))
    #expect(updates.sawEnd())
    service.stop()
    #expect(try scene.playlist("lecture/main/vod.m3u8").entries.count == 1)
    #expect(scene.text("lecture/vod.m3u8")?.contains("main/vod.m3u8") == true)
  }

  @Test func `what nobody made known is found by looking`() throws {
    let service = try service { $0.rescanInterval = .milliseconds(20) }
    defer { service.stop() }
    try scene.initSection(key)
    try scene.segment(0, key)
    #expect(updates.reach(1))
  }

  @Test func `a lost notice is no gap: the directory is asked first`() throws {
    let service = try service { $0.policy.gapAfter = .milliseconds(100) }
    defer { service.stop() }
    service.hint(try scene.initSection(key))
    service.hint(try scene.segment(0, key))
    #expect(updates.reach(1))
    try scene.segment(1, key)
    service.hint(try scene.segment(2, key))
    #expect(updates.reach(3))
    #expect(try scene.playlist("lecture/main/live.m3u8").entries.allSatisfy { !$0.isGap })
  }

  @Test func `a late segment of an ended recording comes into the whole list`() throws {
    var service = try service { $0.policy.gapAfter = .zero }
    service.hint(try scene.initSection(key))
    service.hint(try scene.segment(0, key))
    service.hint(try scene.segment(2, key))
    #expect(updates.reach(3))
    service.hint(try scene.marker(3, .end, key))
    #expect(updates.sawEnd())
    service.stop()
    #expect(try scene.playlist("lecture/main/vod.m3u8").entries.map(\.isGap) == [false, true, false])
    try scene.segment(1, key)
    service = try self.service()
    service.lookAgain()
    service.stop()
    #expect(try scene.playlist("lecture/main/vod.m3u8").entries.map(\.isGap) == [false, false, false])
  }

  @Test func `many recordings at once each get their list`() throws {
    let service = try service()
    let run = StitchScene.run()
    for number in 0..<60 {
      let key = try StitchScene.key(run, recording: "camera-\(number)")
      service.hint(try scene.initSection(key))
      service.hint(try scene.segment(0, key))
      service.hint(try scene.marker(1, .end, key))
    }
    service.stop()
    for number in 0..<60 {
      #expect(try scene.playlist("camera-\(number)/main/live.m3u8").isEnded)
      #expect(try scene.playlist("camera-\(number)/main/vod.m3u8").isEnded)
    }
  }

  @Test func `processes that share a root by shards leave each other's recordings alone`() throws {
    for number in 0..<20 {
      let key = try StitchScene.key(StitchScene.run(), recording: "camera-\(number)")
      try scene.initSection(key)
      try scene.segment(0, key)
    }
    var configuration = StitchConfiguration()
    var total = 0
    for index in 0..<3 {
      configuration.shard = .init(index: index, count: 3)
      let count = try scene.once(configuration).recordings
      #expect(count > 0)
      total += count
    }
    #expect(total == 20)
  }

  @Test func `two processes do not write the same playlists`() throws {
    let service = try service()
    let busy = StitchError.busy(root: scene.tree.root, owner: getpid())
    #expect(throws: busy) { try scene.once() }
    let other = StitchService(scene.tree, StitchConfiguration(), log: .none)
    #expect(throws: busy) { try other.start() }
    service.stop()
    #expect(try scene.once().recordings == 0)
  }

  @Test func `deadlines come due in order`() {
    var queue = DeadlineQueue<Int>()
    var random = SystemRandomNumberGenerator()
    let start = ContinuousClock.now
    for key in (0..<200).shuffled(using: &random) { queue.insert(key, at: start + .seconds(key)) }
    #expect(queue.takeDue(at: start - .seconds(1)) == nil)
    var taken: [Int] = []
    while let key = queue.takeDue(at: start + .seconds(99)) { taken.append(key) }
    #expect(taken == Array(0..<100))
    #expect(queue.count == 100)
  }
}
