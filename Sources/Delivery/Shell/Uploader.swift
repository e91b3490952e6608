package import HLS
package import Platform
package import Storage
import HTTP
import Synchronization

/// Sends what a spool holds, as `Dispatcher` decides. Works on the thread that calls `run`; the spool is listed once, then
/// hints say what is new. A hint that is lost costs time, never data.
package final class Uploader: Sendable {
  package enum Mode: Equatable, Sendable {
    /// Until all is acknowledged, or nothing has moved for the drain timeout.
    case drain
    /// For ever, or until `stop`.
    case follow
    /// Beside a recorder: until `finishInput`, and then until all is acknowledged or the drain timeout has passed.
    case live
  }

  let configuration: UploadConfiguration
  let tree: Tree
  let log: Log
  let inbox = UploadInbox()
  let current = Mutex(UploadProgress())
  let onLadder: @Sendable (Ladder.Level) -> Void
  /// Made with this value, so that what cannot work is told before a recording begins; nil where its keys come over a
  /// network that may not be there yet.
  private let prepared: Mutex<(any DeliveryTarget)?>

  /// - Parameter onLadder: called on the uploader's thread when the ladder moves; only with `configuration.ladder`.
  package init(
    _ configuration: UploadConfiguration, tree: Tree, log: Log,
    onLadder: @escaping @Sendable (Ladder.Level) -> Void = { _ in }
  ) throws(UploadError) {
    try configuration.validate()
    self.configuration = configuration
    self.tree = tree
    self.log = log
    self.onLadder = onLadder
    let isAskedLater = configuration.target.scheme == .s3 && configuration.credentials.aws?.endpoint != nil
    prepared = Mutex(isAskedLater ? nil : try Uploader.makeTarget(configuration))
  }

  /// Sends until the mode's end is reached.
  ///
  /// - Parameter recording: only this one; nil for all of the spool.
  package func run(_ mode: Mode, recording: RecordingName? = nil) throws(UploadError) -> UploadSummary {
    let target: any DeliveryTarget
    if let ready = prepared.withLock({ $0.take() }) {
      target = ready
    } else {
      target = try Uploader.makeTarget(configuration)
    }
    defer { target.stop() }
    let inbox = inbox
    let watcher: NetworkWatcher?
    do throws(SystemError) {
      watcher = try NetworkWatcher { inbox.put { $0.networkChanged = true } }
    } catch {
      // Without it the next attempt comes when the backoff says.
      watcher = nil
      log.warning("network-watch", "\(error); retries wait for their time")
    }
    defer { withExtendedLifetime(watcher) {} }
    return try UploadSession(self, mode, recording, target).run()
  }

  /// A file has been committed to the spool.
  package func hint(_ path: EntryPath) { inbox.hint(path) }

  /// Something may be new in the spool.
  package func wake() { inbox.put { $0.wantsScan = true } }

  /// The recorder has ended, and everything is in the spool.
  package func finishInput() {
    inbox.put { mail in
      mail.inputFinished = true
      mail.wantsScan = true
    }
  }

  /// Ends at once; what is not acknowledged stays in the spool.
  package func stop() { inbox.put { $0.stop = true } }

  package var progress: UploadProgress { current.withLock { $0 } }

  private static func makeTarget(_ configuration: UploadConfiguration) throws(UploadError) -> any DeliveryTarget {
    do throws(ClientError) {
      switch configuration.target.scheme {
      case .http, .https: return try HTTPTarget(configuration)
      case .s3: return try S3Target(configuration)
      case .file: break
      }
    } catch {
      throw .misconfigured("\(error)")
    }
    guard let directory = configuration.target.directory else {
      throw .misconfigured("\(configuration.target) does not name a directory")
    }
    return try DirectoryTarget(root: directory)
  }
}
