import Testing

@testable import HLS

/// Renditions of one recording, as `RecordingStitching` keeps them.
private struct Pair {
  var stitchers: [RenditionName: Stitcher] = [:]
  var now = ContinuousClock.now
  let policy: StitchingPolicy

  init(_ policy: StitchingPolicy = StitchingPolicy()) {
    self.policy = policy
    for name in [RenditionName.main, .mic] { stitchers[name] = Stitcher(policy: policy, targetDuration: 5) }
  }

  mutating func deliver(_ piece: `Live list history`.Piece, to name: RenditionName) {
    switch piece.kind {
    case .initSection: stitchers[name]?.initSectionArrived(piece.run)
    case .segment(let segment): stitchers[name]?.segmentArrived(segment, in: piece.run, at: now)
    case .marker(let marker): stitchers[name]?.markerArrived(marker, in: piece.run, at: now)
    }
  }

  mutating func advance() {
    for _ in 0..<4 {
      for name in stitchers.keys.sorted() {
        guard let before = stitchers[name]?.shared else { continue }
        let facts = stitchers.mapValues(\.facts)
        stitchers[name]?.shared = SharedRuns(for: name, among: facts, before: before, at: now)
        _ = stitchers[name]?.advance(at: now)
      }
    }
  }

  /// Discontinuity sequence numbers by run; a run of a jump inside it counts from its first entry in the list.
  func numbers(_ name: RenditionName) -> [RunName: Int] {
    guard let list = stitchers[name]?.playlist else { return [:] }
    var number = list.discontinuitySequence
    var result: [RunName: Int] = [:]
    for entry in list.entries {
      if entry.isDiscontinuity { number += 1 }
      if result[entry.run] == nil { result[entry.run] = number }
    }
    return result
  }
}

@Suite struct `Runs that renditions share` {
  typealias History = `Live list history`

  @Test(arguments: 0..<16)
  func `have one discontinuity number in all lists, whatever one of them lacks`(seed: Int) throws {
    var random = SplitMix(seed: UInt64(seed) &* 0x2545_F491 &+ 5)
    var policy = StitchingPolicy()
    policy.window = .last(ticks: Int64(random.next(below: 300) + 60) * 90_000)
    policy.idleEnd = nil
    var pair = Pair(policy)
    var pieces: [(piece: History.Piece, to: RenditionName)] = []
    var time = Scene.start
    let count = random.next(below: 6) + 2
    for number in 0..<count {
      let run = RunName(start: time, suffix: UInt16(number))
      let segments = random.next(below: 12) + 1
      // The first run makes them renditions of one recording.
      let lacking = number == 0 ? 0 : random.next(below: 4)
      for (index, name) in [RenditionName.main, .mic].enumerated() where lacking != index + 1 {
        pieces.append((.init(run: run, kind: .initSection), name))
        for sequence in 0..<segments {
          let start = run.start.advanced(byTicks: Int64(sequence) * 450_000)
          let segment = SegmentName(sequence: sequence, start: start, ticks: 450_000)
          pieces.append((.init(run: run, kind: .segment(segment)), name))
        }
        let marker = MarkerName(count: segments, kind: number == count - 1 ? .end : .next)
        pieces.append((.init(run: run, kind: .marker(marker)), name))
      }
      time = time.advanced(byTicks: Int64(segments) * 450_000 + 180_000)
    }
    // What tells that they belong together comes first.
    for name in [RenditionName.main, .mic] { pair.stitchers[name]?.note(RunName(start: Scene.start, suffix: 0)) }
    for index in pieces.indices where random.next(below: 3) == 0 {
      pieces.swapAt(index, min(pieces.count - 1, index + random.next(below: 30)))
    }
    var there: Set<String> = []
    var delivered: [(piece: History.Piece, to: RenditionName)] = []
    var previous = pair.stitchers.mapValues(\.playlist)
    func check(_ pair: Pair) {
      for (name, stitcher) in pair.stitchers {
        if let old = previous[name], old.entries.count > 0 { History.check(old, stitcher.playlist, there: there) }
        previous[name] = stitcher.playlist
      }
      let (main, mic) = (pair.numbers(.main), pair.numbers(.mic))
      let differing = main.filter { mic[$0.key] != nil && mic[$0.key] != $0.value }
      #expect(differing.isEmpty)
    }
    for (piece, name) in pieces {
      if random.next(below: 3) == 0 { pair.now += .milliseconds(random.next(below: 6_000)) }
      pair.deliver(piece, to: name)
      delivered.append((piece, name))
      if case .segment(let segment) = piece.kind { there.insert("\(piece.run)/\(segment)") }
      pair.advance()
      check(pair)
      if random.next(below: 15) == 0 {
        for (name, stitcher) in pair.stitchers where !stitcher.playlist.entries.isEmpty {
          let published = try MediaPlaylist(parsing: stitcher.playlist.rendered())
          pair.stitchers[name] = Stitcher(policy: policy, resuming: published)
          pair.stitchers[name]?.note(RunName(start: Scene.start, suffix: 0))
        }
        for (piece, name) in delivered.reversed() { pair.deliver(piece, to: name) }
      }
    }
    for _ in 0..<20 {
      pair.now += .seconds(30)
      pair.advance()
      check(pair)
    }
    for stitcher in pair.stitchers.values { #expect(stitcher.playlist.isEnded) }
  }

  @Test func `renditions without a run in common tell each other nothing`() {
    var pair = Pair()
    for (number, name) in [RenditionName.main, .mic].enumerated() {
      let run = Scene.run(number, after: Int64(number) * 60)
      pair.deliver(.init(run: run, kind: .initSection), to: name)
      pair.deliver(.init(run: run, kind: .segment(Scene.name(0, of: run))), to: name)
    }
    pair.advance()
    pair.now += .seconds(100)
    pair.advance()
    #expect(pair.stitchers.values.allSatisfy { $0.playlist.entries.count == 1 })
  }
}
