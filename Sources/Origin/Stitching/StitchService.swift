package import HLS
package import Platform
import Storage

/// A live playlist that changed.
package struct StitchUpdate: Equatable, Sendable {
  package let recording: RecordingName
  package let rendition: RenditionName
  /// The media sequence number that comes next: one more than the last entry's.
  package let nextSequence: Int
  /// Whether the recording has ended for now.
  package let isEnded: Bool
}

/// Keeps the playlists of all recordings of a tree or bucket current for as long as it runs. Files are made known by `hint`; what
/// nobody made known is found by looking at the directories now and then.
package final class StitchService: Sendable {
  private let store: any StitchStore
  private let configuration: StitchConfiguration
  private let log: Log
  private let queues: [HandoffQueue<StitchWorker.Notice>]
  private let wholeLists = WholeListQueue()
  private let isOurs: @Sendable (RecordingName) -> Bool
  private let onUpdate: @Sendable (StitchUpdate) -> Void
  private let threads = Monitor<[Thread]>([])
  private let lock = Monitor<StitchLock?>(nil)

  /// Notices a worker has not got to yet. A notice is about 100 bytes.
  private static let queueCapacity = 16_384

  /// - Parameters:
  ///   - onUpdate: called after a live playlist has been written, on one of the service's threads; must not wait.
  ///   - isOurs: whether this process looks after a recording of its shard; may change, and `lookAgain` makes that known.
  package init(
    _ store: any StitchStore, _ configuration: StitchConfiguration, log: Log,
    onUpdate: @escaping @Sendable (StitchUpdate) -> Void = { _ in },
    isOurs: @escaping @Sendable (RecordingName) -> Bool = { _ in true }
  ) {
    self.store = store
    self.configuration = configuration
    self.log = log
    self.isOurs = isOurs
    self.onUpdate = onUpdate
    queues = (0..<max(1, configuration.threads)).map { _ in HandoffQueue(capacity: StitchService.queueCapacity) }
  }

  /// - Throws: when another process keeps the playlists of this root current, or a thread cannot be started.
  package func start() throws(StitchError) {
    if let tree = store.directory {
      var handed: StitchLock? = try StitchLock(tree, configuration.shard)
      lock.withLock { $0 = handed.take() }
    }
    for (index, queue) in queues.enumerated() {
      try start("stitch-\(index)") { [self] in
        var worker = StitchWorker(
          store, configuration, log, owns: { [self] recording in owner(of: recording) == index },
          writeWhole: { [wholeLists] recording in wholeLists.put(recording) }, onUpdate: onUpdate)
        worker.run(queue)
      }
    }
    try start("stitch-vod") { [self] in writeWholeLists() }
  }

  /// Makes known that a file of the tree is complete. Never waits.
  package func hint(_ path: EntryPath) {
    guard let index = owner(of: path.key.recording) else { return }
    // Full: the worker looks at everything once it gets there.
    if queues[index].putDroppingOldest(.file(path)) == 1 { _ = queues[index].putDroppingOldest(.lookAgain) }
  }

  /// Has all directories looked at soon: notices may have been lost.
  package func lookAgain() {
    for queue in queues { _ = queue.putDroppingOldest(.lookAgain) }
  }

  /// Works off what was made known, then returns.
  package func stop() {
    for queue in queues { queue.close() }
    let running = threads.withLock { threads in
      let running = threads
      threads = []
      return running
    }
    for thread in running.dropLast() { thread.join() }
    wholeLists.close()
    running.last?.join()
    lock.withLock { $0 = nil }
  }

  private func start(_ name: String, _ body: @escaping @Sendable () -> Void) throws(StitchError) {
    do throws(SystemError) {
      let thread = try Thread(name) { body() }
      threads.withLock { $0.append(thread) }
    } catch {
      throw .system(error)
    }
  }

  /// Nil where another process looks after the recording.
  private func owner(of recording: RecordingName) -> Int? {
    let shard = configuration.shard
    guard shard.contains(recording), isOurs(recording) else { return nil }
    return Int(stableHash(recording.text) / UInt64(max(1, shard.count)) % UInt64(queues.count))
  }

  private func writeWholeLists() {
    while let recording = wholeLists.take() {
      do throws(StorageError) {
        guard let whole = try WholeRecording.write(store, recording) else { continue }
        log.info(
          "vod",
          "\(recording) is complete: \(whole.segments) segments"
            + (whole.gaps > 0 ? ", \(whole.gaps) missing" : ""),
          [
            "recording": .init(recording), "segments": .init(whole.segments), "gaps": .init(whole.gaps),
            "ticks": .integer(whole.ticks),
          ])
      } catch {
        // The next look finds the recording unsettled and asks again; a store that is away says so itself.
        if error.isMissing || error.remoteReason.map({ $0 != .unusable }) == true { continue }
        log.error(
          "stitch", "cannot write \(recording)/\(WholeRecording.name): \(error)", ["recording": .init(recording)])
      }
    }
  }
}

/// Ended recordings whose whole list is to be written. One that is in it already is not put in again: a flood of late
/// segments must not have the list written once for each.
private final class WholeListQueue: Sendable {
  private let state = Monitor(State())

  private struct State: Sendable {
    var order: [RecordingName] = []
    var waiting: Set<RecordingName> = []
    var isClosed = false
  }

  func put(_ recording: RecordingName) {
    state.withLock { state in
      if state.waiting.insert(recording).inserted { state.order.append(recording) }
    }
  }

  /// Waits for a recording; nil when the queue is closed and empty.
  func take() -> RecordingName? {
    state.wait { state -> RecordingName?? in
      guard let first = state.order.first else { return state.isClosed ? .some(nil) : nil }
      state.order.removeFirst()
      state.waiting.remove(first)
      return first
    } ?? nil
  }

  func close() {
    state.withLock { $0.isClosed = true }
  }
}
