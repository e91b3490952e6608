import Foundation
import HLS
import Platform
import Storage
import TestKit
import Testing

@testable import Origin

@Suite struct `Cleaning a root` {
  /// A recording of two runs that ended and arrived `hours` ago.
  private func recording(
    _ name: String, _ scene: TreeScene, ended hours: Double, arrived: Double? = nil, kind: MarkerName.Kind = .end,
    bytes: Int = 100
  ) throws {
    let arrived = arrived ?? hours
    let first = try TreeScene.key(name, hours: hours + 1)
    let last = try TreeScene.key(name, hours: hours + 0.5)
    try scene.segment(0, first, ended: hours + 0.9, bytes: bytes, arrived: arrived)
    try scene.segment(0, last, ended: hours, bytes: bytes, arrived: arrived)
    try scene.close(first, 1, .next, closed: arrived)
    try scene.close(last, 1, kind, closed: arrived)
    for file in ["live.m3u8", "vod.m3u8", "main/live.m3u8", "main/vod.m3u8"] {
      try scene.put(file: "\(scene.tree.root)/\(name)/\(file)", bytes: 5, modified: TreeScene.now)
    }
  }

  private func recordings(_ scene: TreeScene) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: scene.tree.root).sorted()
  }

  @Test func `ended recordings that are old enough go with all they have`() throws {
    let scene = try TreeScene()
    try recording("new", scene, ended: 23)
    try recording("old", scene, ended: 25)
    let report = try scene.clean(.root)
    #expect(report.recordings.map(\.text) == ["old"])
    #expect(report.aged == .init(files: 10, bytes: 226))
    #expect(report.remaining == .init(files: 10, bytes: 226))
    #expect(try recordings(scene) == ["new"])
  }

  @Test func `what a receiver left that was killed goes after an hour`() throws {
    let scene = try TreeScene()
    try recording("new", scene, ended: 2)
    let run = scene.tree.path(of: try TreeScene.key("new", hours: 3))
    try scene.put(file: run + "/.0123456789abcdef.part", bytes: 4, modified: TreeScene.ago(hours: 1.1))
    try scene.put(file: run + "/.fedcba9876543210.part", bytes: 4, modified: TreeScene.ago(hours: 0.9))
    func left() -> [String] { scene.files.filter { $0.hasSuffix(".part") }.map { ($0 as NSString).lastPathComponent } }
    _ = try scene.clean(.root) { $0.isDryRun = true }
    #expect(left().count == 2)
    #expect(try scene.clean(.root).freed.files == 0)
    #expect(left() == [".fedcba9876543210.part"])
  }

  @Test func `what has come late, after an outage, does not go at once`() throws {
    let scene = try TreeScene()
    try recording("late", scene, ended: 90, arrived: 1)
    #expect(try scene.clean(.root).freed.files == 0)
    let later = WallClockTime(milliseconds: TreeScene.now.milliseconds + 24 * TreeScene.hour)
    #expect(try scene.clean(.root, now: later).recordings.count == 1)
  }

  @Test func `a recording that is not over stays until nothing has come for the idle time`() throws {
    let scene = try TreeScene()
    try recording("open", scene, ended: 30, arrived: 20, kind: .next)
    #expect(
      try scene.clean(.root) {
        $0.maximumAge = .zero; $0.maximumSize = 0
      }.freed.files == 0)
    let report = try scene.clean(.root) {
      $0.maximumAge = .zero; $0.idleEnd = .seconds(19 * 3600)
    }
    #expect(report.recordings.map(\.text) == ["open"])
  }

  @Test func `a recording of which segments are still to come is not over`() throws {
    let scene = try TreeScene()
    try recording("partly", scene, ended: 23)
    let key = try TreeScene.key("partly", hours: 23.5)
    try scene.put(.marker(MarkerName(count: 2, kind: .end)), key, bytes: 0, arrived: 23)
    #expect(try scene.clean(.root) { $0.maximumAge = .zero }.freed.files == 0)
    try scene.segment(1, key, ended: 23)
    #expect(try scene.clean(.root) { $0.maximumAge = .zero }.recordings.count == 1)
  }

  @Test func `every rendition has to be over`() throws {
    let scene = try TreeScene()
    try recording("talk", scene, ended: 30)
    let mic = try TreeScene.key("talk", .mic, hours: 31)
    try scene.segment(0, mic, ended: 29, arrived: 20)
    try scene.put(.initSection, mic, arrived: 20)
    #expect(try scene.clean(.root) { $0.maximumAge = .zero }.freed.files == 0)
    try scene.put(.marker(MarkerName(count: 1, kind: .end)), mic, bytes: 0, arrived: 20)
    #expect(try scene.clean(.root) { $0.maximumAge = .zero }.recordings.count == 1)
  }

  @Test func `pieces of a phone count against the marker, made into segments or not`() throws {
    let scene = try TreeScene()
    let key = try TreeScene.key("phone", hours: 60)
    try scene.put(.piece(sequence: 0), key, .pieces, arrived: 23)
    for number in 0..<3 { try scene.segment(number, key, ended: 30) }
    try scene.close(key, 2, .end, closed: 23)
    #expect(try scene.clean(.root) { $0.maximumAge = .zero }.freed.files == 0)
    try scene.put(.piece(sequence: 1), key, arrived: 23)
    #expect(try scene.clean(.root) { $0.maximumAge = .zero }.recordings.count == 1)
    #expect(scene.files == [])
  }

  @Test func `the oldest ended recordings go while there is more than the size`() throws {
    let scene = try TreeScene()
    try recording("a", scene, ended: 2)
    try recording("b", scene, ended: 4)
    try recording("c", scene, ended: 3)
    try recording("d", scene, ended: 9, kind: .next)
    let report = try scene.clean(.root) { $0.maximumSize = 500 }
    #expect(report.recordings.map(\.text) == ["b", "c"])
    #expect(report.oversize.bytes == 452)
    #expect(try recordings(scene) == ["a", "d"])
  }

  @Test func `foreign files stay where they are`() throws {
    let scene = try TreeScene()
    try recording("old", scene, ended: 25)
    let foreign = ["old/notes.txt", "old/main/cover.jpg", "old/main/x.y/00000000_x.m4s", "old/main/live.m3u8.bak"]
    for name in foreign {
      try scene.put(file: "\(scene.tree.root)/\(name)", bytes: 1, modified: TreeScene.ago(hours: 99))
    }
    let report = try scene.clean(.root)
    #expect(report.aged.files == 10)
    #expect(report.recordings.isEmpty)
    #expect(scene.files == foreign.sorted())
    #expect(try scene.clean(.root).freed.files == 0)
  }

  @Test func `a recording that somebody works on stays`() throws {
    let scene = try TreeScene()
    try recording("old", scene, ended: 25)
    let lock = try scene.tree.lock(try #require(RecordingName("old")))
    #expect(try scene.clean(.root) { $0.maximumSize = 0 }.freed.files == 0)
    _ = consume lock
    #expect(try scene.clean(.root).recordings.count == 1)
  }

  @Test func `a removal that was interrupted is finished`() throws {
    let scene = try TreeScene()
    try recording("old", scene, ended: 25)
    let root = scene.tree.root
    try FileManager.default.moveItem(atPath: "\(root)/old", toPath: "\(root)/.removed-old.7f")
    #expect(try scene.clean(.root) { $0.isDryRun = true }.freed.files == 0)
    #expect(try recordings(scene) == [".removed-old.7f"])
    _ = try scene.clean(.root)
    #expect(try recordings(scene) == [])
  }

  @Test func `a recording that had left but might have come back is back and judged again`() throws {
    let scene = try TreeScene()
    try recording("new", scene, ended: 2)
    try recording("old", scene, ended: 25)
    let root = scene.tree.root
    try FileManager.default.moveItem(atPath: "\(root)/new", toPath: "\(root)/.leaving-new.7f")
    try FileManager.default.moveItem(atPath: "\(root)/old", toPath: "\(root)/.leaving-old.7f")
    #expect(try scene.clean(.root).recordings.map(\.text) == ["old"])
    #expect(try recordings(scene) == ["new"])
  }

  @Test func `what arrives while its recording leaves is not acknowledged`() throws {
    let scene = try TreeScene()
    try recording("old", scene, ended: 25)
    let path = EntryPath(
      key: try TreeScene.key("old", .mic, hours: 25.5), entry: .segment(TreeScene.name(0, ended: 24.9)))
    let incoming = try scene.tree.receive(path)
    let root = scene.tree.root
    try FileManager.default.moveItem(atPath: "\(root)/old", toPath: "\(root)/.removed-old.7f")
    do throws(StorageError) {
      let outcome = try incoming.commit()
      Issue.record("\(outcome)")
    } catch {
      #expect(error.isMissing)
    }
  }

  @Test func `a removal in progress is not finished by another cleaner`() throws {
    let scene = try TreeScene()
    try recording("old", scene, ended: 25)
    let lock = try scene.tree.lock(try #require(RecordingName("old")))
    let root = scene.tree.root
    try FileManager.default.moveItem(atPath: "\(root)/old", toPath: "\(root)/.removed-old.7f")
    let before = scene.files
    _ = try scene.clean(.root)
    #expect(scene.files == before)
    _ = consume lock
  }

  @Test func `what arrives after the judgement keeps the recording`() throws {
    let scene = try TreeScene()
    try recording("old", scene, ended: 25)
    let name = try #require(RecordingName("old"))
    let judged = try scene.tree.census(of: name)
    let before = scene.files
    let path = EntryPath(
      key: try TreeScene.key("old", .mic, hours: 25.5), entry: .segment(TreeScene.name(0, ended: 24.9)))
    let incoming = try scene.tree.receive(path)
    #expect(try scene.tree.removeRecording(scene.tree.lock(name), judgedBy: judged) == .changed)
    #expect(try incoming.commit() == .stored)
    #expect(scene.files == (before + ["\(path)"]).sorted())
  }

  @Test func `left overs of a server's crash go with their recording`() throws {
    let scene = try TreeScene()
    try recording("old", scene, ended: 60)
    let key = try TreeScene.key("old", hours: 60.5)
    try scene.put(
      file: scene.tree.path(of: key) + "/.a1b2.part", bytes: 9, modified: TreeScene.ago(hours: 50))
    #expect(try scene.clean(.root).recordings.count == 1)
    #expect(try recordings(scene) == [])
  }
}
