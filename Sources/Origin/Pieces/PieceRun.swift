import HLS
import LibAV
import Platform
import Storage

/// The pieces a phone uploads into one run, and the segments made of them: in order, a missing one waited for as long as a
/// missing segment is. All it knows is on the disk: pieces that are done lie in `pieces/`, those that cannot be used in
/// `refused/`, and the last segment tells where the next one begins.
///
/// A piece whose codecs differ begins a run of its own, named after the time it starts, with the piece's number as its
/// suffix; the phone's marker, which counts all pieces, then holds for these runs together.
struct PieceRun {
  /// A file that came out.
  struct Made {
    var entry: RunEntry
    var run: RunName
    /// When the piece it comes from arrived.
    var at: ContinuousClock.Instant
  }

  let key: RunKey
  /// When a missing piece is given up.
  private(set) var deadline: ContinuousClock.Instant?

  private struct Target {
    var run: RunName
    /// Number of the piece that is its segment 0.
    var first: Int
  }

  private let tree: Tree
  private let log: Log
  private var targets: [Target]
  private var waiting: [Int: ContinuousClock.Instant] = [:]
  private var next = 0
  private var marker: (name: MarkerName, at: ContinuousClock.Instant)?
  /// The segment that was made last, in the order of numbers.
  private var end: End?

  private struct End {
    var run: RunName
    var sequence: Int
    var place: PiecePlace
    var ticks: Int64
  }

  /// Whether segments have been made of a run's pieces.
  static func hasBegun(_ tree: Tree, _ key: RunKey) throws(StorageError) -> Bool {
    var found = false
    try tree.entries(of: key, area: .pieces) { _ in
      found = true
      return false
    }
    return found
  }

  init(_ tree: Tree, _ key: RunKey, _ log: Log) throws(StorageError) {
    self.tree = tree
    self.key = key
    self.log = log
    targets = [Target(run: key.run, first: 0)]
    for area in [Tree.Area.pieces, .refused] {
      var next = next
      try tree.entries(of: key, area: area) { entry in
        if case .piece(let number) = entry { next = max(next, number + 1) }
        return true
      }
      self.next = next
    }
    for run in try tree.runs(of: key.recording, rendition: key.rendition) where run > key.run {
      let other = RunKey(recording: key.recording, rendition: key.rendition, run: run)
      let first = Int(run.suffix)
      guard first > targets[targets.count - 1].first, first < next, try !PieceRun.hasBegun(tree, other) else { break }
      targets.append(Target(run: run, first: Int(run.suffix)))
    }
  }

  mutating func arrived(_ number: Int, at time: ContinuousClock.Instant) {
    waiting[number] = min(waiting[number] ?? time, time)
  }

  mutating func arrived(_ name: MarkerName, at time: ContinuousClock.Instant) {
    if let marker, marker.name.count > name.count { return }
    marker = (name, time)
  }

  /// Makes segments of what is due.
  mutating func work(
    at now: ContinuousClock.Instant, patience: Duration
  ) throws(StorageError) -> [Made] {
    var made: [Made] = []
    deadline = nil
    while let number = waiting.keys.min(), let since = waiting[number] {
      if number > next {
        let due = (waiting.values.min() ?? since) + patience
        guard now >= due else {
          deadline = due
          break
        }
      }
      try settle(number, since, &made)
      waiting[number] = nil
      next = max(next, number + 1)
    }
    if waiting.isEmpty, let marker, marker.name.count <= next {
      for (index, target) in targets.enumerated() {
        let isLast = index == targets.count - 1
        let count = (isLast ? marker.name.count : targets[index + 1].first) - target.first
        let name = MarkerName(count: max(0, count), kind: isLast ? marker.name.kind : .next)
        made.append(Made(entry: .marker(name), run: target.run, at: marker.at))
      }
      self.marker = nil
    }
    return made
  }

  private func path(_ entry: RunEntry, _ run: RunName) -> EntryPath {
    EntryPath(key: RunKey(recording: key.recording, rendition: key.rendition, run: run), entry: entry)
  }

  /// Makes a segment of one piece, or sets the piece aside.
  private mutating func settle(
    _ number: Int, _ time: ContinuousClock.Instant, _ made: inout [Made]
  ) throws(StorageError) {
    let piece = path(.piece(sequence: number), key.run)
    do throws(PieceError) {
      for entry in try convert(number, piece) { made.append(Made(entry: entry.entry, run: entry.key.run, at: time)) }
    } catch {
      let reason: String
      switch error {
      case .storage(.taken): reason = "its number is taken, or its run was closed before it"
      case .storage(let error):
        if error.isMissing { return }
        throw error
      case .unusable(let why): reason = why
      }
      log.warning(
        "piece", "piece \(number) of \(key) cannot be used and is a gap: \(reason)",
        ["recording": .init(key.recording), "run": .init(key.run), "sequence": .init(number)])
      return try tree.move(piece, to: .refused)
    }
    try tree.move(piece, to: .pieces)
  }

