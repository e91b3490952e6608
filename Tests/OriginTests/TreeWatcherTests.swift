import HLS
import Platform
import Storage
import TestKit
import Testing

@testable import Origin

@Suite struct `Tree watcher` {
  let scene: StitchScene
  let seen = Monitor<Set<EntryPath>>([])

  init() throws {
    scene = try StitchScene()
  }

  private func watcher() throws -> TreeWatcher {
    let watcher = TreeWatcher(
      scene.tree, log: .none, found: { [seen] path in _ = seen.withLock { $0.insert(path) } }, lookAgain: {})
    try watcher.start()
    return watcher
  }

  private func waits(for path: EntryPath) -> Bool {
    seen.wait(timeout: .seconds(60)) { $0.contains(path) ? true : nil } ?? false
  }

  @Test func `files of a recording that appears while it watches are made known`() throws {
    let watcher = try watcher()
    defer { watcher.stop() }
    let key = try StitchScene.key(StitchScene.run())
    #expect(waits(for: try scene.initSection(key)))
    #expect(waits(for: try scene.segment(0, key)))
    let second = try StitchScene.key(StitchScene.run(1, after: 60))
    #expect(waits(for: try scene.segment(0, second)))
    #expect(waits(for: try scene.marker(1, .end, second)))
  }

  @Test func `files in directories that were there before are made known, those that were there are not`() throws {
    let key = try StitchScene.key(StitchScene.run())
    let before = try scene.segment(0, key)
    let watcher = try watcher()
    defer { watcher.stop() }
    #expect(waits(for: try scene.segment(1, key)))
    #expect(!seen.withLock { $0.contains(before) })
  }

  @Test func `with it a service publishes what another process wrote`() throws {
    let updates = Updates()
    let service = StitchService(scene.tree, StitchConfiguration(), log: .none) { updates.add($0) }
    let watcher = TreeWatcher(
      scene.tree, log: .none, found: { service.hint($0) }, lookAgain: { service.lookAgain() })
    try watcher.start()
    try service.start()
    defer {
      watcher.stop()
      service.stop()
    }
    let key = try StitchScene.key(StitchScene.run())
    try scene.initSection(key)
    for number in 0..<3 {
      try scene.segment(number, key)
      #expect(updates.reach(number + 1))
    }
  }
}
