import Delivery
import HLS
import Platform
import Recording
import Synchronization

/// A recording from its start to the last acknowledged byte: the recorder on this thread, the upload and the live line
/// on theirs, and the closing words.
struct RecordSession {
  let recorder: Recorder
  let sending: Sending?
  let recording: RecordingName
  let spool: String
  /// What sends the rest later.
  let uploadCommand: String
  /// It is sent to a live receiver as well.
  let isPushed: Bool
  let hasVideo: Bool
  /// A file is read at the pace of its own times.
  let isPaced: Bool
  let log: Log
  private let phase = Phase()

  private final class Phase: Sendable {
    /// Nothing more is recorded; what is left is being sent.
    let hasEnded = Atomic(false)
  }

  func run() throws(Failure) -> ExitCode {
    let begun = ContinuousClock.now
    let line = LiveLineThread(log) { [self] meters in status(&meters, elapsed: .now - begun) }
    defer { line.end() }
    let outcome: Result<RecordingSummary, RecordingError>
    do throws(RecordingError) {
      outcome = .success(try recorder.run())
    } catch {
      outcome = .failure(error)
    }
    phase.hasEnded.store(true, ordering: .relaxed)
    let upload = sending.map { finish($0) }
    line.end()
    if case .success(let summary) = outcome { tell(summary, upload) }
    // A recording that failed is told before what is left to send: the cause first, then what to do about it.
    if case .failure(let error) = outcome {
      if let upload, case .success(let summary) = upload,
        let rest = shortfall(summary, spool: spool, command: uploadCommand)
      {
        log.warning("unsent", rest.message)
      }
      throw Failure(exitCode(of: error), error.description)
    }
    let failure = lostInput(outcome)
    switch upload {
    case nil: break
    case .failure(let error):
      throw Failure(
        segrec.exitCode(of: error), "\(error); all segments are kept in \(spool); to send: \(uploadCommand)")
    case .success(let summary):
      if let rest = shortfall(summary, spool: spool, command: uploadCommand) {
        if let failure { log.warning("input", failure.message) }
        throw rest
      }
    }
    if let failure { throw failure }
    return .success
  }

  /// A live input has ended by itself: whoever recorded it has less than was wanted, and a service must start again.
  private func lostInput(_ outcome: Result<RecordingSummary, RecordingError>) -> Failure? {
    guard case .success(let summary) = outcome, summary.progress.isLive, summary.ending == .inputEnded else {
      return nil
    }
    let length = spokenDuration(.milliseconds(summary.progress.ticks / 90))
    return Failure(
      .unavailable,
      "the live input ended by itself after \(length), which are recorded; --reconnect goes on when it is back")
  }

  /// Lets the upload send what is left, for as long as it was told.
  private func finish(_ sending: Sending) -> Result<UploadSummary, UploadError> {
    sending.uploader.finishInput()
    while true {
      if let result = sending.wait(.seconds(3600)) {
        sending.join()
        return result
      }
    }
  }

  private func status(_ meters: inout LiveMeters, elapsed: Duration) -> LiveStatus {
    let progress = recorder.progress()
    let upload = sending?.uploader.progress
    // Segments tell their length when they are committed. Between commits a live source goes on at the clock's pace.
    let committed = Duration.milliseconds(progress.ticks / 90)
    let hasEnded = phase.hasEnded.load(ordering: .relaxed)
    let time = !hasEnded && (isPaced || progress.isLive) && progress.frames > 0 ? max(committed, elapsed) : committed
    return LiveStatus(
      time: time, framesPerSecond: meters.frames.rate(progress.frames, at: time), dropped: progress.dropped,
      refilled: progress.refilled, bitrate: Int64(meters.bytes.rate(progress.bytes, at: time) * 8),
      segments: progress.segments, backlog: upload?.backlogSegments, state: word(upload), hasVideo: hasVideo)
  }

  private func word(_ upload: UploadProgress?) -> String {
    let hasEnded = phase.hasEnded.load(ordering: .relaxed)
    let doing = hasEnded ? "ended" : "recording"
    return switch upload?.state {
    case .unreachable: "\(doing), server unreachable"
    case .paused: "\(doing), server refuses"
    case .retrying: "\(doing), retrying"
    case nil, .idle, .sending: hasEnded && sending != nil ? "ended, sending" : doing
    }
  }

  /// The closing sum.
  private func tell(_ summary: RecordingSummary, _ upload: Result<UploadSummary, UploadError>?) {
    let progress = summary.progress
    var parts = [
      spokenDuration(.milliseconds(progress.ticks / 90)), counted(progress.segments, "segment"),
      byteText(progress.bytes),
    ]
    if hasVideo { parts += ["dropped \(progress.dropped)", "refilled \(progress.refilled)"] }
    if progress.damaged > 0 { parts.append("\(counted(Int(progress.damaged), "packet")) damaged") }
    if progress.lost > 0 { parts.append("lost \(spokenDuration(.milliseconds(progress.lost / 90))) to the disk") }
    if isPushed {
      // Whatever the reason: too slow, away, or never there.
      let sent = spokenDuration(.milliseconds(max(0, progress.ticks - notPushed(progress)) / 90))
      let missing = spokenDuration(.milliseconds(notPushed(progress) / 90))
      let isNothing = progress.pushed == 0 && progress.ticks > 0
      parts.append(
        isNothing
          ? "nothing pushed: the live receiver was never reached"
          : "pushed \(sent), \(missing) not (\(counted(progress.pushOutages, "outage")))")
    }
    var sent = 0
    var left = progress.segments
    if case .success(let result) = upload {
      sent = result.sent
      left = result.remaining + result.refused
      parts += ["sent \(sent)", "in the spool \(left)"]
    }
    log.info(
      "recorded", "recorded \(recording): \(parts.joined(separator: ", "))",
      [
        "recording": .init(recording), "seconds": .number(Double(progress.ticks) / 90_000),
        "segments": .init(progress.segments), "bytes": .init(progress.bytes), "dropped": .init(progress.dropped),
        "refilled": .init(progress.refilled), "damaged": .init(progress.damaged),
        "lost": .number(Double(progress.lost) / 90_000),
        "pushed": .number(Double(progress.pushed) / 90_000), "push-outages": .init(progress.pushOutages),
        "push-missing": .number(isPushed ? Double(notPushed(progress)) / 90_000 : 0),
        "sent": .init(sent),
        "unsent": .init(left),
        "ending": .text("\(summary.ending)"),
      ])
  }

  /// What was recorded and did not go to the live receiver, in ticks.
  private func notPushed(_ progress: RecordingProgress) -> Int64 {
    max(0, progress.ticks - progress.pushed) + progress.pushLost
  }

  private func exitCode(of error: RecordingError) -> ExitCode {
    switch error.kind {
    case .usage: .usage
    case .badInput: .badData
    case .noInput: .noInput
    case .unavailable: .unavailable
    case .storage: error.storage.map { segrec.exitCode(of: $0, reading: false) } ?? .ioError
    case .system: .software
    case .denied: .noInput
    }
  }
}
