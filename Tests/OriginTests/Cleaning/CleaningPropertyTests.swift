import Foundation
import HLS
import Platform
import Storage
import TestKit
import Testing

@testable import Origin

/// Random trees against rules that hold for each of them.
@Suite struct `Cleaning any tree` {
  /// Fills a tree with whatever may lie in one.
  private func fill(_ scene: TreeScene, _ random: inout SeededRandom) throws {
    for recording in 0..<Int.random(in: 1...4, using: &random) {
      for rendition in [RenditionName.main, .mic].prefix(Int.random(in: 1...2, using: &random)) {
        let runs = Int.random(in: 1...4, using: &random)
        for run in 0..<runs {
          try fillRun(
            scene, try TreeScene.key("r\(recording)", rendition, hours: Double(90 - run * 10)),
            isLast: run == runs - 1, &random)
        }
      }
    }
  }

  private func fillRun(
    _ scene: TreeScene, _ key: RunKey, isLast: Bool, _ random: inout SeededRandom
  ) throws {
    let count = Int.random(in: 0...6, using: &random)
    let isClosed = Int.random(in: 0..<4, using: &random) > 0
    let isSent = Int.random(in: 0..<3, using: &random) > 0
    var present = 0
    for number in 0..<count {
      if Int.random(in: 0..<8, using: &random) == 0 { continue }
      let areas: [Tree.Area] = isSent ? [.sent] : [.run, .sent, .sent, .refused]
      try scene.segment(
        number, key, areas.randomElement(using: &random) ?? .run, ended: Double.random(in: -2...80, using: &random),
        bytes: Int.random(in: 1...99, using: &random), arrived: Double.random(in: 0...80, using: &random))
      present += 1
    }
    if Bool.random(using: &random) || present > 0 { try scene.put(.initSection, key, bytes: 3, arrived: 80) }
    if isClosed {
      let kind: MarkerName.Kind = isLast && Int.random(in: 0..<4, using: &random) > 0 ? .end : .next
      let marker = RunEntry.marker(MarkerName(count: Bool.random(using: &random) ? count : present, kind: kind))
      try scene.put(marker, key, bytes: 0, arrived: Double.random(in: 0...80, using: &random))
      if isSent || Bool.random(using: &random) { try scene.put(marker, key, .sent, bytes: 0, arrived: 50) }
    }
    let strange = [
      "notes.txt", ".1f.part", "00000099.mp4", "sent/other", "\(count).end.bak", "00000001_20261130T021308.123Z_0.m4s",
    ]
    if Int.random(in: 0..<6, using: &random) == 0, let name = strange.randomElement(using: &random) {
      try scene.put(file: "\(scene.tree.path(of: key))/\(name)", bytes: 4, modified: TreeScene.ago(hours: 70))
    }
  }

  private func configuration(
    _ place: CleanConfiguration.Place, _ random: inout SeededRandom
  ) -> CleanConfiguration {
    var configuration = CleanConfiguration(place)
    configuration.maximumAge =
      [nil, .zero, .seconds(24 * 3600), .seconds(60 * 3600)].randomElement(using: &random) ?? nil
    configuration.maximumSize = [nil, 0, 200, 1_000].randomElement(using: &random) ?? nil
    configuration.idleEnd = .seconds(Int.random(in: 0...90, using: &random) * 3600)
    if place == .spool, Int.random(in: 0..<4, using: &random) == 0 { configuration.unsentAge = .seconds(40 * 3600) }
    return configuration
  }

  @Test(arguments: 0..<60)
  func `a dry run changes nothing and tells exactly what a real one then does`(seed: UInt64) throws {
    var random = SeededRandom(seed)
    let scene = try TreeScene()
    try fill(scene, &random)
    let place: CleanConfiguration.Place = seed % 2 == 0 ? .spool : .root
    var configuration = configuration(place, &random)
    let before = scene.directory.files(below: "tree")
    let bytes = try size(scene, before)
    configuration.isDryRun = true
    var foretold = try Cleaner(configuration, scene.tree, .none).run(now: TreeScene.now)
    #expect(scene.directory.files(below: "tree") == before)
    configuration.isDryRun = false
    let report = try Cleaner(configuration, scene.tree, .none).run(now: TreeScene.now)
    foretold.isDryRun = false
    #expect(foretold == report)
    // The report tells the truth.
    let after = scene.files
    let gone = before.filter { !after.contains($0) }
    let temporaries = gone.filter { $0.hasSuffix(".part") }
    #expect(gone.count - temporaries.count == report.freed.files)
    #expect(try bytes - size(scene, after) == report.freed.bytes + Int64(4 * temporaries.count))
    // And once is enough.
    #expect(try Cleaner(configuration, scene.tree, .none).run(now: TreeScene.now).freed == .init())
  }

