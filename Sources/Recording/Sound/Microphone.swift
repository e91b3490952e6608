import HLS
import LibAV
import Platform
import Synchronization

/// The thread that reads a second source of sound, to be mixed into the programme's or kept beside it. It never ends a
/// recording: where it fails, there is silence until it is back.
// Sendable: `work` runs on one thread and has the fields to itself; what others ask for is in `store` and constant.
final class Microphone: @unchecked Sendable, SoundSink {
  /// How long others wait for sound that has been captured but not read, in samples: a second, and longer for a
  /// microphone that delivers late.
  private let patience = Atomic(StudioSound.rate)
  private static let mostPatience = 3 * StudioSound.rate
  /// Sound kept for those who are late.
  private static let capacity = 4 * Int(StudioSound.rate)

  private let session: Session
  private let request: InputRequest
  private let interruption: Interruption
  private let gain: Float
  private let isLive: Bool
  private let name: InputName
  private let store: SampleStore
  private var input: MediaInput?
  private var stream: StreamInfo
  private let source: SoundSource
  /// Place of the source's origin in the store.
  private var origin: Int64 = 0

  init(_ request: InputRequest, interruption: Interruption, session: Session) throws(RecordingError) {
    var input = try media { () throws(AVError) in try MediaInput(request, interruption: interruption) }
    guard let stream = input.bestAudio else { throw RecordingError(.badInput, "--mic \(input.name) has no sound") }
    source = try SoundSource(stream: stream, meter: session.meter)
    self.session = session
    self.request = request
    self.interruption = interruption
    self.stream = stream
    name = input.name
    isLive = input.isLive
    gain = amplitude(decibels: session.configuration.microphoneGain)
    store = SampleStore(capacity: Self.capacity, waits: !input.isLive)
    input.select([stream.index])
    self.input = consume input
  }

  // MARK: For those who record it

  /// Whether a sample that lies so far behind the newest one of a track is waited for no longer.
  func isLate(_ place: Int64, _ newest: Int64) -> Bool { newest - place > patience.load(ordering: .relaxed) }

  /// Adds the sound that belongs to the time of `frame`, whose `pts` counts samples since the run's origin.
  ///
  /// - Returns: false when it is not there yet and may still come, and `isLate` is false.
  func lay(over frame: inout Frame, run: Int, isLate: Bool) throws(RecordingError) -> Bool {
    let place = session.place(of: run, byClock: isLive) + (frame.pts ?? 0)
    guard let sound = store.take(frame.sampleCount, at: max(0, place), isLate: isLate) else { return false }
    try media { () throws(AVError) in
      try frame.add(sound.left, times: gain, toChannel: 0)
      try frame.add(sound.right, times: gain, toChannel: 1)
    }
    return true
  }

  /// Ends `work`. May be called from any thread.
  func stop() {
    interruption.stop()
    store.close()
  }

  // MARK: The thread

  func work() {
    var backoff = Backoff()
    while !session.isStopping {
      let began = ContinuousClock.now
      var reason = "\(name) has ended"
      do throws(RecordingError) {
        try read()
      } catch {
        reason = error.message
        if !isLive { tell(reason) }
      }
      // What a file holds is at its end; silence follows.
      guard isLive, !interruption.isStopped else { break }
      input = nil
      tell(reason)
      guard reopen(&backoff, lasted: .now - began) else { break }
    }
    input = nil
    store.close()
  }

  private func tell(_ message: String) {
    guard !interruption.isStopped else { return }
    session.log.warning(
      "microphone", "\(message); there is silence in its place", ["input": .text(name.description)])
  }

  private func reopen(_ backoff: inout Backoff, lasted: Duration) -> Bool {
    var lasted = lasted
    while true {
      session.pause(backoff.wait(afterLasting: lasted, jitter: Double.random(in: 0..<1)))
      lasted = .zero
      guard !session.isStopping, !interruption.isStopped else { return false }
      do throws(RecordingError) {
        var fresh = try media { () throws(AVError) in try MediaInput(request, interruption: interruption) }
        guard let stream = fresh.bestAudio else { continue }
        try source.reopen(stream)
        fresh.select([stream.index])
        self.stream = stream
        input = consume fresh
        session.log.info("microphone", "\(name) is back", ["input": .text(name.description)])
        return true
      } catch {
        if interruption.isStopped { return false }
      }
    }
  }

