package import HLS
import LibAV
package import Platform
package import Storage
import Synchronization

/// Records: reads inputs, encodes or copies, cuts segments and commits them to a tree.
///
/// Threads: one that reads and decodes each input, one that encodes the picture in all its qualities, and one that writes
/// each rendition, the caller's the first. They are connected by bounded queues; files wait for the encoder, live sources
/// lose their oldest frame, counted.
package final class Recorder: Sendable {
  private let configuration: RecordingConfiguration
  private let tree: Tree
  private let log: Log
  private let session: Session
  private let onSegment: @Sendable (EntryPath) -> Void

  /// - Parameters:
  ///   - onSegment: called after each commit (init section, segment, marker), on the recording's threads; must be quick.
  package init(
    configuration: RecordingConfiguration, tree: Tree, log: Log,
    onSegment: @escaping @Sendable (EntryPath) -> Void = { _ in }
  ) {
    self.configuration = configuration
    self.tree = tree
    self.log = log
    self.onSegment = onSegment
    session = Session(configuration, log, outputCapacity: 256)
  }

  /// Ends the recording soon: what has been captured is encoded, committed, and the run closed. May be called from any
  /// thread, and before `run`.
  package func requestStop() { session.stop() }

  /// Makes the encoders spend that many bits per second together from the next frame on, without a new init section, each
  /// its part; nothing happens where pictures are copied or the encoder cannot change. For weak networks.
  package func setVideoBitRate(_ bitsPerSecond: Int64) { session.videoBitRate = bitsPerSecond }

  /// Bits per second that the encoders of the picture make together where nobody says otherwise; nil before they are open,
  /// and where pictures are copied.
  package var fullVideoBitRate: Int64? {
    let rate = session.fullVideoBitRate.load(ordering: .relaxed)
    return rate > 0 ? rate : nil
  }

  /// How many renditions hold the programme's sound; 1 before the input is open.
  package var rungCount: Int { session.rungCount.load(ordering: .relaxed) }

  /// A snapshot for a live line.
  package func progress() -> RecordingProgress { session.meter.value }

  /// Records until the input ends, the duration is reached or a stop is requested. To be called once.
  ///
  /// - Throws: what ended the recording before its time; what was captured until then is committed.
  package func run() throws(RecordingError) -> RecordingSummary {
    try configuration.validate()
    let lock = try spool { () throws(StorageError) in try tree.lock(configuration.recording) }
    try salvage(lock)
    let plan: RecordingPlan
    do throws(RecordingError) {
      plan = try RecordingPlan(session)
    } catch {
      removeNothing(lock)
      if session.wasStopped { return RecordingSummary(progress: session.meter.value, ending: .stopped) }
      throw error
    }
    do throws(RecordingError) {
      return try work(plan, lock)
    } catch {
      if error.segments == 0 { removeNothing() }
      throw error
    }
  }

  /// Finishes what crashed recorders left: of this recording, which goes on, and of all others that nobody is at work on.
  private func salvage(_ lock: borrowing RecordingLock) throws(RecordingError) {
    let now = WallClockTime(milliseconds: WallClock.now())
    tell(try spool { () throws(StorageError) in try tree.recover(lock, closingWith: .next, now: now) }, lock.recording)
    do throws(StorageError) {
      for other in try tree.recordings() where other != configuration.recording {
        // Without a run there is nothing to finish, and the directory may be anybody's.
        guard try !tree.renditionsWithRuns(of: other).isEmpty else { continue }
        guard let lock = try tree.tryLock(other) else { continue }
        tell(try tree.recover(lock, closingWith: .end, now: now), other)
      }
    } catch {
      // Others' leftovers are no reason not to record; `segrec upload` looks at them again.
      log.warning("salvage", error.description)
    }
  }

  /// Nothing has been recorded, so nothing of it stays; what lay there before does.
  private func removeNothing() {
    do throws(StorageError) {
      if let lock = try tree.tryLock(configuration.recording) { removeNothing(lock) }
    } catch {
      log.warning("spool", error.description)
    }
  }

  private func removeNothing(_ lock: consuming RecordingLock) {
    do throws(StorageError) {
      try tree.pruneEmpty(lock)
    } catch {
      log.warning("spool", error.description)
    }
  }

  private func tell(_ report: RecoveryReport, _ recording: RecordingName) {
    for problem in report.problems { log.warning("salvage", problem.description, ["recording": .text(recording.text)]) }
    for entry in report.salvaged {
      log.info("salvage", "salvaged \(entry.entry) of \(recording)", ["recording": .text(recording.text)])
    }
    for entry in report.salvaged + report.closed { onSegment(entry) }
  }

  private func work(_ plan: RecordingPlan, _ lock: consuming RecordingLock) throws(RecordingError) -> RecordingSummary {
    let lock = SharedLock(lock)
    var writers = plan.renditions(session).map { rendition in
      SegmentThread(
        rendition.name, of: rendition.items, tracks: rendition.tracks, session: session, tree: tree, lock: lock,
        onCommit: onSegment)
    }
    // The programme's own is written here.
    let writer = writers.removeFirst()
    var threads: [Thread] = []
    var encoding: Thread?
    do throws(SystemError) {
      if let push = session.push { threads.append(try Thread("push", stackSize: 1 << 20) { push.work() }) }
      if let tap = plan.tap { threads.append(try Thread("tap") { tap.work() }) }
      if let encoder = plan.encoder {
        encoding = try Thread("encode", stackSize: 1 << 20) { encoder.work() }
      }
      if let microphone = plan.microphone {
        threads.append(try Thread("microphone", stackSize: 1 << 20) { microphone.work() })
      }
      for writer in writers { threads.append(try Thread("write", stackSize: 1 << 20) { writer.work() }) }
      for reader in plan.readers {
        threads.append(try Thread("read", stackSize: 1 << 20) { reader.work() })
      }
    } catch {
      let failure = RecordingError(.system, error.description)
      session.fail(failure)
      for output in session.outputs { output.discard() }
      end(plan, threads, encoding)
      throw failure
    }
    writer.work()
    end(plan, threads, encoding)
    if session.needsRecovery.load(ordering: .relaxed) { closeAfterOutage(lock) }
    let progress = session.meter.value
    if var failure = session.failure {
      failure.segments = progress.segments
      throw failure
    }
    let ending: RecordingSummary.Ending =
      session.wasStopped ? .stopped : plan.readers.contains(where: \.hasReachedLimit) ? .durationReached : .inputEnded
    if ending == .inputEnded, progress.segments == 0, progress.lost == 0, let name = plan.readers.first?.name {
      throw RecordingError(.badInput, "\(name) has ended, and nothing in it could be decoded")
    }
    return RecordingSummary(progress: progress, ending: ending)
  }

  /// The spool was full at times: the last run may say that another follows, and some may be open.
  private func closeAfterOutage(_ lock: SharedLock) {
    do throws(StorageError) {
      let now = WallClockTime(milliseconds: WallClock.now())
      tell(try tree.recover(lock.value, closingWith: .end, now: now), configuration.recording)
    } catch {
      log.warning("run", "the recording stays open: \(error)")
    }
  }

  /// Waits for all threads, once the programme has been written.
  private func end(_ plan: RecordingPlan, _ threads: [Thread], _ encoding: Thread?) {
    session.finish()
    if session.failure != nil { plan.encoder?.frames.discard() }
    plan.microphone?.stop()
    plan.tap?.close()
    session.push?.end()
    for thread in threads { thread.join() }
    // One that is stuck in an encoder stays there until the process ends.
    if session.stuckEncoder == nil { encoding?.join() }
  }
}