  @Test(arguments: 0..<60)
  func `nothing unacknowledged, foreign or needed ever leaves a spool`(seed: UInt64) throws {
    var random = SeededRandom(seed &+ 1_000)
    let scene = try TreeScene()
    try fill(scene, &random)
    var configuration = configuration(.spool, &random)
    configuration.unsentAge = nil
    let before = scene.files
    let keys = try scene.tree.recordings().flatMap { try scene.tree.runs(of: $0) }
    var states: [RunKey: RunState] = [:]
    for key in keys { states[key] = try scene.tree.state(of: key) }
    _ = try Cleaner(configuration, scene.tree, .none).run(now: TreeScene.now)
    let after = Set(scene.files)
    for path in before where !after.contains(path) {
      let entry = try #require(EntryPath(path.replacingOccurrences(of: "/sent/", with: "/")), "foreign: \(path)")
      let isSent = path.contains("/sent/")
      switch entry.entry {
      case .segment: #expect(isSent, "\(path)")
      case .piece: Issue.record("\(path) is gone")
      case .initSection, .marker:
        // The server has the marker, no segment is left, and the run is not needed to name the next one.
        let marker = try #require(states[entry.key]?.marker, "\(path) of an open run")
        #expect(before.contains("\(entry.key)/sent/\(marker)"), "\(path)")
        #expect(!after.contains { $0.hasPrefix("\(entry.key)/") }, "\(path)")
        let newest = keys.filter { $0.recording == entry.key.recording && $0.rendition == entry.key.rendition }.max()
        if newest == entry.key {
          #expect(marker.kind == .end)
          #expect(!after.contains { $0.hasPrefix("\(entry.key.recording)/") }, "\(path)")
        }
      }
    }
    // Recovery would still count right.
    for (key, state) in states where !state.isClosed {
      #expect(try scene.tree.state(of: key).highestCount == state.highestCount, "\(key)")
    }
  }

  @Test(arguments: 0..<40)
  func `the sent segments that stay are no older than those that go for size`(seed: UInt64) throws {
    var random = SeededRandom(seed &+ 2_000)
    let scene = try TreeScene()
    try fill(scene, &random)
    var configuration = CleanConfiguration(.spool)
    configuration.maximumAge = nil
    configuration.maximumSize = Int64.random(in: 0...1_500, using: &random)
    let before = try sent(scene)
    let total = try size(scene, scene.files)
    let report = try Cleaner(configuration, scene.tree, .none).run(now: TreeScene.now)
    let after = try sent(scene)
    let gone = before.filter { path in !after.contains { $0.path == path.path } }
    if let newestGone = gone.map(\.end).max() {
      // But for the last of a run that nobody closed.
      for path in after where path.end < newestGone {
        let state = try scene.tree.state(of: path.path.key)
        #expect(!state.isClosed && state.highestCount == path.sequence + 1, "\(path)")
      }
      // No more than needed: without the last one there was still too much.
      let last = gone.max { ($0.end, $0.path.key, $0.sequence) < ($1.end, $1.path.key, $1.sequence) }
      #expect(total - report.oversize.bytes + (last?.bytes ?? 0) > configuration.maximumSize ?? 0)
    }
  }

  private struct Sent {
    let path: EntryPath
    let sequence: Int
    let end: WallClockTime
    let bytes: Int64
  }

  private func sent(_ scene: TreeScene) throws -> [Sent] {
    var found: [Sent] = []
    for key in try scene.tree.recordings().flatMap({ try scene.tree.runs(of: $0) }) {
      for name in try scene.tree.segments(of: key, area: .sent) {
        let path = EntryPath(key: key, entry: .segment(name))
        found.append(
          Sent(
            path: path, sequence: name.sequence, end: name.start.advanced(byTicks: name.ticks),
            bytes: try scene.tree.facts(of: path, area: .sent)?.size ?? 0))
      }
    }
    return found
  }

  private func size(_ scene: TreeScene, _ files: [String]) throws -> Int64 {
    try files.reduce(0) { $0 + (try FileSystem.status(of: scene.tree.root + "/" + $1).size) }
  }
}
