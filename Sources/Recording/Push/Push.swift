import Glibc
import LibAV
import Platform
import Synchronization

/// Sends what is recorded to a live receiver (RTMP) as well. A thread of its own does the sending: a receiver that is slow
/// loses media up to the next key frame, one that is gone is called again with back-off, and neither holds up the
/// recording or costs it anything.
// Sendable: all that changes is behind locks or atomic.
final class Push: Sendable {
  /// About three seconds of picture and sound.
  private static let capacity = 256
  private static let byteCapacity = 3 << 20
  /// For connecting, and for the receiver to take one packet.
  private static let timeout: Duration = .seconds(10)
  /// Receivers that want nothing of this publisher hang up sooner; before, it is not told that anything is sent.
  private static let welcome = Duration.seconds(2)
  /// For what is still queued when the recording has ended.
  private static let grace: Duration = .seconds(2)

  private let url: String
  /// The address without its stream key.
  let name: String
  private let log: Log
  private let meter: Meter
  private let items = HandoffQueue<Item>(capacity: Push.capacity * 2)
  private let queuedBytes = Atomic<Int>(0)
  private let feed = Mutex(Feed())
  private let control = Monitor(Control())
  private let interruption = Interruption()

  private struct Item: ~Copyable, Sendable {
    let run: Int
    let track: Int
    let packet: Packet
  }
  private struct Feed {
    /// The run that is being queued, for a receiver that is there or being called for the first time.
    var run: Int?
    var isDown = false
    var gate = PushGate(capacity: Push.capacity, byteCapacity: Push.byteCapacity)
  }
  private struct Control {
    var run: Int?
    var tracks: [FragmentTrack] = []
    var isClosing = false
    var hasEnded = false
  }

  init(url: String, log: Log, meter: Meter) {
    self.url = url
    self.log = log
    self.meter = meter
    name = Push.name(of: url)
  }

  /// `rtmp://host/app/…`: the last part of the path is the key with which anybody could publish.
  static func name(of url: String) -> String {
    let shown = InputName(url: url).description
    guard let end = shown.lastIndex(of: "/"), shown[..<end].split(separator: "/").count > 2 else { return shown }
    return shown[...end] + "…"
  }

  /// Why the tracks cannot be sent; nil when they can.
  static func refusal(of tracks: [FragmentTrack]) -> String? {
    for codec in tracks.map(\.parameters.codec) where codec != .h264 && codec != .aac {
      return "\(codec) cannot be sent over RTMP; it takes H.264 and AAC"
    }
    return nil
  }

  // MARK: The thread that records

  /// What is offered from now on belongs to another run.
  func begin(run: Int, tracks: [FragmentTrack]) {
    control.withLock {
      $0.run = run
      $0.tracks = tracks
    }
    feed.withLock { if !$0.isDown { $0 = Feed(run: run) } }
  }

  /// Sends the packet as well, where the receiver keeps up. Never waits.
  func offer(_ packet: borrowing Packet, run: Int, track: Int, canStart: Bool) {
    let time = packet.timeBase.convert(packet.dts ?? 0, to: .ticks)
    let decision = feed.withLock { feed -> PushGate.Decision in
      guard feed.run == run else { return .drop }
      return feed.gate.admit(
        at: time, canStart: canStart, queued: items.count, bytes: queuedBytes.load(ordering: .relaxed))
    }
    if case .passAfter(let gap) = decision {
      meter.add { $0.pushLost += gap }
      log.warning(
        "push-dropped", "\(name) is too slow: \(gap / 90) ms were not sent",
        ["push": .text(name), "ticks": .integer(gap)])
    }
    guard decision != .drop else { return }
    // Without memory for it, the packet is lost to the receiver, and the recording finds out by itself.
    do throws(AVError) {
      let copy = try packet.shared()
      queuedBytes.add(copy.byteCount, ordering: .relaxed)
      _ = items.putDroppingOldest(Item(run: run, track: track, packet: copy))
    } catch {}
  }

  /// The recording is over. Waits a moment for what is queued to be sent.
  func end() {
    control.withLock { $0.isClosing = true }
    items.close()
    // Nothing is queued for a receiver that is not there.
    if feed.withLock(\.isDown) { return interruption.stop() }
    if control.wait(timeout: Push.grace, until: { $0.hasEnded ? true : nil }) == nil { interruption.stop() }
  }

