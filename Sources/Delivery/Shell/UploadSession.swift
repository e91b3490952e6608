import HLS
import HTTP
import Platform
import Storage

/// One run of an uploader, on one thread: performs what the dispatcher decides.
final class UploadSession {
  private typealias Instant = ContinuousClock.Instant

  private let uploader: Uploader
  private let mode: Uploader.Mode
  private let target: any DeliveryTarget
  private let files: SpoolFiles
  private var dispatcher: Dispatcher
  private var summary = UploadSummary()
  private var retries = 0
  private var teller: UploadTeller
  private var goodput = Goodput()
  private var ladder: Ladder?
  private var inputFinished = false
  private var isStopped = false
  private var lastProgress: Instant
  /// Bytes taken less those of attempts that failed, and the most that was ever: sending the same again is no progress.
  private var wasted: Int64 = 0
  private var mostUseful: Int64 = 0
  private var nextTick: Instant
  private var nextCredentialLook: Instant

  /// Between looks at goodput, ladder and progress.
  private static let tick: Duration = .milliseconds(500)
  /// Between looks at credentials while the server refuses them.
  private static let credentialInterval: Duration = .seconds(2)

  init(_ uploader: Uploader, _ mode: Uploader.Mode, _ recording: RecordingName?, _ target: any DeliveryTarget) {
    self.uploader = uploader
    self.mode = mode
    self.target = target
    let configuration = uploader.configuration
    dispatcher = Dispatcher(
      plan: DeliveryPlan(catchUp: configuration.catchUp), parallel: configuration.parallel, policy: configuration.policy
    )
    files = SpoolFiles(uploader.tree, uploader.log, mode, recording, newestFirst: configuration.catchUp == .newest)
    teller = UploadTeller(uploader.log, target: target.name)
    let now = ContinuousClock.now
    (lastProgress, nextTick, nextCredentialLook) = (now, now, now)
  }

  func run() throws(UploadError) -> UploadSummary {
    do throws(StorageError) {
      if uploader.configuration.retryRefused { try files.restoreRefused() }
      try files.scan(&dispatcher.plan, now: .now)
    } catch {
      throw .spool(error)
    }
    var wake: Instant? = .now
    while true {
      let now = ContinuousClock.now
      let timeout = max(.zero, min(wake ?? nextTick, nextTick) - now)
      read(uploader.inbox.take(timeout: timeout, knows: (inputFinished, isStopped)))
      if isStopped { break }
      scanIfDue()
      wake = start()
      tickIfDue()
      if isDone(now: .now) { break }
    }
    tickLast()
    return finish()
  }

  // MARK: What came in

  private func read(_ mail: UploadInbox.Mail) {
    isStopped = isStopped || mail.stop
    if mail.inputFinished, !inputFinished {
      inputFinished = true
      lastProgress = .now
    }
    for path in mail.hints where !dispatcher.plan.arrived(path) { files.wantsScan = true }
    if mail.wantsScan { files.wantsScan = true }
    for (job, file, outcome) in mail.outcomes { ended(job, file, outcome) }
    for (job, isSame, answer) in mail.comparisons {
      let reaction = dispatcher.compared(job, isSame: isSame, jitter: .random(in: 0..<1), now: .now)
      var outcome = TransferOutcome()
      // What was answered is the reason, should the file be refused.
      if isSame == false { outcome.detail = answer }
      perform(reaction, job, outcome, bytes: 0)
    }
    if mail.networkChanged, dispatcher.gate.health != .good || dispatcher.running > 0 {
      // What is on its way may be on a way that is gone; what waits may go now.
      target.networkChanged()
      if dispatcher.gate.health != .good { dispatcher.retryNow() }
    }
  }

  private func ended(_ job: DeliveryPlan.Job, _ file: UploadFile, _ outcome: TransferOutcome) {
    if !outcome.isSuccess { wasted += outcome.bytesTaken }
    let reaction = dispatcher.ended(job, outcome, jitter: .random(in: 0..<1), now: .now)
    perform(reaction, job, outcome, bytes: file.length)
    guard reaction == .compare else { return }
    let inbox = uploader.inbox
    target.compare(job.path, file) { isSame in
      inbox.put { $0.comparisons.append((job, isSame, outcome.detail)) }
    }
  }

  private func perform(
    _ reaction: Dispatcher.Reaction, _ job: DeliveryPlan.Job, _ outcome: TransferOutcome, bytes: Int64
  ) {
    switch reaction {
    case .delivered(let isRecovery):
      if mode != .live { lastProgress = .now }
      summary.refusal = nil
      summary.lastProblem = nil
      if case .segment = job.path.entry {
        summary.sent += 1
        summary.sentBytes += bytes
      }
      files.acknowledged(job.path)
      teller.delivered(job, bytes: bytes, outcome.elapsed, isRecovery: isRecovery, dispatcher.plan.backlog)
    case .compare: break
    case .retry(let delay):
      retries += 1
      summary.lastProblem = outcome.detail
      teller.retries(job, outcome, after: delay, gate: dispatcher.gate.health, now: .now)
    case .paused(let isNews):
      summary.lastProblem = outcome.detail
      summary.refusal = outcome.detail
      summary.refusesCredentials = outcome.status.map { [401, 403, 407].contains($0) } ?? false
      if isNews { teller.pauses(outcome) }
      if target.refreshCredentials() { dispatcher.retryNow() }
    case .setAside:
      if mode != .live { lastProgress = .now }
      summary.refusal = nil
      summary.lastProblem = outcome.detail
      files.setAside(job.path)
      teller.refuses(job, outcome)
    }
  }

