import Testing

@testable import HLS

/// Renditions of one recording, as `RecordingStitching` keeps them.
private struct Pair {
  var stitchers: [RenditionName: Stitcher] = [:]
  var now = ContinuousClock.now
  let policy: StitchingPolicy

  init(_ policy: StitchingPolicy = StitchingPolicy(), _ names: [RenditionName] = [.main, .mic]) {
    self.policy = policy
    for name in names { stitchers[name] = Stitcher(policy: policy, targetDuration: 5) }
  }

  /// Another process knows what was published; what is there has to be delivered anew.
  mutating func restart(_ policy: StitchingPolicy) throws {
    for (name, stitcher) in stitchers where !stitcher.playlist.entries.isEmpty {
      stitchers[name] = Stitcher(policy: policy, resuming: try MediaPlaylist(parsing: stitcher.playlist.rendered()))
    }
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
        try pair.restart(policy)
        for name in pair.stitchers.keys { pair.stitchers[name]?.note(RunName(start: Scene.start, suffix: 0)) }
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

  /// Three renditions whose recorder is killed now and then: runs end a little earlier or later in each of them.
  private static func killed(_ random: inout SplitMix) -> (names: [RenditionName], runs: [[RunListing]]) {
    let names = ["360p", "480p", "main"].compactMap { RenditionName($0) }
    var runs: [[RunListing]] = names.map { _ in [] }
    var time = Scene.start
    let count = random.next(below: 6) + 2
    for number in 0..<count {
      let run = RunName(start: time, suffix: UInt16(number))
      let whole = random.next(below: 6) + 3
      for index in names.indices {
        var listing = RunListing(run: run)
        listing.hasInitSection = true
        for sequence in 0..<whole {
          let name = SegmentName(
            sequence: sequence, start: run.start.advanced(byTicks: Int64(sequence) * 450_000), ticks: 450_000)
          listing.segments.append(name)
        }
        // What was written when it was killed: a short segment more, in some of them.
        let rest = Int64(random.next(below: 5)) * 90_000
        if rest > 0 {
          let start = run.start.advanced(byTicks: Int64(whole) * 450_000)
          listing.segments.append(SegmentName(sequence: whole, start: start, ticks: rest))
        }
        listing.marker = MarkerName(count: listing.segments.count, kind: number == count - 1 ? .end : .next)
        runs[index].append(listing)
      }
      time = time.advanced(byTicks: Int64(whole + 1) * 450_000 + 180_000)
    }
    return (names, runs)
  }

  private static func ticks(_ list: MediaPlaylist, _ run: RunName) -> Int64 {
    list.entries.reduce(0) { $0 + ($1.run == run ? $1.ticks : 0) }
  }

  @Test(arguments: 0..<12)
  func `are equally long in all lists but for the last, whatever each of them has of it`(seed: Int) throws {
    var random = SplitMix(seed: UInt64(seed) &* 0x9E37_79B9 &+ 3)
    let (names, runs) = Self.killed(&random)
    let last = try #require(runs[0].last?.run)
    func check(_ lists: [MediaPlaylist]) {
      for run in runs[0].map(\.run) where run != last {
        #expect(Set(lists.map { Self.ticks($0, run) }).count == 1, "\(run)")
      }
      for (list, own) in zip(lists, runs) {
        #expect(list.entries.count { !$0.isGap } == own.reduce(0) { $0 + $1.segments.count })
      }
    }
    check(
      try runs.indices.map { index in
        let others = runs.indices.filter { $0 != index }.map { runs[$0] }
        return try #require(MediaPlaylist.whole(runs[index], targetDuration: 5, others: others))
      })

    // Live, in the order of recording; each file of each rendition may be a little later than those of the others.
    var policy = StitchingPolicy()
    policy.window = .last(ticks: 100_000 * 90_000)
    policy.idleEnd = nil
    var pair = Pair(policy, names)
    let there = Set(runs.joined().flatMap { listing in listing.segments.map { "\(listing.run)/\($0)" } })
    var previous = pair.stitchers.mapValues(\.playlist)
    var waiting = runs.map { own in
      own.flatMap { listing in
        [History.Piece(run: listing.run, kind: .initSection)]
          + listing.segments.map { History.Piece(run: listing.run, kind: .segment($0)) }
          + [History.Piece(run: listing.run, kind: .marker(listing.marker ?? MarkerName(count: 0, kind: .next)))]
      }[...]
    }
    var delivered: [(piece: History.Piece, to: RenditionName)] = []
    while waiting.contains(where: { !$0.isEmpty }) {
      let index = random.next(below: names.count)
      // None is ahead of another by more than the beginning of the next run.
      guard let piece = waiting[index].first, waiting.allSatisfy({ $0.count <= waiting[index].count + 3 }) else {
        continue
      }
      waiting[index].removeFirst()
      pair.now += .milliseconds(random.next(below: 800))
      pair.deliver(piece, to: names[index])
      delivered.append((piece, names[index]))
      pair.advance()
      for (name, stitcher) in pair.stitchers {
        if let old = previous[name], !old.entries.isEmpty { History.check(old, stitcher.playlist, there: there) }
        previous[name] = stitcher.playlist
      }
      if random.next(below: 12) == 0 {
        try pair.restart(policy)
        for (piece, name) in delivered.reversed() { pair.deliver(piece, to: name) }
      }
    }
    pair.advance()
    check(names.compactMap { pair.stitchers[$0]?.playlist })
    #expect(pair.stitchers.values.allSatisfy { $0.playlist.isEnded })
    let numbers = names.map { pair.numbers($0) }
    #expect(numbers.allSatisfy { $0 == numbers[0] })
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
