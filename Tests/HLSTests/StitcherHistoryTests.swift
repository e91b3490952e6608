import Testing

@testable import HLS

/// Plays random histories (order, loss, duplicates, late files, several runs, restarts) and checks what RFC 8216bis-20
/// §6.2 asks of every successive pair of lists.
@Suite struct `Live list history` {
  struct Piece {
    enum Kind { case initSection, segment(SegmentName), marker(MarkerName) }
    var run: RunName
    var kind: Kind
  }

  struct Recording {
    var pieces: [Piece] = []
    var segments = 0
  }

  static func recording(_ random: inout SplitMix) -> Recording {
    var recording = Recording()
    var time = Scene.start
    var earliest = time
    let runs = random.next(below: 4) + 1
    for number in 0..<runs {
      let run = RunName(start: max(time, earliest), suffix: UInt16(number))
      earliest = run.start.advanced(byTicks: 90)
      recording.pieces.append(Piece(run: run, kind: .initSection))
      let count = random.next(below: 30)
      for sequence in 0..<count {
        let ticks = random.next(below: 10) == 0 ? Int64(random.next(below: 700_000) + 3_000) : 450_000
        let name = SegmentName(sequence: sequence, start: time, ticks: ticks)
        recording.pieces.append(Piece(run: run, kind: .segment(name)))
        time = time.advanced(byTicks: ticks)
        recording.segments += 1
        // The recorder's clock is set, ahead or back.
        if random.next(below: 40) == 0 {
          time = time.advanced(byTicks: Int64(random.next(below: 1_200) - 600) * 90_000)
        }
      }
      let isClosed = number < runs - 1 ? random.next(below: 8) > 0 : random.next(below: 2) == 0
      if isClosed {
        let marker = MarkerName(count: count, kind: number < runs - 1 ? .next : .end)
        recording.pieces.append(Piece(run: run, kind: .marker(marker)))
      }
      time = time.advanced(byTicks: Int64(random.next(below: 20)) * 90_000)
    }
    return recording
  }

  /// Swaps neighbours at a distance, drops some and doubles some.
  static func arrivals(of pieces: [Piece], lossy: Bool, _ random: inout SplitMix) -> [Piece] {
    var result = pieces
    for index in result.indices where random.next(below: 3) == 0 {
      result.swapAt(index, min(result.count - 1, index + random.next(below: 6)))
    }
    if lossy {
      result.removeAll { _ in random.next(below: 12) == 0 }
      for piece in result where random.next(below: 10) == 0 {
        result.insert(piece, at: random.next(below: result.count))
      }
    }
    return result
  }

  static func deliver(_ piece: Piece, to scene: inout Scene) {
    switch piece.kind {
    case .initSection: scene.stitcher.initSectionArrived(piece.run)
    case .segment(let name): scene.stitcher.segmentArrived(name, in: piece.run, at: scene.now)
    case .marker(let marker): scene.stitcher.markerArrived(marker, in: piece.run, at: scene.now)
    }
  }

  static func sequenceNumbers(_ list: MediaPlaylist) -> [Int: (MediaPlaylist.Entry, Int)] {
    var discontinuity = list.discontinuitySequence
    var result: [Int: (MediaPlaylist.Entry, Int)] = [:]
    for (index, entry) in list.entries.enumerated() {
      if entry.isDiscontinuity { discontinuity += 1 }
      result[list.mediaSequence + index] = (entry, discontinuity)
    }
    return result
  }

  /// Where no name holds a date (a gap, a clock that was set) it is rounded anew when the entries before it have left.
  static func isSame(_ a: MediaPlaylist.Entry, _ b: MediaPlaylist.Entry) -> Bool {
    var b = b
    if abs(a.date.milliseconds(since: b.date)) <= 1 {
      b.date = a.date
      if a.isGap { b.nameStart = a.nameStart }
    }
    return a == b
  }

