import HLS
import Platform
import Storage

/// A time in which the spool is full and what comes is lost. It ends with a new run, because time jumps there.
struct Outage {
  /// What ended the run before.
  let reason: RecordingError
  /// The run in which recording goes on; nil while there is no room.
  private(set) var nextRun: Int?
  /// The highest run of which something was lost.
  private var lastRun: Int
  private let end: WallClockTime?
  /// Renditions are recorded at the same time; one of them counts what is lost.
  private let countsTime: Bool
  private var nextLook: ContinuousClock.Instant

  private static let interval: Duration = .milliseconds(500)

  /// - Parameters:
  ///   - rendition: that lacks what comes.
  ///   - run: the one that could not go on.
  ///   - end: of what is kept.
  init(_ reason: RecordingError, of rendition: RenditionName, run: Int, end: WallClockTime?, _ session: Session) {
    countsTime = rendition == session.configuration.rendition
    self.reason = reason
    lastRun = run
    self.end = end
    nextLook = .now + Outage.interval
    session.log.warning(
      "spool-full", "\(reason.message); what comes\(countsTime ? "" : " of \(rendition)") is lost until there is room",
      ["problem": .text(reason.message), "rendition": .text(rendition.text)])
  }

  /// `run` could not go on, or not even begin.
  mutating func begin(run: Int) {
    lastRun = max(lastRun, run)
    nextRun = nil
    nextLook = .now + Outage.interval
  }

  func isOver(before run: Int) -> Bool { nextRun.map { run >= $0 } ?? false }

  mutating func lose(run: Int) { lastRun = max(lastRun, run) }

  /// Looks for room now and then; true once there is some, and a run after all that was lost has been asked for.
  mutating func looksForRoom(_ session: Session) -> Bool {
    if nextRun != nil { return true }
    guard .now >= nextLook else { return false }
    nextLook = .now + Outage.interval
    do throws(StorageError) {
      try session.configuration.keeper?.findRoom(for: Outage.leastRoom)
    } catch {
      return false
    }
    nextRun = lastRun + 1
    session.beginRun(lastRun + 1)
    return true
  }

  /// Bytes that a run can begin with.
  static let leastRoom: Int64 = 256 << 10

  func tellEnd(at start: WallClockTime, _ session: Session) {
    guard countsTime else { return }
    let lost = end.map { max(0, start.milliseconds - $0.milliseconds) } ?? 0
    session.meter.add { $0.lost += lost * 90 }
    session.log.warning(
      "spool-room", "there is room again: recording goes on in a new run; \(lost) ms are lost",
      ["lost": .number(Double(lost) / 1000)])
  }
}

extension Session {
  /// Makes sure that the spool has room for `bytes` more. Where all inputs can wait, so does the caller.
  func makeRoom(for bytes: Int64) throws(RecordingError) {
    guard let keeper = configuration.keeper else { return }
    try spool { () throws(StorageError) in
      try withRoom(for: bytes) { () throws(StorageError) in try keeper.makeRoom(for: bytes) }
    }
  }

  /// Does `body`, and again when the disk refuses for want of room: what may go goes at once, and where all inputs can
  /// wait, so does the caller.
  func withRoom<R>(for bytes: Int64, _ body: () throws(StorageError) -> R) throws(StorageError) -> R {
    var hasLooked = false
    var hasTold = false
    while true {
      do throws(StorageError) {
        return try body()
      } catch {
        // What could not be synced is given up; there is nothing to repeat.
        if case .notDurable = error { throw error }
        guard error.isFull, let keeper = configuration.keeper, keeper.waitsForRoom, !isStopping else { throw error }
        let isFound = try hasRoom(keeper, for: max(bytes, Outage.leastRoom))
        if isFound, !hasLooked {
          hasLooked = true
          continue
        }
        guard !meter.isLive else { throw error }
        hasLooked = true
        if !hasTold { log.warning("spool-full", "\(error); recording waits for room") }
        hasTold = true
        pause(.milliseconds(500))
      }
    }
  }

  private func hasRoom(_ keeper: SpoolKeeper, for bytes: Int64) throws(StorageError) -> Bool {
    do throws(StorageError) {
      try keeper.findRoom(for: bytes)
      return true
    } catch {
      guard error.isFull else { throw error }
      return false
    }
  }
}
