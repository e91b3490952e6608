import Foundation
import HLS
import Platform
import Storage
import Synchronization
import TestKit
import Testing

@testable import Origin

/// Cleaning without a pause while others work on the same tree.
@Suite struct `Cleaning beside others` {
  /// What a thread found; a test's expectations are made on its own thread.
  private final class Findings: Sendable {
    let problems = Mutex<[String]>([])
    let acknowledged = Mutex<Set<Int>>([])
    func tell(_ problem: String) { problems.withLock { $0.append(problem) } }
  }

  /// Cleans again and again until told to stop. Everything is old by the clock it is given.
  private func cleaning(
    _ scene: TreeScene, _ place: CleanConfiguration.Place, _ stop: StopFlag, _ findings: Findings, now: WallClockTime,
    _ change: (inout CleanConfiguration) -> Void
  ) throws -> Platform.Thread {
    var configuration = CleanConfiguration(place)
    change(&configuration)
    let cleaner = Cleaner(configuration, scene.tree, .none)
    return try Platform.Thread("clean") {
      repeat {
        do throws(StorageError) {
          let report = try cleaner.run(now: now)
          for problem in report.problems { findings.tell("clean: \(problem)") }
        } catch {
          findings.tell("clean: \(error)")
        }
        // Leaves the others a turn on a machine with two cores.
        Platform.Thread.pause(.milliseconds(1))
      } while !stop.isRequested
    }
  }

  @Test func `a recorder and an uploader never notice`() throws {
    let scene = try TreeScene()
    let findings = Findings()
    let stopCleaning = StopFlag()
    let stopSending = StopFlag()
    let future = WallClockTime(milliseconds: WallClock.now() + 1_000 * TreeScene.hour)
    let cleaners = try (0..<2).map { _ in
      try cleaning(scene, .spool, stopCleaning, findings, now: future) {
        $0.maximumAge = .zero; $0.maximumSize = 0
      }
    }
    let recording = try #require(RecordingName("live"))
    let runs = (0..<4).map { RunName(start: TreeScene.ago(hours: 10 - Double($0)), suffix: 0) }
    let uploader = try Platform.Thread("send") {
      // Once more after the recorder has stopped, for what it wrote last.
      var isLast = false
      repeat {
        isLast = stopSending.isRequested
        for (index, run) in runs.enumerated() {
          send(RunKey(recording: recording, rendition: .main, run: run), run: index, scene.tree, findings)
        }
        Platform.Thread.pause(.milliseconds(1))
      } while !isLast
    }
    defer {
      stopSending.request()
      stopCleaning.request()
    }
    let count = 60
    let lock = try scene.tree.lock(recording)
    for run in runs {
      let key = RunKey(recording: recording, rendition: .main, run: run)
      var writer = try RunWriter(tree: scene.tree, key: key, lock: lock)
      let bytes = [UInt8](repeating: 1, count: 100)
      try writer.writeInitSection(bytes.span.bytes)
      for number in 0..<count {
        try writer.openSegment(start: run.start.advanced(byTicks: Int64(number) * 450_000))
        try writer.append(bytes.span.bytes)
        _ = try writer.commitSegment(ticks: 450_000)
      }
      try writer.close(run == runs.last ? .end : .next)
    }
    stopSending.request()
    uploader.join()
    #expect(findings.problems.withLock { $0 } == [])
    #expect(findings.acknowledged.withLock { $0.count } == runs.count * count)
    // The recorder holds its recording to the end.
    #expect(try scene.tree.runs(of: recording).map(\.run).last == runs.last)
    _ = consume lock
    #expect(
      eventually(within: 30) { !FileManager.default.fileExists(atPath: scene.tree.path(of: recording)) },
      "\(FileManager.default.subpaths(atPath: scene.tree.root) ?? [])")
    stopCleaning.request()
    for cleaner in cleaners { cleaner.join() }
    #expect(findings.problems.withLock { $0 } == [])
  }

  /// Sends one run as an uploader does: opens each file, moves it, and notes the marker when all before it are sent.
  private func send(_ key: RunKey, run: Int, _ tree: Tree, _ findings: Findings) {
    do throws(StorageError) {
      var names: [SegmentName] = []
      var marker: MarkerName?
      try tree.entries(of: key) { entry in
        if case .segment(let name) = entry { names.append(name) }
        if case .marker(let name) = entry { marker = name }
        return true
      }
      for name in names {
        let path = EntryPath(key: key, entry: .segment(name))
        // Whatever is unsent can be opened, and moved once it is sent.
        _ = try tree.openForReading(path)
        try tree.move(path, to: .sent)
        let isNew = findings.acknowledged.withLock { $0.insert(run * 1_000 + name.sequence).inserted }
        if !isNew { findings.tell("\(path) was sent twice") }
      }
      guard let marker else { return }
      let acknowledged = findings.acknowledged.withLock { $0.count { $0 / 1_000 == run } }
      // A listing may be older than the marker: then the next one has the rest.
      if acknowledged == marker.count { try tree.noteAcknowledged(marker, of: key) }
    } catch {
      // A run that is done may be gone by now.
      if !error.isMissing || findings.acknowledged.withLock({ $0.count { $0 / 1_000 == run } }) < 60 {
        findings.tell("send: \(error)")
      }
    }
  }

  @Test func `what a server has stored stays stored, however old its recording`() throws {
    let scene = try TreeScene()
    let findings = Findings()
    let now = WallClockTime(milliseconds: WallClock.now())
    var random = SeededRandom(5)
    for round in 0..<30 {
      let key = RunKey(
        recording: try #require(RecordingName("old\(round)")), rendition: .main,
        run: RunName(start: WallClockTime(milliseconds: 1_700_000_000_000), suffix: 0))
      let long = WallClockTime(milliseconds: 1_700_000_100_000)
      for number in 0..<20 {
        let name = SegmentName(sequence: number, start: key.run.start, ticks: 450_000)
        try scene.put(
          file: scene.tree.path(of: EntryPath(key: key, entry: .segment(name))), bytes: 10, modified: long)
      }
      try scene.put(file: scene.tree.path(of: key) + "/20.end", bytes: 0, modified: long)
      let stop = StopFlag()
      let cleaner = try cleaning(scene, .root, stop, findings, now: now) { _ in }
      for _ in 0..<Int.random(in: 0...2_000, using: &random) { _ = random.next() }
      let late = EntryPath(key: key, entry: .initSection)
      var isStored = false
      do throws(StorageError) {
        var file = try scene.tree.receive(late)
        try file.append(([7, 7] as [UInt8]).span.bytes)
        isStored = try file.commit() == .stored
      } catch {
        // The recording left while its directory was being opened: the sender hears of it and sends again.
        #expect(error.isMissing, "\(error)")
      }
      stop.request()
      cleaner.join()
      if isStored { #expect(try scene.tree.facts(of: late)?.size == 2 || isKept(late, scene), "\(late)") }
    }
    #expect(findings.problems.withLock { $0 } == [])
  }

  /// Put back beside a recording that was begun anew at the same moment.
  private func isKept(_ path: EntryPath, _ scene: TreeScene) -> Bool {
    scene.files.contains { $0.hasPrefix("\(path.key.recording)-") && $0.hasSuffix("/\(path.entry)") }
  }
}
