import Foundation
import HLS
import Platform
import Storage
import TestKit

@testable import Origin

/// A tree on a real disk that arrivals are put into.
final class StitchScene: Sendable {
  let directory: TemporaryDirectory
  let tree: Tree
  static let start = WallClockTime(milliseconds: 1_796_000_000_000)
  static let recording = RecordingName("lecture")

  init() throws {
    directory = try TemporaryDirectory()
    tree = try Tree(root: directory.path, create: true)
  }

  static func run(_ number: Int = 0, after seconds: Int64 = 0) -> RunName {
    RunName(start: WallClockTime(milliseconds: start.milliseconds + seconds * 1_000), suffix: UInt16(number))
  }

  static func key(_ run: RunName, _ rendition: RenditionName = .main, recording: String = "lecture") throws -> RunKey {
    guard let name = RecordingName(recording) else { throw CocoaError(.fileReadInvalidFileName) }
    return RunKey(recording: name, rendition: rendition, run: run)
  }

  static func name(_ sequence: Int, of run: RunName, ticks: Int64 = 450_000) -> SegmentName {
    SegmentName(sequence: sequence, start: run.start.advanced(byTicks: Int64(sequence) * 450_000), ticks: ticks)
  }

  @discardableResult func put(_ entry: RunEntry, _ key: RunKey, _ bytes: [UInt8]) throws -> EntryPath {
    let path = EntryPath(key: key, entry: entry)
    var file = try tree.receive(path)
    try bytes.withUnsafeBytes { try file.append(RawSpan(_unsafeBytes: $0)) }
    _ = try file.commit()
    return path
  }

  @discardableResult func initSection(_ key: RunKey, _ bytes: [UInt8] = MediaSamples.initSection) throws -> EntryPath {
    try put(.initSection, key, bytes)
  }

  @discardableResult func segment(_ sequence: Int, _ key: RunKey, startsWithSync: Bool = true) throws -> EntryPath {
    let bytes = MediaSamples.segment(second: sequence * 5, startsWithSync: startsWithSync)
    return try put(.segment(Self.name(sequence, of: key.run)), key, bytes)
  }

  @discardableResult func marker(_ count: Int, _ kind: MarkerName.Kind, _ key: RunKey) throws -> EntryPath {
    try put(.marker(MarkerName(count: count, kind: kind)), key, [])
  }

  /// Puts a file outside the contract.
  func put(aside path: String, _ bytes: [UInt8]) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: directory.file(path)))
  }

  func text(_ path: String) -> String? {
    FileManager.default.contents(atPath: directory.file(path)).map { String(decoding: $0, as: UTF8.self) }
  }

  func playlist(_ path: String) throws -> MediaPlaylist {
    try MediaPlaylist(parsing: Array((text(path) ?? "").utf8))
  }

  /// Makes a file look `seconds` older.
  func age(_ path: EntryPath, by seconds: Double) throws {
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSinceNow: -seconds)], ofItemAtPath: tree.path(of: path))
  }

  func once(_ configuration: StitchConfiguration = StitchConfiguration()) throws -> StitchSummary {
    try stitchOnce(tree, configuration, log: .none)
  }
}

/// Collects what a service says, and waits for it.
final class Updates: Sendable {
  private let seen = Monitor<[StitchUpdate]>([])

  func add(_ update: StitchUpdate) {
    seen.withLock { $0.append(update) }
  }

  /// Waits until a list reaches a sequence number; false after a minute.
  func reach(_ next: Int, _ rendition: RenditionName = .main) -> Bool {
    seen.wait(timeout: .seconds(60)) { updates -> Bool? in
      updates.contains { $0.rendition == rendition && $0.nextSequence >= next } ? true : nil
    } ?? false
  }

  func sawEnd() -> Bool {
    seen.wait(timeout: .seconds(60)) { updates -> Bool? in updates.contains(where: \.isEnded) ? true : nil } ?? false
  }
}
