package import HLS
import HTTP
package import Platform
import Storage
import Synchronization

/// One of several workers that share a bucket: an object below `.stitch/` that it writes anew every few seconds. Whose
/// object has not been written for longer than a lease lasts, by the store's clock, is taken for dead, and the others
/// look after its recordings. That two look after one for a moment does no harm, since lists are written under a condition.
package final class WorkerLease: Sendable {
  /// How long a worker that says nothing is believed to be there.
  static let lifetime: Int64 = 12_000
  private static let renewal: Duration = .seconds(4)
  /// After so many lifetimes the object of a dead worker is removed.
  private static let forgotten: Int64 = 10
  private static let place = ".stitch/"

  let name: String
  private let store: BucketStore
  private let log: Log
  private let members = Mutex(Membership())
  private let state = Monitor(State())
  private let thread = Monitor<Thread?>(nil)

  private struct State {
    var isStopping = false
    /// Of its own object; nil where there is none.
    var etag: String?
    var count = 0
    /// The store has been seen to refuse what it has to refuse.
    var isTried = false
    /// The others have had time to see this one.
    var isKnown = false
  }

  package init(_ store: BucketStore, log: Log) {
    self.store = store
    self.log = log
    let digits = String(UInt64.random(in: 0 ... .max), radix: 16)
    name = String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }

  /// Whether this worker looks after the recording.
  package func owns(_ recording: RecordingName) -> Bool {
    members.withLock { $0 }.owner(of: recording) == name
  }

  /// Takes the lease and keeps it.
  /// - Parameter onChange: called on the keeper's thread when recordings may have come or gone.
  /// - Throws: when the store cannot do what several workers need; a store that is away is waited for.
  package func start(onChange: @escaping @Sendable () -> Void) throws(StitchError) {
    do throws(StorageError) {
      _ = try round()
    } catch {
      if error.remoteReason != .away { throw .storage(error) }
    }
    do throws(SystemError) {
      let started = try Thread("stitch-lease") { [self] in
        while state.wait(timeout: WorkerLease.renewal, until: { $0.isStopping ? true : nil }) == nil {
          do throws(StorageError) {
            if try round() { onChange() }
          } catch {
            // What concerns the store as a whole it says itself.
            guard error.remoteReason != .away, error.remoteReason != .denied else { continue }
            log.error("lease", "\(error)")
          }
        }
      }
      thread.withLock { $0 = started }
    } catch {
      throw .system(error)
    }
  }

  /// Gives the lease back, so that the others need not wait for its end.
  package func stop() {
    state.withLock { $0.isStopping = true }
    let running = thread.withLock { thread in
      let running = thread
      thread = nil
      return running
    }
    running?.join()
    guard state.withLock({ $0.etag }) != nil else { return }
    do throws(StorageError) {
      _ = try store.access.ask("remove", path) { $0.delete(path) }
    } catch {
      log.warning("lease", "\(error); the others wait until it runs out")
    }
  }

  private var path: String { WorkerLease.place + name }

  /// Renews the lease and looks who else is there.
  /// - Returns: whether the workers have changed.
  func round() throws(StorageError) -> Bool {
    try renew()
    var workers: [String] = []
    var dead: [String] = []
    var seen: [(name: String, modified: Int64)] = []
    _ = try store.access.list(WorkerLease.place, isFlat: true) { page in
      for object in page.objects {
        seen.append((String(object.key.dropFirst(WorkerLease.place.count)), object.modified))
      }
    }
    let now = store.clock
    for (other, modified) in seen where other != name {
      let age = now - modified
      if age <= WorkerLease.lifetime { workers.append(other) }
      if age > WorkerLease.forgotten * WorkerLease.lifetime { dead.append(other) }
    }
    // Who has just come lets the others see it first.
    let isKnown = state.withLock { state in
      defer { state.isKnown = true }
      return state.isKnown
    }
    if isKnown || workers.isEmpty { workers.append(name) }
    for other in dead {
      let path = WorkerLease.place + other
      _ = try store.access.ask("remove", path) { $0.delete(path) }
    }
    let new = Membership(workers)
    let hasChanged = members.withLock { members in
      defer { members = new }
      return members != new
    }
    if hasChanged {
      log.info(
        "workers",
        "\(new.workers.count == 1 ? "1 worker looks" : "\(new.workers.count) workers look") after \(store.root)",
        ["workers": .init(new.workers.count), "lease": .text(name)])
    }
    return hasChanged
  }

  private func renew() throws(StorageError) {
    let (etag, count, isTried) = state.withLock { state in
      state.count += 1
      return (state.etag, state.count, state.isTried)
    }
    // Never the same bytes twice: entity tags may be digests.
    let bytes = Array("\(name) \(count)\n".utf8)
    var answer = try put(bytes, etag.map { .matches($0) } ?? .isAbsent)
    if !answer.isSuccess {
      // Taken for dead and removed, or an answer that was lost: the tag is not known any more.
      log.info("lease", "the lease \(name) is taken anew", ["lease": .text(name)])
      _ = try store.access.ask("remove", path) { $0.delete(path) }
      answer = try put(bytes, .isAbsent)
    }
    guard let new = answer.isSuccess ? answer.etag : nil else { throw unfit("gives no entity tag") }
    state.withLock { $0.etag = new }
    if isTried { return }
    for condition in [S3Client.Condition.isAbsent, .matches("\"0\"")] {
      let answer = try put(bytes, condition)
      if answer.isSuccess { throw unfit("writes where the condition \(condition.header.name) does not hold") }
    }
    state.withLock { $0.isTried = true }
  }

  private func put(_ bytes: [UInt8], _ condition: S3Client.Condition) throws(StorageError) -> TransferOutcome {
    try store.access.ask("write", path) { $0.put(path, bytes, if: condition) }
  }

  private func unfit(_ what: String) -> StorageError {
    .remote(
      RemoteFailure(
        .unusable,
        "\(store.root): the store \(what), so that workers cannot share it; give each recording one worker with --shard "
          + "(0/1 for a single one)"))
  }
}
