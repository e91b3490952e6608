import HLS
import LibAV
import Platform
import Storage
import Synchronization

/// The lock of the recording, for all threads that write one of its renditions.
final class SharedLock: Sendable {
  let value: RecordingLock
  init(_ lock: consuming RecordingLock) { value = lock }
}

/// The thread that writes one rendition: it takes the packets of all tracks, opens a run when all its tracks are known, and closes it
/// when all have left it.
// Sendable: made by one thread and then used by the one that it is handed to, only.
final class SegmentThread: @unchecked Sendable {
  /// Packets of one track that wait for another track to begin: 20 s of sound where the source is live, else minutes,
  /// since slides are stored that far apart.
  private var patience: Int { session.meter.isLive ? 1000 : 8000 }

  private let session: Session
  private let tree: Tree
  private let lock: SharedLock
  private let rendition: RenditionName
  private let items: HandoffQueue<TrackItem>
  private var batch: HandoffQueue<TrackItem>.Batch
  private let onCommit: @Sendable (EntryPath) -> Void
  private var tracks: [Track]
  private var current: RunOutput?
  private var run = 0
  private var endTime: WallClockTime?
  private var outage: Outage?

  private final class Track {
    /// In order, what has not been taken in yet: it belongs to a run that cannot be begun before the current one ends.
    var items: [Item] = []
    var format: TrackFormat?
    /// Index among the tracks of the current run.
    var index: Int?
    var hasLeftRun = false
    var hasFinished = false
  }
  private enum Item {
    case begin(run: Int, TrackFormat)
    case packet(run: Int, WaitingPacket)
    case end(run: Int)

    var run: Int {
      switch self {
      case .begin(let run, _), .packet(let run, _), .end(let run): run
      }
    }
  }

  /// - Parameters:
  ///   - items: what the rendition's tracks consist of.
  ///   - tracks: how many there are.
  init(
    _ rendition: RenditionName, of items: HandoffQueue<TrackItem>, tracks: Int, session: Session, tree: Tree,
    lock: SharedLock, onCommit: @escaping @Sendable (EntryPath) -> Void
  ) {
    self.rendition = rendition
    self.items = items
    batch = items.emptyBatch()
    self.session = session
    self.tree = tree
    self.lock = lock
    self.onCommit = onCommit
    self.tracks = (0..<tracks).map { _ in Track() }
  }

  /// Runs until every track has finished, or writing fails.
  func work() {
    do throws(RecordingError) {
      while tracks.contains(where: { !$0.hasFinished || !$0.items.isEmpty }) {
        guard try takeNext() else { break }
        while try advanceWithinRoom() {}
      }
      try finish()
      if let outage { throw outage.reason }
    } catch {
      session.fail(error)
      items.discard()
      current?.salvage(.end)
    }
  }

  /// Takes in what has come; false when nothing will. Nothing comes of an encoder that is stuck, and nobody else can tell.
  private func takeNext() throws(RecordingError) -> Bool {
    while true {
      let arrival = items.take(into: &batch, timeout: .milliseconds(250))
      if let encoder = session.stuckEncoder { throw .silentEncoder(encoder) }
      if arrival == .timedOut { continue }
      while let item = batch.next() { take(item) }
      return arrival == .elements
    }
  }

  private func take(_ item: consuming TrackItem) {
    switch consume item {
    case .begin(let track, let run, let format): tracks[track].items.append(.begin(run: run, format))
    case .packet(let track, let run, let canStart, let packet):
      tracks[track].items.append(.packet(run: run, WaitingPacket(packet, canStart: canStart)))
    case .end(let track, let run): tracks[track].items.append(.end(run: run))
    case .finish(let track): tracks[track].hasFinished = true
    }
  }

