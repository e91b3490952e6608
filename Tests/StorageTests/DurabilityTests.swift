import Glibc
import HLS
import Platform
import Storage
import Testing

private let scene = Scene()

/// Steps of a recording that meets no fault.
private let stepCount: Int = {
  guard let disk = try? SimulatedDisk() else { return 0 }
  _ = scene.record(on: disk)
  return disk.steps
}()

@Suite struct `Durable run` {
  @Test func `a run without faults is whole, and committed in the order of the contract`() throws {
    let disk = try SimulatedDisk()
    let (told, error) = scene.record(on: disk)
    #expect(error == nil)
    #expect(told.count == 4)
    #expect(scene.violations(disk.files(), told: told) == [])
    #expect(scene.violationsAfterRecovery(disk.files()) == [])
    let run = "disk/\(scene.key)"
    let name = SegmentName(sequence: 0, start: scene.start(0), ticks: 270_000)
    let part = "\(run)/.00000000_\(scene.start(0).compact).part"
    let first = try #require(disk.log.firstIndex(of: "create \(part)"))
    #expect(
      disk.log[first...].prefix(7) == [
        "create \(part)", "write \(part)", "write \(part)", "write \(part)", "sync \(part)",
        "rename \(part) \(run)/\(name)", "sync \(run)",
      ])
  }

  @Test func `the directories above a run are durable before its first file`() throws {
    let disk = try SimulatedDisk()
    _ = scene.record(on: disk)
    let created = try #require(disk.log.firstIndex { $0.hasPrefix("create") })
    let before = disk.log[..<created]
    #expect(before.contains("sync disk"))
    #expect(before.contains("sync disk/lecture"))
    #expect(before.contains("sync disk/lecture/main"))
  }

  @Test(arguments: 1...stepCount, [ENOSPC, EIO])
  func `a step that fails is told, and leaves whole files only`(step: Int, code: Int32) throws {
    for isBulk in [true, false] {
      let disk = try SimulatedDisk(.failing(step: step, code: code))
      let (told, error) = scene.record(on: disk, isBulk: isBulk)
      let failure = try #require(error)
      #expect(failure.systemError?.code == code)
      #expect(failure.description.contains("disk"))
      #expect(scene.violations(disk.files(), told: told) == [])
      // The cleaning up was not hindered, so nothing unfinished is left either.
      #expect(!disk.files().keys.contains { $0.hasSuffix(".part") })
    }
  }

  @Test(arguments: 0...stepCount, SimulatedDisk.UnsyncedData.allCases)
  func `a power cut after any step leaves what was committed, and whole files only`(
    step: Int, unsynced: SimulatedDisk.UnsyncedData
  ) throws {
    for namesSurvive in [true, false] {
      let disk = try SimulatedDisk(.stopping(afterStep: step))
      let (told, _) = scene.record(on: disk)
      disk.crash(namesSurvive: namesSurvive, unsynced: unsynced)
      #expect(scene.violations(disk.files(), told: told) == [])
    }
  }

  @Test(arguments: SimulatedDisk.Omission.allCases)
  func `a writer that leaves out a sync, or comes too late with it, is found out`(
    omission: SimulatedDisk.Omission
  ) throws {
    var found = 0
    for step in 0...stepCount {
      for namesSurvive in [true, false] {
        let disk = try SimulatedDisk(.stopping(afterStep: step), omitting: omission)
        let (told, _) = scene.record(on: disk)
        disk.crash(namesSurvive: namesSurvive, unsynced: .lost)
        found += scene.violations(disk.files(), told: told).count
      }
    }
    #expect(found > 0)
  }
}

@Suite struct `Recovery after a power cut` {
  private func recover(_ disk: SimulatedDisk) throws -> RecoveryReport {
    let tree = try Tree(disk.root)
    return try tree.recover(tree.lock(Scene.recording), closingWith: .end, now: Scene.began)
  }

  @Test(arguments: 0...stepCount, [true, false])
  func `no partial remains, and every run is closed after its last segment`(step: Int, namesSurvive: Bool) throws {
    for isBulk in [true, false] {
      let disk = try SimulatedDisk(.stopping(afterStep: step))
      let (told, _) = scene.record(on: disk, isBulk: isBulk)
      disk.crash(namesSurvive: namesSurvive, unsynced: .kept)
      #expect(try recover(disk).problems == [])
      #expect(scene.violations(disk.files(), told: told) == [])
      #expect(scene.violationsAfterRecovery(disk.files()) == [])
      #expect(try recover(disk).didNothing)
    }
  }

  @Test(arguments: 0...stepCount)
  func `recovery that is itself cut off after any step is completed by the next one`(step: Int) throws {
    for second in 0...12 {
      for namesSurvive in [true, false] {
        let disk = try SimulatedDisk(.stopping(afterStep: step))
        let (told, _) = scene.record(on: disk)
        disk.crash(namesSurvive: true, unsynced: .kept, then: .stopping(afterStep: second))
        _ = try? recover(disk)
        disk.crash(namesSurvive: namesSurvive, unsynced: .lost)
        #expect(try recover(disk).problems == [])
        #expect(scene.violations(disk.files(), told: told) == [])
        #expect(scene.violationsAfterRecovery(disk.files()) == [])
      }
    }
  }

  @Test(arguments: 0...12)
  func `what recovery says it saved survives the next power cut, also where recovery failed later`(
    failing: Int
  ) throws {
    for step in 0...stepCount {
      let disk = try SimulatedDisk(.stopping(afterStep: step))
      _ = scene.record(on: disk)
      disk.kill(then: failing == 0 ? nil : .failing(step: failing, code: ENOSPC))
      // Where not even the lock could be taken nothing was said.
      let report = try? recover(disk)
      let told = report.map { $0.salvaged + $0.closed } ?? []
      disk.crash(namesSurvive: false, unsynced: .lost)
      #expect(scene.violations(disk.files(), told: told.map(\.description)) == [])
    }
  }

  @Test(arguments: 1...12)
  func `a step of recovery that fails leaves the work for the next one`(failing: Int) throws {
    // After the second chunk of the second segment.
    let writes = try SimulatedDisk()
    _ = scene.record(on: writes)
    let part = PartialName.of(1)
    let step = try #require(writes.log.lastIndex { $0.hasPrefix("write") && $0.hasSuffix(part) })
    let disk = try SimulatedDisk(.stopping(afterStep: step))
    let (told, _) = scene.record(on: disk)
    disk.crash(namesSurvive: true, unsynced: .kept, then: .failing(step: failing, code: EIO))
    _ = try? recover(disk)
    #expect(scene.violations(disk.files(), told: told) == [])
    #expect(try recover(disk).problems == [])
    #expect(scene.violationsAfterRecovery(disk.files()) == [])
    #expect(disk.files()["\(scene.key)/\(SegmentName(sequence: 1, start: scene.start(1), ticks: 180_000))"] != nil)
  }
}

private enum PartialName {
  static func of(_ number: Int) -> String { ".0000000\(number)_\(scene.start(number).compact).part" }
}
