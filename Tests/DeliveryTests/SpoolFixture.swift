import Foundation
import HLS
import HTTP
import Platform
import Storage
import Synchronization
import TestKit

@testable import Delivery

/// A spool with made-up bytes under the names of the contract.
struct SpoolFixture {
  let directory: TemporaryDirectory
  let tree: Tree
  static let start = WallClockTime(milliseconds: 1_796_004_000_000)

  init() throws {
    directory = try TemporaryDirectory()
    tree = try Tree(root: directory.path, create: true)
  }

  static func key(_ recording: String = "talk", run: Int = 0, rendition: String = "main") -> RunKey {
    RunKey(
      recording: RecordingName(recording) ?? .main, rendition: RenditionName(rendition) ?? .main,
      run: RunName(start: WallClockTime(milliseconds: start.milliseconds + Int64(run) * 3_600_000), suffix: 0xa3f1))
  }

  static func segment(_ sequence: Int, _ key: RunKey = key()) -> EntryPath {
    EntryPath(
      key: key,
      entry: .segment(
        SegmentName(
          sequence: sequence, start: key.run.start.advanced(byTicks: Int64(sequence) * 450_000), ticks: 450_000)))
  }

  static func content(_ sequence: Int, size: Int) -> Data {
    Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ sequence) })
  }

  /// Writes a run of `count` segments.
  @discardableResult
  func addRun(
    _ key: RunKey = key(), segments count: Int, size: Int = 5000, marker: MarkerName.Kind? = .end,
    initSection: Bool = true
  ) throws -> RunKey {
    let path = tree.path(of: key)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    if initSection { try Data("init".utf8).write(to: URL(fileURLWithPath: path + "/init.mp4")) }
    for sequence in 0..<count { try addSegment(sequence, key, size: size) }
    if let marker {
      try Data().write(to: URL(fileURLWithPath: "\(path)/\(MarkerName(count: count, kind: marker))"))
    }
    return key
  }

  func addSegment(_ sequence: Int, _ key: RunKey = key(), size: Int = 5000) throws {
    try SpoolFixture.content(sequence, size: size).write(
      to: URL(fileURLWithPath: tree.path(of: SpoolFixture.segment(sequence, key))))
  }

  func names(_ key: RunKey = key(), _ area: Tree.Area = .run) throws -> [String] {
    var names: [String] = []
    try tree.entries(of: key, area: area) { entry in
      names.append("\(entry)")
      return true
    }
    return names.sorted()
  }
}

/// Keeps what was told.
final class LogKeeper: Sendable {
  private let kept = Mutex<[Log.Event]>([])
  var log: Log { Log { event in self.kept.withLock { $0.append(event) } } }
  var events: [Log.Event] { kept.withLock { $0 } }
  func count(_ name: String) -> Int { events.filter { $0.name == name }.count }
}

extension UploadConfiguration {
  /// Failures are over in milliseconds, so that tests need not wait.
  /// - Parameter stall: short only where a stall is what the test is about: on a busy machine anybody may stall for a second.
  static func quick(_ url: String, parallel: Int = 3, stall: Duration = .seconds(60)) throws -> UploadConfiguration {
    var configuration = UploadConfiguration(target: try ServerURL(url))
    configuration.parallel = parallel
    configuration.client.stallLimit = stall
    configuration.policy.initial = .milliseconds(10)
    configuration.policy.ceiling = .milliseconds(200)
    configuration.policy.answerLimit = stall
    configuration.drainTimeout = .seconds(100)
    return configuration
  }
}