  private func read() throws(RecordingError) {
    var policy = isLive ? Timeline.Policy.streamed : .stored
    policy.jumpsBeginRuns = false
    let usual = Int64(stream.parameters.frameSize > 0 ? stream.parameters.frameSize : 1024)
    let own = RationalTime(1, Int32(max(1, stream.sampleRate)))
    var timeline = Timeline(
      tracks: [TimelineTrack(timeBase: stream.timeBase, usualDuration: own.convert(usual, to: stream.timeBase))],
      policy: policy)
    var waiting: [WaitingPacket] = []
    var packet = try media { () throws(AVError) in try Packet() }
    var hasBegun = false
    // The picture's clock may be another.
    var slew = ClockSlew(tolerance: 15)
    source.begin()
    var isReading = true
    // Sources that compute or pace themselves never notice the interruption.
    while isReading && !interruption.isStopped {
      do throws(AVError) {
        isReading = try input?.read(into: &packet) ?? false
      } catch {
        if error.kind == .stopped { break }
        throw RecordingError(error)
      }
      var answers: [Timeline.Answer]
      if isReading {
        guard packet.streamIndex == stream.index, !packet.isEmpty else { continue }
        var times = SourceTimes(pts: packet.pts, dts: packet.dts, duration: packet.duration)
        if isLive { times.arrival = session.arrival(ofSource: packet.pts, packet.timeBase) }
        var taken = try media { () throws(AVError) in try Packet() }
        taken.take(from: &packet)
        waiting.append(WaitingPacket(taken, canStart: true))
        answers = timeline.place(times, track: 0)
      } else {
        answers = timeline.finish()
      }
      for answer in answers where !waiting.isEmpty {
        let next = waiting.removeFirst()
        guard case .placed(let times) = answer.placement else { continue }
        if !hasBegun, isLive, let origin = timeline.origin {
          hasBegun = true
          let waited = input?.waited(at: origin.timeBase.convert(origin.time, to: .microseconds)) ?? .zero
          self.origin = session.clockPlace(
            of: session.wallClock(ofSource: origin.time, origin.timeBase, waited: waited))
        }
        var moved: Int64 = 0
        if isLive, let pts = next.packet.pts {
          let timeBase = next.packet.timeBase
          let shift = RationalTime.microseconds.convert(input?.wallClockShift ?? 0, to: timeBase)
          let media = timeBase.convert(times.pts, to: .microseconds) / 1000
          let place = session.clockPlace(of: session.wallClock(ofSource: pts + shift, timeBase)) - self.origin
          let ahead = place * 1000 / StudioSound.rate - media - session.clockAhead
          moved = RationalTime.microseconds.convert(slew.follow(ahead: ahead, at: media) * 1000, to: timeBase)
        }
        next.packet.pts = times.pts + moved
        next.packet.dts = times.dts + moved
        next.packet.duration = times.duration
        try source.take(next.packet, into: self)
      }
    }
    try source.end(at: 0, into: self)
  }

  func take(sound: inout Frame) throws(RecordingError) {
    guard let pts = sound.pts else { return }
    let late = store.put((sound.floats(ofChannel: 0), sound.floats(ofChannel: 1)), at: max(0, origin + pts))
    sound.clear()
    if late > 0 { wait(longer: late) }
  }

  /// Sound came when silence was in its place already.
  private func wait(longer late: Int64) {
    let before = patience.load(ordering: .relaxed)
    guard before < Self.mostPatience else { return }
    let now = min(before + late + StudioSound.rate / 4, Self.mostPatience)
    patience.store(now, ordering: .relaxed)
    session.log.warning(
      "microphone",
      "\(name) comes \((before + late) * 1000 / StudioSound.rate) ms late: some of it is lost; from now on it is waited for \(now * 1000 / StudioSound.rate) ms",
      ["input": .text(name.description), "ticks": .integer(StudioSound.ticks(late))])
  }
}