  // MARK: The thread that sends

  func work() {
    defer { control.withLock { $0.hasEnded = true } }
    var backoff = Backoff()
    var first: Item?
    // An outage is told once, not with each attempt.
    var hasTold = false
    while let (run, tracks) = next(hasMore: first != nil) {
      if let refusal = Push.refusal(of: tracks) {
        log.warning("push-down", "nothing is sent to \(name): \(refusal)", ["push": .text(name)])
        return
      }
      let began = ContinuousClock.now
      var isWelcome = false
      do throws(AVError) {
        var muxer = try OutputMuxer(
          format: "flv", url: url, tracks: tracks,
          options: [MediaOption("flvflags", "no_duration_filesize"), MediaOption("flush_packets", "1")],
          called: name, interruption: interruption, timeout: Push.timeout)
        feed.withLock { if $0.isDown || $0.run ?? run < run { $0 = Feed(run: run) } }
        first = try send(run, from: first.take(), to: &muxer) {
          guard !isWelcome, ContinuousClock.now - began > Push.welcome else { return }
          isWelcome = true
          hasTold = false
          log.info("push-up", "sending to \(name)", ["push": .text(name)])
        }
        try muxer.finish()
      } catch {
        if interruption.isStopped { return }
        close()
        let lasted = ContinuousClock.now - began
        let wait = backoff.wait(afterLasting: isWelcome ? lasted : .zero, jitter: Double.random(in: 0..<1))
        if isWelcome { meter.add { $0.pushOutages += 1 } }
        if !hasTold {
          // The protocol tells libav why, which does not listen.
          let isRefused = !isWelcome && lasted < Push.welcome && error.systemCode != ECONNREFUSED
          log.warning(
            "push-down",
            "\(error)\(isRefused ? " at once, as where the stream key is refused" : ""); the recording goes on, and sending is tried again",
            ["push": .text(name)])
        }
        hasTold = true
        _ = control.wait(timeout: wait) { $0.isClosing ? true : nil }
      }
    }
  }

  /// The run to send, once there is one; nil when the recording is over and nothing is left of it.
  private func next(hasMore: Bool) -> (run: Int, tracks: [FragmentTrack])? {
    let wanted = control.wait { control -> (Int, [FragmentTrack])?? in
      if control.isClosing && !hasMore && items.count == 0 { return .some(nil) }
      return control.run.map { ($0, control.tracks) }
    }
    return wanted ?? nil
  }

  /// Queues nothing more.
  private func close() {
    feed.withLock { $0 = Feed(isDown: true) }
    while let item = items.takeAtOnce() { queuedBytes.subtract(item.packet.byteCount, ordering: .relaxed) }
  }

  /// Sends what belongs to `run`, its times from 0, until the run or the recording is over.
  ///
  /// - Parameters:
  ///   - first: what was taken from the queue before.
  ///   - onSent: called after each packet.
  /// - Returns: what was taken and belongs to a later run.
  private func send(
    _ run: Int, from first: consuming Item?, to muxer: inout OutputMuxer, onSent: () -> Void
  ) throws(AVError) -> Item? {
    let before = meter.value.pushed
    var first = first
    var start: Int64?
    var packet = try Packet()
    while true {
      var next = first.take()
      if next == nil {
        let taken = items.take(timeout: .milliseconds(250))
        switch consume taken {
        case .closed: return nil
        case .timedOut:
          if control.withLock({ $0.run != run }) { return nil }
          continue
        case .element(let item): next = consume item
        }
      }
      if let item = next.take() {
        if item.run > run { return consume item }
        queuedBytes.subtract(item.packet.byteCount, ordering: .relaxed)
        let track = item.track
        if item.run < run { continue }
        try packet.share(item.packet)
        guard let dts = packet.dts, let pts = packet.pts else { continue }
        let begin = start ?? packet.timeBase.convert(dts, to: .ticks)
        start = begin
        let shift = RationalTime.ticks.convert(begin, to: packet.timeBase)
        // Sound from before the first picture.
        if dts < shift { continue }
        packet.dts = dts - shift
        packet.pts = pts - shift
        let sent = packet.timeBase.convert(dts + packet.duration, to: .ticks) - begin
        try muxer.write(&packet, track: track)
        meter.add { $0.pushed = max($0.pushed, before + sent) }
        onSent()
      }
    }
  }
}
