import HLS
import HTTP
import Platform
import Storage
import Synchronization

/// Receives one uploaded file: bytes go to disk as they come, then a commit thread makes them durable while the
/// connection waits without holding a thread of the server.
final class Upload: BodyReceiver {
  private let entry: EntryPath
  private let length: Int64
  /// The members of Content-Digest; only `sha-256` is looked at (RFC 9530 §2: others may be ignored).
  private let announcedDigests: [String]
  private let commits: CommitQueue
  private var file: IncomingFile?
  private var digest: SHA256Digest?
  private var failure: StorageError?
  private var received: Int64 = 0

  init(
    _ file: consuming IncomingFile, length: Int64, announcedDigests: [String], digest: consuming SHA256Digest?,
    commits: CommitQueue
  ) {
    entry = file.entry
    self.length = length
    self.announcedDigests = announcedDigests
    self.commits = commits
    self.file = consume file
    self.digest = consume digest
  }

  func receive(_ bytes: RawSpan) {
    received += Int64(bytes.byteCount)
    guard failure == nil else { return }
    digest?.update(bytes)
    do throws(StorageError) {
      try file?.append(bytes)
    } catch {
      // The rest is read and dropped, so that the client gets its answer: the library takes none in mid-body.
      failure = error
      file = nil
    }
  }

  func finish() -> Answer {
    if let failure { return .now(commits.answer(toFailure: failure, entry)) }
    guard received == length, let file = file.take() else {
      return .now(.text(400, "the body has \(received) bytes where Content-Length says \(length)"))
    }
    if let digest = digest.take() {
      let actual = contentDigest(sha256: digest.finish())
      guard announcedDigests.allSatisfy({ $0 == actual }) else {
        return .now(.text(400, "the body does not have the announced Content-Digest"))
      }
    }
    let pending = PendingResponse(limit: .seconds(300), otherwise: .text(503, "the disk does not answer"))
    guard commits.put(CommitQueue.Job(file: file, length: length, pending: pending)) else {
      return .now(.text(503, "the server is stopping"))
    }
    return .later(pending)
  }

  func abandon() { file = nil }
}

/// Threads that commit uploads. Syncing waits for the disk, and a journaling file system makes several waiting files
/// durable in one go.
final class CommitQueue: Sendable {
  struct Job: ~Copyable, Sendable {
    let file: IncomingFile
    let length: Int64
    let pending: PendingResponse
  }

  private let queue: HandoffQueue<Job>
  private let threads: Mutex<[Thread]>
  private let log: Log
  private let counters: ServeCounters
  private let onArrival: @Sendable (EntryPath, Int64) -> Void

  /// - Parameter onArrival: called once for each file that is new, after it is durable, before the client hears of it.
  init(
    threads count: Int, capacity: Int, log: Log, counters: ServeCounters,
    onArrival: @escaping @Sendable (EntryPath, Int64) -> Void
  ) throws(SystemError) {
    queue = HandoffQueue(capacity: capacity)
    self.log = log
    self.counters = counters
    self.onArrival = onArrival
    threads = Mutex([])
    for number in 1...max(1, count) {
      let thread = try Thread("commit-\(number)") { [self] in
        while let job = queue.take() { commit(job) }
      }
      threads.withLock { $0.append(thread) }
    }
  }

  /// False when the queue is closed.
  func put(_ job: consuming Job) -> Bool { queue.put(job) }

  /// Commits what has been put and ends the threads.
  func stop() {
    queue.close()
    for thread in threads.withLock({ $0 }) { thread.join() }
  }

  private func commit(_ job: consuming Job) {
    let pending = job.pending
    let entry = job.file.entry
    let length = job.length
    do throws(StorageError) {
      switch try job.consumeFile().commit() {
      case .stored:
        counters.stored(bytes: length)
        onArrival(entry, length)
        pending.fulfil(Response(201))
      case .same:
        counters.repeated()
        pending.fulfil(Response(200))
      case .conflict:
        counters.conflicted()
        log.warning(
          "conflict", "\(entry) came again with other bytes; the first stays", ["entry": .init(entry)])
        pending.fulfil(.text(409, "another file has this name or number"))
      case .closed:
        counters.conflicted()
        log.warning(
          "conflict", "\(entry) came although its run was closed with fewer; it is refused", ["entry": .init(entry)])
        pending.fulfil(.text(409, "its run was closed before this number"))
      }
    } catch {
      pending.fulfil(answer(toFailure: error, entry))
    }
  }

  /// 507 tells an uploader to try again later, as it does after any 5xx, and a person what to do.
  func answer(toFailure error: StorageError, _ entry: EntryPath) -> Response {
    counters.failed()
    log.error("store", "cannot store \(entry): \(error)", ["entry": .init(entry), "error": .init(error)])
    return error.isFull ? .text(507, "the server's disk is full") : .text(500, "the server cannot store this now")
  }
}

extension CommitQueue.Job {
  consuming func consumeFile() -> IncomingFile { file }
}
