import HLS
import HTTP
import Platform
import Storage
import Synchronization

/// A directory (`file:///dir`): a mounted disk or share. Files take their place there by the same steps as in a spool.
final class DirectoryTarget: DeliveryTarget {
  private struct Job: Sendable {
    let path: EntryPath
    let file: UploadFile
    let completion: @Sendable (TransferOutcome) -> Void
  }

  /// More than can be on their way at a time, so that putting never waits.
  private static let capacity = 64

  let name: String
  private let jobs: HandoffQueue<Job>
  private let writer: DirectoryWriter
  private let thread: Platform.Thread

  /// The directory itself must be there: where it is the place of a disk that is not mounted, making it would fill the
  /// disk below.
  init(root: String) throws(UploadError) {
    name = "file://\(root)"
    let jobs = HandoffQueue<Job>(capacity: DirectoryTarget.capacity)
    do throws(StorageError) {
      let writer = DirectoryWriter(try Tree(root: root, create: false))
      self.writer = writer
      self.jobs = jobs
      do throws(SystemError) {
        thread = try Platform.Thread("copy") {
          while let job = jobs.take() { job.completion(writer.write(job.path, job.file)) }
        }
      } catch {
        throw StorageError.system(error)
      }
    } catch {
      throw DirectoryTarget.unusable(root, error)
    }
  }

  private static func unusable(_ root: String, _ error: StorageError) -> UploadError {
    .target(
      error.isMissing
        ? "there is no directory \(root); if a disk belongs there, mount it, else make it: mkdir -p \(root)"
        : "\(error)")
  }

  var bytesTaken: Int64 { writer.taken.load(ordering: .relaxed) }

  func send(
    _ path: EntryPath, _ file: UploadFile, attempt: Int, answerLimit: Duration,
    completion: @escaping @Sendable (TransferOutcome) -> Void
  ) {
    if !jobs.put(Job(path: path, file: file, completion: completion)) {
      var outcome = TransferOutcome()
      outcome.failure = .cancelled
      completion(outcome)
    }
  }

  func compare(_ path: EntryPath, _ file: UploadFile, completion: @escaping @Sendable (Bool?) -> Void) {
    completion(false)
  }

  func refreshCredentials() -> Bool { false }
  func networkChanged() {}

  func stop() {
    jobs.close()
    thread.join()
  }
}

/// Writes into the target's tree. What a server would say stands in the outcome as an HTTP status, so that one policy
/// judges all targets.
private final class DirectoryWriter: Sendable {
  let taken = Atomic<Int64>(0)
  private let tree: Tree
  private static let blockSize = 1 << 18

  init(_ tree: Tree) {
    self.tree = tree
  }

  func write(_ path: EntryPath, _ file: UploadFile) -> TransferOutcome {
    let start = ContinuousClock.now
    let before = taken.load(ordering: .relaxed)
    var outcome = TransferOutcome()
    do throws(StorageError) {
      switch try copy(path, file) {
      case .stored: outcome.status = 201
      case .same: outcome.status = 200
      case .conflict:
        outcome.status = 409
        outcome.detail = "there is another file of that name or number"
      case .closed:
        outcome.status = 409
        outcome.detail = "its run was closed there before this number"
      case nil:
        outcome.failure = .unreadableBody
        outcome.detail = "\(file.name) cannot be read whole"
      }
    } catch {
      outcome.detail = "\(error)"
      if error.isFull {
        outcome.status = 507
      } else {
        outcome.failure = .unreachable
      }
    }
    outcome.bytesSent = file.length
    outcome.bytesTaken = taken.load(ordering: .relaxed) - before
    outcome.elapsed = .now - start
    return outcome
  }

  /// Nil when the source cannot be read to its end.
  private func copy(_ path: EntryPath, _ file: UploadFile) throws(StorageError) -> IncomingFile.Outcome? {
    var incoming = try tree.receive(path)
    var block = [UInt8](repeating: 0, count: DirectoryWriter.blockSize)
    while incoming.length < file.length {
      let count: Int
      do throws(SystemError) {
        var span = block.mutableSpan
        var bytes = unsafe span.mutableBytes
        count = try file.read(into: &bytes, at: incoming.length)
      } catch {
        return nil
      }
      if count == 0 { return nil }
      try unsafe incoming.append(block.span.extracting(first: count).bytes)
      taken.add(Int64(count), ordering: .relaxed)
    }
    return try incoming.commit()
  }
}