  private mutating func convert(_ number: Int, _ piece: EntryPath) throws(PieceError) -> [EntryPath] {
    var remuxer = try PieceRemuxer(tree, piece)
    var index = targets.lastIndex { $0.first <= number } ?? 0
    var made: [EntryPath] = []
    var around = try ofTree { () throws(StorageError) in
      try neighbours(of: number - targets[index].first, in: targets[index].run)
    }
    if around.isDone { return [] }
    var place = around.end
    if around.missing > 0 {
      // What the piece before lasted is the best guess for those that are missing in between.
      place.ticks += (around.lastTicks ?? remuxer.ticks) * Int64(around.missing)
      (place.samples, place.heard) = (nil, nil)
    }
    let initSection = remuxer.initSection
    var known = try ofTree { () throws(StorageError) in try tree.bytes(of: path(.initSection, targets[index].run)) }
    if let other = known, withoutBitRates(other) != withoutBitRates(initSection) {
      let start = targets[index].run.start.advanced(byTicks: place.ticks)
      index += 1
      targets.insert(
        Target(run: RunName(start: start, suffix: UInt16(truncatingIfNeeded: number)), first: number), at: index)
      (known, place, around.limit) = (nil, PiecePlace(), nil)
    }
    let target = targets[index]
    let begin = place
    do throws(PieceError) {
      let isLast = marker?.name.count == number + 1
      try remuxer.write(number: number - target.first, at: &place, before: around.limit, isLast: isLast) {
        (ticks, bytes) throws(StorageError) in
        if known == nil {
          try tree.store(path(.initSection, target.run), initSection)
          made.append(path(.initSection, target.run))
        }
        let name = SegmentName(
          sequence: number - target.first, start: target.run.start.advanced(byTicks: begin.ticks), ticks: ticks)
        let path = path(.segment(name), target.run)
        try tree.store(path, bytes)
        made.append(path)
        end = End(run: target.run, sequence: name.sequence, place: PiecePlace(), ticks: ticks)
      }
    } catch {
      // The run that was to begin with it begins with another.
      if known == nil, index > 0, made.isEmpty { targets.remove(at: index) }
      throw error
    }
    end?.place = place
    return made
  }

  /// What lies around the place of one segment.
  private struct Neighbours {
    /// The segment is there already: a crash came before its piece was moved.
    var isDone = false
    /// Where the last one before it ends.
    var end = PiecePlace()
    var lastTicks: Int64?
    /// Numbers that are missing between that one and this.
    var missing = 0
    /// Where the first one behind it begins.
    var limit: PiecePlace?
  }

  private func neighbours(of sequence: Int, in run: RunName) throws(StorageError) -> Neighbours {
    var around = Neighbours()
    if let end, end.run == run, end.sequence < sequence {
      around.end = end.place
      around.lastTicks = end.ticks
      around.missing = sequence - end.sequence - 1
      return around
    }
    let names = try tree.segments(of: RunKey(recording: key.recording, rendition: key.rendition, run: run))
    around.isDone = names.contains { $0.sequence == sequence }
    let before = names.last { $0.sequence < sequence }
    around.missing = sequence - (before?.sequence ?? -1) - 1
    if let before {
      around.lastTicks = before.ticks
      around.end = try place(of: before, run).end
      // Without pictures the name is closer than whole frames are.
      if around.end.ticks == 0 { around.end.ticks = before.start.milliseconds(since: run.start) * 90 + before.ticks }
    }
    if let after = names.first(where: { $0.sequence > sequence }) { around.limit = try place(of: after, run).start }
    return around
  }

  private func place(of name: SegmentName, _ run: RunName) throws(StorageError) -> (start: PiecePlace, end: PiecePlace)
  {
    var (start, end) = (PiecePlace(), PiecePlace())
    let key = RunKey(recording: key.recording, rendition: key.rendition, run: run)
    guard let initSection = try tree.initSection(of: key) else { return (start, end) }
    for span in try tree.spans(of: name, in: key, initSection) {
      if span.kind == .video {
        start.ticks = Int64(clamping: span.firstDecodeTime)
        end.ticks = Int64(clamping: span.endDecodeTime)
      } else {
        start.samples = Int64(clamping: span.firstDecodeTime)
        end.samples = Int64(clamping: span.endDecodeTime)
      }
    }
    return (start, end)
  }
}

private func ofTree<R>(_ body: () throws(StorageError) -> R) throws(PieceError) -> R {
  do throws(StorageError) {
    return try body()
  } catch {
    throw .storage(error)
  }
}
