import CCurl
import Platform

/// The engine's thread: takes what others ask, lets curl work, watches for stalls, and reports what ended.
final class TransferLoop {
  private struct Running {
    let transfer: Transfer
    var lastTaken: Int64 = 0
    var lastMove: ContinuousClock.Instant
  }

  /// Between looks at what peers have taken while transfers run.
  private static let watchInterval: Duration = .milliseconds(250)
  /// A wake-up ends it sooner; without transfers there is nothing to look at.
  private static let idleWait: Duration = .seconds(60)

  private let configuration: ClientConfiguration
  private let inbox: TransferInbox
  private var running: [UInt: Running] = [:]
  private var maximumRate: Int64?
  private var nextWatch = ContinuousClock.now

  init(_ configuration: ClientConfiguration, _ inbox: TransferInbox) {
    self.configuration = configuration
    self.inbox = inbox
    maximumRate = configuration.maximumRate
  }

  func run() {
    // OpenSSL writes to sockets without MSG_NOSIGNAL; a lost peer must be an error, not a signal.
    segrec_block_sigpipe()
    while true {
      let (commands, isStopping) = inbox.take()
      for command in commands { perform(command) }
      if isStopping { break }
      inbox.multi.perform()
      finishEnded()
      watchIfDue()
      let wait = running.isEmpty ? TransferLoop.idleWait : TransferLoop.watchInterval
      inbox.multi.wait(milliseconds: Int32(wait.wholeMilliseconds))
    }
    for entry in running.values {
      end(entry.transfer, entry.transfer.ended(.cancelled, "the client was stopped"))
    }
  }

  private func perform(_ command: TransferInbox.Command) {
    switch command {
    case .start(let id, let request, let completion): start(id, request, completion)
    case .cancel(let id):
      if let entry = running.values.first(where: { $0.transfer.id == id }) {
        end(entry.transfer, entry.transfer.ended(.cancelled, "cancelled"))
      }
    case .limitRate(let rate):
      maximumRate = rate
      shareRate()
    case .dropStuck(let quiet):
      let now = ContinuousClock.now
      watch(now: now)
      for entry in running.values where now - entry.lastMove >= quiet {
        end(entry.transfer, entry.transfer.ended(.interrupted, "the network changed"))
      }
    }
  }

  private func start(_ id: TransferID, _ request: Request, _ completion: @escaping TransferEngine.Completion) {
    do throws(ClientError) {
      let transfer = try Transfer(
        id: id, request: request, configuration: configuration, sockets: inbox.multi.sockets, completion: completion)
      add(transfer)
    } catch {
      var outcome = TransferOutcome()
      outcome.failure = .misconfigured
      outcome.detail = Redaction(secrets: request.authorization.secrets).masked("\(error)")
      completion(outcome)
    }
  }

  private func add(_ transfer: Transfer) {
    running[transfer.key] = Running(transfer: transfer, lastMove: .now)
    guard inbox.multi.add(transfer) else {
      end(transfer, transfer.ended(.misconfigured, "libcurl does not take the request"))
      return
    }
    shareRate()
  }

  private func finishEnded() {
    while let (key, result) = inbox.multi.nextEnded() {
      guard let transfer = running[key]?.transfer else { continue }
      let outcome = transfer.outcome(result)
      inbox.multi.remove(transfer)
      if result == CURLE_OK, transfer.follow(outcome) {
        add(transfer)
      } else {
        count(transfer, upTo: outcome.isSuccess ? outcome.bytesSent : 0)
        end(transfer, outcome)
      }
    }
  }

  private func end(_ transfer: Transfer, _ outcome: TransferOutcome) {
    inbox.multi.remove(transfer)
    var outcome = outcome
    outcome.bytesTaken = running.removeValue(forKey: transfer.key)?.lastTaken ?? 0
    shareRate()
    transfer.completion(outcome)
  }

  private func watchIfDue() {
    let now = ContinuousClock.now
    guard now >= nextWatch else { return }
    nextWatch = now + TransferLoop.watchInterval
    watch(now: now)
  }

  private func watch(now: ContinuousClock.Instant) {
    for entry in running.values {
      let verdict = entry.transfer.observe(now: now)
      count(entry.transfer, upTo: entry.transfer.taken)
      guard verdict == .stalled else { continue }
      end(
        entry.transfer,
        entry.transfer.ended(.stalled, "no progress after \(entry.transfer.taken) bytes"))
    }
  }

  /// Adds what a transfer's peer has taken to the engine's sum. A transfer that starts over counts from where it was.
  private func count(_ transfer: Transfer, upTo taken: Int64) {
    let key = transfer.key
    guard let before = running[key]?.lastTaken, taken > before else { return }
    inbox.bytesTaken.add(taken - before, ordering: .relaxed)
    running[key]?.lastTaken = taken
    running[key]?.lastMove = .now
  }

  /// Equal parts of the limit for all that run: one that needs less leaves the rest unused, so the sum never exceeds it.
  private func shareRate() {
    let share = maximumRate.map { max(1, $0 / Int64(max(1, running.count))) } ?? 0
    for entry in running.values { entry.transfer.limitRate(share) }
  }
}
