import HLS
import HTTP
import Platform
import Storage

/// Tells a person and scripts how a delivery goes, without repeating itself: a failure that goes on is told when it begins
/// and then every half minute, with a count.
struct UploadTeller {
  private let log: Log
  private let target: String
  private var lastRetryTold: ContinuousClock.Instant?
  private var untold = 0
  private var lastScanTold: ContinuousClock.Instant?

  private static let interval: Duration = .seconds(30)

  init(_ log: Log, target: String) {
    self.log = log
    self.target = target
  }

  mutating func delivered(
    _ job: DeliveryPlan.Job, bytes: Int64, _ elapsed: Duration, isRecovery: Bool, _ backlog: DeliveryPlan.Backlog
  ) {
    if isRecovery, lastRetryTold != nil || untold > 0 {
      log.info(
        "upload-recovered", "\(target) takes files again; \(backlog.segments) segments are waiting",
        ["backlog_segments": .init(backlog.segments), "backlog_seconds": .number(backlog.seconds)])
      lastRetryTold = nil
      untold = 0
    }
    log.info(
      "sent", "sent \(job.path) (\(bytes) bytes)",
      [
        "file": .init(job.path), "bytes": .init(bytes), "seconds": .number(elapsed.seconds),
        "attempts": .init(job.attempt), "backlog_segments": .init(backlog.segments),
      ])
  }

  mutating func retries(
    _ job: DeliveryPlan.Job, _ outcome: TransferOutcome, after delay: Duration, gate: AttemptGate.Health,
    now: ContinuousClock.Instant
  ) {
    if let lastRetryTold, now - lastRetryTold < UploadTeller.interval {
      untold += 1
      return
    }
    let more = untold > 0 ? " (\(untold) more failures since the last line)" : ""
    log.warning(
      "upload-retry",
      "cannot send \(job.path) to \(target): \(outcome.detail); next attempt in \(tenths(delay)) s\(more)",
      [
        "file": .init(job.path), "problem": .text(outcome.detail), "status": .init(outcome.status ?? 0),
        "attempts": .init(job.attempt), "delay": .number(delay.seconds), "untold": .init(untold),
      ])
    lastRetryTold = now
    untold = 0
  }

  mutating func pauses(_ outcome: TransferOutcome) {
    // Success after it is worth a line too.
    lastRetryTold = lastRetryTold ?? .now
    let moved = outcome.location.map { "; it points to \(Redaction().masked($0))" } ?? ""
    log.error(
      "upload-paused",
      "\(target) refuses everything: \(outcome.detail)\(moved); all is kept, and sent when the server takes it",
      ["problem": .text(outcome.detail), "status": .init(outcome.status ?? 0)])
  }

  func refuses(_ job: DeliveryPlan.Job, _ outcome: TransferOutcome) {
    let detail = outcome.detail.isEmpty ? "another file of that name is there" : outcome.detail
    let rest = job.path.entry == .initSection ? "without it no segment of that run can be sent; all" : "it"
    log.error(
      "segment-refused",
      "\(target) refuses \(job.path) for good: \(detail); \(rest) is kept, see segrec upload --retry-refused",
      ["file": .init(job.path), "problem": .text(detail), "status": .init(outcome.status ?? 0)])
  }

  func ladder(_ level: Ladder.Level, _ measurement: Ladder.Measurement) {
    let rate = measurement.goodput.map { "\(Int($0 / 1000)) kb/s go through" } ?? "no rate measured"
    let what =
      switch level {
      case .full: "full bitrate"
      case .reduced: "fallback bitrate"
      case .spoolOnly: "spool only, at the fallback bitrate"
      case .catchUp: "catching up, at the fallback bitrate"
      }
    log.warning(
      "ladder", "\(what): \(rate), \(Int(measurement.backlog)) s are waiting",
      [
        "level": .text(level.rawValue), "goodput": .number(measurement.goodput ?? 0),
        "backlog_seconds": .number(measurement.backlog),
      ])
  }

  mutating func cannotScan(_ error: StorageError, now: ContinuousClock.Instant) {
    if let lastScanTold, now - lastScanTold < UploadTeller.interval { return }
    lastScanTold = now
    log.error("spool", "\(error)")
  }

  private func tenths(_ duration: Duration) -> String {
    let tenths = Int((duration.seconds * 10).rounded())
    return "\(tenths / 10).\(tenths % 10)"
  }
}
