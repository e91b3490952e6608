import HLS
import HTTP
import Platform

/// What reaches an uploader's thread from others. Bounded: hints beyond a limit become a wish to look at the disk.
final class UploadInbox: Sendable {
  struct Mail: Sendable {
    var outcomes: [(job: DeliveryPlan.Job, file: UploadFile, outcome: TransferOutcome)] = []
    var comparisons: [(job: DeliveryPlan.Job, isSame: Bool?, answer: String)] = []
    var hints: [EntryPath] = []
    var wantsScan = false
    var networkChanged = false
    var inputFinished = false
    var stop = false

    var isEmpty: Bool {
      outcomes.isEmpty && comparisons.isEmpty && hints.isEmpty && !wantsScan && !networkChanged && !inputFinished
        && !stop
    }
  }

  private static let hintLimit = 1024
  private let mail = Monitor(Mail())

  func put(_ body: (inout Mail) -> Void) { mail.withLock { body(&$0) } }

  func hint(_ path: EntryPath) {
    mail.withLock { mail in
      if mail.hints.count < UploadInbox.hintLimit { mail.hints.append(path) } else { mail.wantsScan = true }
    }
  }

  /// Takes all there is, waiting up to `timeout` for something. `inputFinished` and `stop` stay set.
  func take(timeout: Duration, knows: (inputFinished: Bool, stop: Bool)) -> Mail {
    mail.wait(timeout: timeout) { mail -> Mail? in
      let isNews =
        !mail.outcomes.isEmpty || !mail.comparisons.isEmpty || !mail.hints.isEmpty || mail.wantsScan
        || mail.networkChanged || mail.inputFinished != knows.inputFinished || mail.stop != knows.stop
      guard isNews else { return nil }
      let taken = mail
      mail = Mail()
      mail.inputFinished = taken.inputFinished
      mail.stop = taken.stop
      return taken
    } ?? Mail()
  }
}