  static func check(_ old: MediaPlaylist, _ new: MediaPlaylist, there: Set<String>) {
    #expect(new.targetDuration == old.targetDuration)
    #expect(new.kind == old.kind)
    #expect(new.mediaSequence >= old.mediaSequence)
    #expect(new.discontinuitySequence >= old.discontinuitySequence)
    #expect(new.mediaSequence + new.entries.count >= old.mediaSequence + old.entries.count)
    let (before, after) = (sequenceNumbers(old), sequenceNumbers(new))
    for (number, value) in before where number >= new.mediaSequence {
      guard let kept = after[number] else {
        Issue.record("media sequence \(number) disappeared")
        continue
      }
      #expect(isSame(kept.0, value.0))
      #expect(kept.1 == value.1)
    }
    if new.mediaSequence > 0 { #expect(new.ticks >= Int64(3 * new.targetDuration) * 90_000) }
    for entry in new.entries {
      #expect(MediaPlaylist.roundedSeconds(entry.ticks) <= new.targetDuration)
      #expect(entry.ticks > 0)
      if let name = entry.name { #expect(there.contains("\(entry.run)/\(name)")) }
    }
    for (a, b) in zip(new.entries, new.entries.dropFirst()) {
      #expect(b.isAbsence || (a.run, a.sequence) < (b.run, b.sequence) || (a.isGap && b.isGap && a.run == b.run))
      #expect(b.isDiscontinuity || abs(b.date.milliseconds(since: a.date) * 90 - a.ticks) <= 270)
      #expect(b.date >= a.date)
      #expect(b.isDiscontinuity || a.run == b.run)
    }
  }

  @Test(arguments: 0..<24)
  func `no successor contradicts the list before it`(seed: Int) throws {
    var random = SplitMix(seed: UInt64(seed) &* 0x9E37 &+ 17)
    for _ in 0..<3 {
      let recording = Self.recording(&random)
      let arrivals = Self.arrivals(of: recording.pieces, lossy: true, &random)
      var policy = StitchingPolicy()
      policy.window = .last(ticks: Int64(random.next(below: 60) + 10) * 90_000)
      policy.idleEnd = random.next(below: 2) == 0 ? .seconds(120) : nil
      var scene = Scene(policy)
      var there: Set<String> = []
      var delivered: [Piece] = []
      var previous = scene.stitcher.playlist
      var kept = RenderedPlaylist()
      for piece in arrivals {
        if random.next(below: 3) == 0 { scene.now += .milliseconds(random.next(below: 9_000)) }
        Self.deliver(piece, to: &scene)
        delivered.append(piece)
        if case .segment(let name) = piece.kind { there.insert("\(piece.run)/\(name)") }
        let changes = scene.stitcher.advance(at: scene.now)
        let list = scene.stitcher.playlist
        #expect(kept.text(of: list, removed: changes.removed) == list.rendered())
        Self.check(previous, list, there: there)
        previous = list
        guard !list.entries.isEmpty else { continue }
        let readBack = try MediaPlaylist(parsing: list.rendered())
        #expect(readBack.entries.count == list.entries.count)
        #expect(zip(readBack.entries, list.entries).allSatisfy { Self.isSame($0, $1) })
        if random.next(below: 12) == 0 {
          // A restart knows the published list and what a listing shows, in another order.
          scene.stitcher = Stitcher(policy: policy, resuming: readBack)
          kept = RenderedPlaylist()
          for piece in delivered.reversed() { Self.deliver(piece, to: &scene) }
        }
      }
      for _ in 0..<40 {
        scene.pass(60)
        Self.check(previous, scene.stitcher.playlist, there: there)
        previous = scene.stitcher.playlist
      }
      #expect(scene.stitcher.deadline == nil)
    }
  }

  @Test(arguments: 0..<24)
  func `without loss everything is published once and in order`(seed: Int) {
    var random = SplitMix(seed: UInt64(seed) &* 0x51D &+ 3)
    for _ in 0..<3 {
      let recording = Self.recording(&random)
      var policy = StitchingPolicy()
      policy.window = .last(ticks: 1 << 40)
      var scene = Scene(policy, target: 8)
      for piece in Self.arrivals(of: recording.pieces, lossy: false, &random) {
        scene.now += .milliseconds(random.next(below: 1_000))
        Self.deliver(piece, to: &scene)
        _ = scene.stitcher.advance(at: scene.now)
      }
      for _ in 0..<5 { scene.pass(24) }
      #expect(scene.entries.count == recording.segments)
      #expect(scene.entries.allSatisfy { !$0.isGap })
      let endings = recording.pieces.compactMap { piece in
        if case .marker(let marker) = piece.kind { marker.kind } else { nil }
      }
      #expect(scene.stitcher.playlist.isEnded == (endings.last == .end && recording.segments > 0))
    }
  }

  @Test func `damaged lists never trap`() {
    var random = SplitMix(seed: 0xDA7E)
    var scene = Scene()
    scene.segments([0, 1, 3], of: Scene.run())
    scene.pass(20)
    scene.marker(4, .next, of: Scene.run())
    scene.segments(0..<3, of: Scene.run(1, after: 60))
    let good = scene.stitcher.playlist.rendered()
    var refused = 0
    for _ in 0..<5_000 {
      var bytes = good
      for _ in 0..<random.next(below: 4) + 1 {
        let place = random.next(below: bytes.count)
        switch random.next(below: 4) {
        case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
        case 1: bytes[place] = UInt8(ascii: "9")
        case 2 where bytes.count > 40: bytes.removeSubrange(place..<min(bytes.count, place + 30))
        default: bytes.insert(contentsOf: Array("99999".utf8), at: place)
        }
        if bytes.isEmpty { bytes = good }
      }
      do {
        let list = try MediaPlaylist(parsing: bytes)
        var stitcher = Stitcher(policy: StitchingPolicy(), resuming: list)
        _ = stitcher.advance(at: scene.now)
      } catch {
        refused += 1
      }
    }
    #expect(refused > 500)
  }

  @Test func `a list whose last append was cut off is read up to its last whole entry`() throws {
    var scene = Scene()
    scene.segments(0..<5, of: Scene.run())
    let text = scene.stitcher.playlist.rendered()
    for cut in 1..<84 {
      let list = try MediaPlaylist(parsing: Array(text.dropLast(cut)))
      #expect(list.entries == Array(scene.entries.dropLast(1)))
    }
  }
}