  // MARK: What goes out

  /// Starts what may start. Returns when to look again.
  private func start() -> Instant? {
    while true {
      switch dispatcher.step(now: .now) {
      case .wait(let until): return until
      case .send(let job): send(job)
      }
    }
  }

  private func send(_ job: DeliveryPlan.Job) {
    let file: UploadFile
    do throws(StorageError) {
      let open = try uploader.tree.openForReading(job.path)
      do throws(ClientError) {
        file = try UploadFile(open, name: uploader.tree.path(of: job.path))
      } catch {
        unreadable(job, "\(error)")
        return
      }
    } catch {
      if error.isMissing { dispatcher.vanished(job) } else { unreadable(job, "\(error)") }
      return
    }
    let inbox = uploader.inbox
    target.send(
      job.path, file, attempt: job.attempt - 1,
      answerLimit: uploader.configuration.policy.answerLimit(attempt: job.attempt - 1)
    ) { outcome in inbox.put { $0.outcomes.append((job, file, outcome)) } }
  }

  private func unreadable(_ job: DeliveryPlan.Job, _ detail: String) {
    var outcome = TransferOutcome()
    outcome.failure = .unreadableBody
    outcome.detail = detail
    let reaction = dispatcher.ended(job, outcome, jitter: .random(in: 0..<1), now: .now)
    perform(reaction, job, outcome, bytes: 0)
  }

  private func scanIfDue() {
    let now = ContinuousClock.now
    guard files.isScanDue(dispatcher.plan, now: now) else { return }
    do throws(StorageError) {
      try files.scan(&dispatcher.plan, now: now)
    } catch {
      // The disk may come back; what is known already goes on being sent.
      teller.cannotScan(error, now: now)
    }
  }

  // MARK: Measuring

  private func tickIfDue() {
    let now = ContinuousClock.now
    guard now >= nextTick else { return }
    nextTick = now + UploadSession.tick
    measure(now)
    if dispatcher.gate.health == .paused, now >= nextCredentialLook {
      nextCredentialLook = now + UploadSession.credentialInterval
      if target.refreshCredentials() { dispatcher.retryNow() }
    }
  }

  private func tickLast() { measure(.now) }

  private func measure(_ now: Instant) {
    let taken = target.bytesTaken
    if taken - wasted > mostUseful {
      mostUseful = taken - wasted
      if mode != .live { lastProgress = now }
    }
    goodput.observe(taken: taken, isBusy: dispatcher.running > 0, now: now)
    let backlog = dispatcher.plan.backlog
    let measurement = Ladder.Measurement(
      goodput: goodput.bitsPerSecond, backlog: backlog.seconds,
      isUnreachable: dispatcher.gate.health == .unreachable || dispatcher.gate.health == .paused)
    ladder = ladder ?? uploader.configuration.ladder?.ladder()
    if let level = ladder?.observe(measurement, now: now) {
      teller.ladder(level, measurement)
      uploader.onLadder(level)
    }
    let progress = progress(backlog)
    uploader.current.withLock { $0 = progress }
  }

  private func progress(_ backlog: DeliveryPlan.Backlog) -> UploadProgress {
    var progress = UploadProgress()
    progress.state =
      switch dispatcher.gate.health {
      case .paused: .paused
      case .unreachable: .unreachable
      case .failing: .retrying
      case .good: dispatcher.running > 0 ? .sending : .idle
      }
    progress.sent = summary.sent
    progress.sentBytes = summary.sentBytes
    progress.backlogSegments = backlog.segments
    progress.backlogSeconds = backlog.seconds
    progress.backlogBytes = files.bytes(ofTicks: backlog.ticks, sentBytes: summary.sentBytes)
    progress.refused = backlog.refused
    progress.retries = retries
    progress.goodput = goodput.bitsPerSecond
    progress.ladder = ladder?.level
    return progress
  }

  // MARK: The end

  private func isDone(now: Instant) -> Bool {
    switch mode {
    case .follow: return false
    case .live: if !inputFinished { return false }
    case .drain: break
    }
    if dispatcher.running == 0, dispatcher.plan.isDrained, !files.wantsScan, !files.waitsForOthers { return true }
    return now - lastProgress >= uploader.configuration.drainTimeout
  }

  private func finish() -> UploadSummary {
    let backlog = dispatcher.plan.backlog
    summary.remaining = backlog.segments + files.waitingForOthers
    summary.remainingOthers = backlog.others
    summary.refused = backlog.refused
    summary.refusedRuns = backlog.refusedRuns
    return summary
  }
}
