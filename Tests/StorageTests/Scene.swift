import HLS
import Platform
import Storage
import TestKit

/// One short run as a recorder writes it, and what must be true of a disk at any time meanwhile.
struct Scene {
  static let recording = RecordingName("lecture").unsafelyUnwrapped
  static let began = WallClockTime(milliseconds: 1_796_004_788_123)
  let key = RunKey(recording: recording, rendition: .main, run: RunName(start: began, suffix: 0xA3F1))
  let initSection = initSectionBytes([TrackBytes()])

  /// Chunks of one second each; every segment has three.
  static let chunkTicks: Int64 = 90_000
  static let chunksPerSegment = 3
  static let segments = 2

  /// Built once: the tests replay the scene thousands of times.
  private let chunks: [[UInt8]] = (0..<segments * chunksPerSegment).map { index in
    chunkBytes(
      decodeTime: UInt64(index) * 90_000,
      (0..<5).map { SampleBytes(duration: 18_000, size: 20 + index + $0 % 3, isSync: $0 == 0) })
  }

  func chunk(_ segment: Int, _ chunk: Int) -> [UInt8] { chunks[segment * Scene.chunksPerSegment + chunk] }

  func segment(_ number: Int) -> [UInt8] { (0..<Scene.chunksPerSegment).flatMap { chunk(number, $0) } }

  func start(_ number: Int) -> WallClockTime {
    Scene.began.advanced(byTicks: Int64(number) * Int64(Scene.chunksPerSegment) * Scene.chunkTicks)
  }

  /// Records the run and returns the paths of what the writer said it had committed; stops at the first error, as a
  /// killed recorder would.
  ///
  /// - Parameter isBulk: chunks wait in memory until they are flushed.
  func record(on disk: SimulatedDisk, isBulk: Bool = false) -> (told: [String], error: StorageError?) {
    var told: [String] = []
    do throws(StorageError) {
      let tree = try Tree(disk.root)
      let lock = try tree.lock(Scene.recording)
      var writer = try RunWriter(tree: tree, key: key, lock: lock, isBulk: isBulk)
      try writer.writeInitSection(initSection.span.bytes)
      told.append("\(key)/init.mp4")
      for number in 0..<Scene.segments {
        try writer.openSegment(start: start(number))
        for index in 0..<Scene.chunksPerSegment {
          try writer.append(chunk(number, index).span.bytes)
          try writer.flush()
        }
        let name = try writer.commitSegment(ticks: Scene.chunkTicks * Int64(Scene.chunksPerSegment))
        told.append("\(key)/\(name)")
      }
      told.append("\(key)/\(try writer.close(.end))")
      return (told, nil)
    } catch {
      return (told, error)
    }
  }

  /// What is wrong with the files of a disk: a name of the contract over anything but its whole content, or a file that
  /// was said to be committed and is not there.
  func violations(_ files: [String: [UInt8]], told: [String]) -> [String] {
    var wrong: [String] = []
    for (path, bytes) in files {
      guard let entry = EntryPath(path)?.entry else {
        if !path.hasSuffix(".part") { wrong.append("\(path) has a foreign name") }
        continue
      }
      switch entry {
      case .initSection: if bytes != initSection { wrong.append("\(path) is not whole") }
      case .marker: if !bytes.isEmpty { wrong.append("\(path) is not empty") }
      case .piece: wrong.append("\(path) was never written")
      case .segment(let name):
        // A salvaged segment holds the first one or two of its three chunks.
        let chunks = Int(name.ticks / Scene.chunkTicks)
        let expected = (0..<chunks).flatMap { chunk(name.sequence, $0) }
        if bytes != expected || name.start != start(name.sequence) { wrong.append("\(path) is not whole") }
      }
    }
    for path in told where files[path] == nil { wrong.append("\(path) is lost") }
    return wrong
  }

  /// What is wrong with the files of a disk after recovery.
  func violationsAfterRecovery(_ files: [String: [UInt8]]) -> [String] {
    var wrong = files.keys.filter { $0.hasSuffix(".part") }.map { "\($0) was left" }
    let entries = files.keys.compactMap { EntryPath($0) }
    for key in Set(entries.map(\.key)) {
      let names = entries.filter { $0.key == key }.map(\.entry)
      let markers = names.compactMap { entry -> MarkerName? in if case .marker(let m) = entry { m } else { nil } }
      let numbers = names.compactMap { entry -> Int? in if case .segment(let s) = entry { s.sequence } else { nil } }
      if markers.count != 1 { wrong.append("\(key) has \(markers.count) markers") }
      if numbers.sorted() != Array(0..<(markers.first?.count ?? 0)) {
        wrong.append("\(key) has segments \(numbers.sorted()) and marker \(markers)")
      }
    }
    return wrong
  }
}
