import HLS
import Platform
import Storage
import TestKit
import Testing

@testable import Origin

@Suite struct `Worker leases` {
  let scene: BucketScene
  let names: [RecordingName]

  init() throws {
    scene = try BucketScene()
    names = (0..<300).compactMap { RecordingName("recording-\($0)") }
  }

  private func lease() throws -> WorkerLease { WorkerLease(try scene.store(), log: .none) }

  /// Makes a lease look as if nobody had renewed it for so long.
  private func age(_ lease: WorkerLease, by milliseconds: Int64) {
    scene.bucket.change { $0.objects["pre/.stitch/\(lease.name)"]?.modified -= milliseconds }
  }

  @Test func `each recording has one worker, and those of a dead one go to the others`() throws {
    let leases = [try lease(), try lease(), try lease()]
    // Who comes later lets the others see it first.
    #expect(try leases[0].round())
    #expect(names.allSatisfy(leases[0].owns))
    _ = try leases[1].round()
    _ = try leases[2].round()
    #expect(!names.contains(where: leases[2].owns))
    for lease in leases + leases { _ = try lease.round() }
    for name in names { #expect(leases.filter { $0.owns(name) }.count == 1) }
    let shares = leases.map { lease in names.filter(lease.owns) }
    for share in shares { #expect(share.count > 60) }
    // The first is killed.
    age(leases[0], by: WorkerLease.lifetime + 1_000)
    for lease in leases.dropFirst() { #expect(try lease.round()) }
    #expect(shares[1].allSatisfy(leases[1].owns) && shares[2].allSatisfy(leases[2].owns))
    for name in names { #expect(leases.dropFirst().filter { $0.owns(name) }.count == 1) }
    // Long after, its object goes; a worker that is only slow takes it anew.
    age(leases[0], by: WorkerLease.lifetime * 10)
    _ = try leases[1].round()
    #expect(scene.bucket.text("pre/.stitch/\(leases[0].name)") == nil)
    for lease in leases + leases { _ = try lease.round() }
    for name in names { #expect(leases.filter { $0.owns(name) }.count == 1) }
  }

  @Test func `a lease that is given back frees its recordings at once`() throws {
    let leases = [try lease(), try lease()]
    for lease in leases + leases { _ = try lease.round() }
    leases[0].stop()
    #expect(try leases[1].round())
    #expect(names.allSatisfy(leases[1].owns))
  }

  @Test func `a store that ignores conditions is refused with what to do`() throws {
    scene.bucket.change { $0.ignoresConditions = true }
    do {
      try lease().start {}
      Issue.record("taken")
    } catch {
      #expect("\(error)".contains("If-None-Match") && "\(error)".contains("--shard"))
    }
  }

  @Test func `a store that is away at the start is waited for`() throws {
    scene.bucket.change { $0.isDown = true }
    let lease = try lease()
    try lease.start {}
    scene.bucket.change { $0.isDown = false }
    #expect(eventually(within: 60) { names.allSatisfy(lease.owns) })
    lease.stop()
  }
}