  /// Does what can be done with what is there; false when more has to come.
  private func advance() throws(RecordingError) -> Bool {
    guard let output = current else { return try begin() }
    var hasAdvanced = false
    for track in tracks {
      while let item = track.items.first, item.run <= run {
        track.items.removeFirst()
        hasAdvanced = true
        guard item.run == run, let index = track.index else { continue }
        switch item {
        case .begin: break
        case .packet(_, let waiting): try output.add(waiting, track: index)
        case .end:
          track.hasLeftRun = true
          try output.end(track: index)
        }
      }
      if track.index != nil, !track.hasLeftRun, track.hasFinished || !track.items.isEmpty {
        track.hasLeftRun = true
        hasAdvanced = true
        if let index = track.index { try output.end(track: index) }
      }
    }
    guard tracks.allSatisfy({ $0.index == nil || $0.hasLeftRun }) else { return hasAdvanced }
    // A track that has not begun the run may still do so, unless it is known to be beyond it.
    guard tracks.allSatisfy({ $0.index != nil || $0.hasFinished || !$0.items.isEmpty }) else { return hasAdvanced }
    // At once: when the source is away it may be long before something follows.
    try output.finish()
    let goesOn = tracks.contains { !$0.hasFinished || !$0.items.isEmpty }
    // Whether it goes on is not known before the next run's first item or the end of all tracks.
    guard !goesOn || tracks.contains(where: { !$0.items.isEmpty }) else { return hasAdvanced }
    try output.close(goesOn ? .next : .end)
    endTime = output.endTime
    current = nil
    return true
  }

  /// Begins the next run once every track has begun it, is beyond it or has finished.
  private func begin() throws(RecordingError) -> Bool {
    guard let next = tracks.compactMap({ $0.items.first?.run }).min() else { return false }
    // A track that stays away does not hold up the others for ever.
    let isTired = tracks.contains { $0.items.count > patience }
    guard isTired || tracks.allSatisfy({ !$0.items.isEmpty || $0.hasFinished }) else { return false }
    run = next
    var formats: [TrackFormat] = []
    for track in tracks {
      track.index = nil
      track.hasLeftRun = false
      guard case .begin(next, let format)? = track.items.first else { continue }
      track.items.removeFirst()
      track.index = formats.count
      formats.append(format)
    }
    guard !formats.isEmpty else {
      for track in tracks { track.items.removeAll { $0.run == next } }
      return true
    }
    let now = WallClockTime(milliseconds: WallClock.now())
    // Runs do not overlap, whatever clocks say; what was stored in one piece stays in one piece.
    let start = max(session.start(of: next) ?? endTime ?? now, endTime ?? WallClockTime(milliseconds: 0))
    let recording = session.configuration.recording
    let name = try spool { () throws(StorageError) in try tree.newRunName(of: recording, now: start) }
    try session.makeRoom(for: 0)
    let settled = session.settle(next, name, start: start)
    current = try RunOutput(
      run: next, formats: formats, start: settled.start, session: session, tree: tree,
      key: RunKey(recording: recording, rendition: rendition, run: settled.name),
      lock: lock.value,
      onCommit: onCommit)
    return true
  }

  // MARK: A full spool

  private func advanceWithinRoom() throws(RecordingError) -> Bool {
    guard outage == nil || isOutageOver() else { return false }
    do throws(RecordingError) {
      let hasAdvanced = try advance()
      // Only then: the outage is a large value, and this runs for every packet.
      if outage != nil, let output = current, let outage, output.run >= outage.nextRun ?? .max {
        outage.tellEnd(at: output.start, session)
        self.outage = nil
      }
      return hasAdvanced
    } catch {
      guard error.storage?.isFull == true, session.configuration.keeper?.waitsForRoom == true else { throw error }
      current?.salvage(.next)
      session.needsRecovery.store(true, ordering: .relaxed)
      endTime = current?.endTime ?? endTime
      current = nil
      if outage == nil { outage = Outage(error, of: rendition, run: run, end: endTime, session) }
      outage?.begin(run: run)
      return true
    }
  }

  /// Lets go of what the outage has no room for, and looks whether there is room again.
  private func isOutageOver() -> Bool {
    guard var outage else { return true }
    for track in tracks {
      let lost = track.items.prefix { !outage.isOver(before: $0.run) }
      for item in lost { outage.lose(run: item.run) }
      track.items.removeFirst(lost.count)
    }
    let isOver = outage.looksForRoom(session)
    self.outage = outage
    return isOver
  }

  private func finish() throws(RecordingError) {
    guard let output = current else { return }
    current = nil
    try output.finish()
    try output.close(.end)
  }
}
