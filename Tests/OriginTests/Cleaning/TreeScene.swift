import Foundation
import HLS
import Platform
import Storage
import Synchronization
import TestKit
import Testing

@testable import Origin

/// A tree on a real disk whose files say when they were recorded and when they came.
final class TreeScene: Sendable {
  let directory: TemporaryDirectory
  let tree: Tree
  let said = Mutex<[Log.Event]>([])
  /// Long ago for the file system's own clock, so that a test that forgets a file's time sees it in the future.
  static let now = WallClockTime(milliseconds: 1_796_000_000_000)
  static let hour: Int64 = 3_600_000

  init() throws {
    directory = try TemporaryDirectory()
    tree = try Tree(root: directory.file("tree"), create: true)
  }

  var log: Log { Log { [self] event in said.withLock { $0.append(event) } } }

  static func ago(hours: Double) -> WallClockTime {
    WallClockTime(milliseconds: now.milliseconds - Int64((hours * Double(hour)).rounded()))
  }

  static func key(
    _ recording: String = "lecture", _ rendition: RenditionName = .main, hours: Double = 100, suffix: UInt16 = 0
  ) throws -> RunKey {
    RunKey(
      recording: try #require(RecordingName(recording)), rendition: rendition,
      run: RunName(start: ago(hours: hours), suffix: suffix))
  }

  /// A segment's name that ended `hours` ago.
  static func name(_ sequence: Int, ended hours: Double, ticks: Int64 = 450_000) -> SegmentName {
    SegmentName(sequence: sequence, start: ago(hours: hours).advanced(byTicks: -ticks), ticks: ticks)
  }

  /// Puts a file there.
  ///
  /// - Parameter arrived: hours before `now` when it was written; nil is the end its name tells, or `now`.
  @discardableResult
  func put(
    _ entry: RunEntry, _ key: RunKey, _ area: Tree.Area = .run, bytes: Int = 10, arrived: Double? = nil
  ) throws -> EntryPath {
    let path = EntryPath(key: key, entry: entry)
    var time = Self.now
    if case .segment(let name) = entry { time = name.start.advanced(byTicks: name.ticks) }
    if let arrived { time = Self.ago(hours: arrived) }
    try put(file: tree.path(of: path, area: area), bytes: bytes, modified: time)
    return path
  }

  func put(file path: String, bytes: Int, modified: WallClockTime) throws {
    try FileManager.default.createDirectory(
      atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try Data(count: bytes).write(to: URL(fileURLWithPath: path))
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: Double(modified.milliseconds) / 1000)], ofItemAtPath: path)
  }

  @discardableResult
  func segment(
    _ sequence: Int, _ key: RunKey, _ area: Tree.Area = .run, ended hours: Double, bytes: Int = 10,
    arrived: Double? = nil
  ) throws -> EntryPath {
    try put(.segment(Self.name(sequence, ended: hours)), key, area, bytes: bytes, arrived: arrived)
  }

  /// Init section and marker of a run, the marker acknowledged or not.
  func close(
    _ key: RunKey, _ count: Int, _ kind: MarkerName.Kind, acknowledged: Bool = false, closed hours: Double = 90
  ) throws {
    try put(.initSection, key, bytes: 3, arrived: hours)
    let marker = RunEntry.marker(MarkerName(count: count, kind: kind))
    try put(marker, key, bytes: 0, arrived: hours)
    if acknowledged { try put(marker, key, .sent, bytes: 0, arrived: hours) }
  }

  /// All files below the root, by path, but for locks.
  var files: [String] { directory.files(below: "tree").filter { !$0.hasSuffix("lock") } }

  func clean(
    _ place: CleanConfiguration.Place, now: WallClockTime = TreeScene.now,
    _ change: (inout CleanConfiguration) -> Void = { _ in }
  ) throws -> CleanReport {
    var configuration = CleanConfiguration(place)
    change(&configuration)
    return try Cleaner(configuration, tree, log).run(now: now)
  }

  /// Events of a name.
  func said(_ name: String) -> [Log.Event] { said.withLock { $0.filter { $0.name == name } } }
}
