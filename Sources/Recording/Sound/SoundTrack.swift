import LibAV
import Platform

/// One continuous AAC track: takes sound that has no holes, lays the microphone over it, lets speech recognition listen,
/// and encodes; the encoder's priming is cut off.
final class SoundTrack: SoundSink {
  private let track: Int
  private let session: Session
  private let destination: Destination
  private let microphone: Microphone?
  private let tap: SpeechTap?
  private var framer: FilterGraph?
  private var encoder: AudioEncoder?
  private(set) var run: Int?
  /// Where the run has to end, in samples.
  private(set) var limit: Int64?
  /// Frames that wait for the microphone, oldest first.
  private var waiting: [WaitingFrame] = []
  private var framed: Frame
  private var packet: Packet

  private final class WaitingFrame {
    var frame: Frame
    init(_ frame: consuming Frame) { self.frame = frame }
  }

  /// - Parameters:
  ///   - microphone: to be mixed in.
  ///   - tap: hears what is encoded.
  init(
    track: Int, session: Session, to destination: Destination = .programme, microphone: Microphone? = nil,
    tap: SpeechTap? = nil
  ) throws(RecordingError) {
    self.track = track
    self.session = session
    self.destination = destination
    self.microphone = microphone
    self.tap = tap
    framed = try media { () throws(AVError) in try Frame() }
    packet = try media { () throws(AVError) in try Packet() }
  }

  func begin(_ run: Int) throws(RecordingError) {
    self.run = run
    limit = session.limit(of: run).map(StudioSound.samples)
    var settings = AudioEncoderSettings()
    settings.channelLayout = StudioSound.layout
    settings.sampleRate = Int(StudioSound.rate)
    settings.bitRate = session.configuration.audioBitRate
    let made = try media { () throws(AVError) in try AudioEncoder(settings) }
    let input = FilterInput.audio(
      sampleRate: Int(StudioSound.rate), format: made.sampleFormat, channelLayout: StudioSound.layout,
      timeBase: StudioSound.timeBase)
    framer = try media { () throws(AVError) in try FilterGraph(input: input, description: "anull") }
    framer?.setFrameSize(made.frameSize)
    let format = TrackFormat(parameters: made.parameters, frameRate: RationalTime(0, 0))
    encoder = consume made
    session.put(.begin(track: track, run: run, format), to: destination)
  }

  /// - Parameter end: where the sound ends, in samples.
  func endRun(at end: Int64) throws(RecordingError) {
    guard let run else { return }
    // Whatever fails below, the track has left the run.
    defer {
      self.run = nil
      session.put(.end(track: track, run: run), to: destination)
    }
    try media { () throws(AVError) in try framer?.drain() }
    try encodeFramed(isLast: true)
    try media { () throws(AVError) in try encoder?.drain() }
    try passOn(last: end)
    framer = nil
    encoder = nil
    session.noteEnd(StudioSound.ticks(end), of: run)
  }

  func finish() { session.put(.finish(track: track), to: destination) }

  func take(sound: inout Frame) throws(RecordingError) {
    try media { () throws(AVError) in try framer?.send(&sound) }
    try encodeFramed(isLast: false)
  }

  private func encodeFramed(isLast: Bool) throws(RecordingError) {
    while try media({ () throws(AVError) in try framer?.receive(into: &framed) }) == .produced {
      if let limit, let pts = framed.pts, pts >= limit { continue }
      guard microphone != nil else {
        try encode(framed)
        continue
      }
      var kept = try media { () throws(AVError) in try Frame() }
      kept.take(from: &framed)
      waiting.append(WaitingFrame(kept))
    }
    guard let microphone, let run, let newest = waiting.last?.frame.pts else { return }
    while let first = waiting.first, let pts = first.frame.pts {
      guard try microphone.lay(over: &first.frame, run: run, isLate: isLast || microphone.isLate(pts, newest))
      else { return }
      waiting.removeFirst()
      try encode(first.frame)
    }
  }

  // MARK: Encoding

  private func encode(_ frame: borrowing Frame) throws(RecordingError) {
    try tap?.hear(frame)
    try media { () throws(AVError) in try encoder?.send(frame) }
    try passOn(last: nil)
  }

  private func passOn(last end: Int64?) throws(RecordingError) {
    guard let run else { return }
    while try media({ () throws(AVError) in try encoder?.receive(into: &packet) }) == .produced {
      // Priming: the encoder's delay before the first sample.
      guard let pts = packet.pts, pts >= 0 else { continue }
      if let end {
        // Nothing but padding.
        if pts >= end { continue }
        packet.duration = min(max(1, end - pts), Int64(encoder?.frameSize ?? 1024))
      }
      var made = try media { () throws(AVError) in try Packet() }
      made.take(from: &packet)
      made.dts = made.pts
      try session.put(made, track: track, run: run, canStart: true, to: destination)
    }
  }
}
