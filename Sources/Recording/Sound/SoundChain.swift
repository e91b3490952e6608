import LibAV

/// Decodes sound of any kind and encodes it as one continuous AAC track: 48 kHz, holes and a late start filled with
/// silence, a clock that runs differently from the picture's evened out by resampling, the encoder's priming cut off.
final class SoundChain: TrackChain {
  static let sampleRate: Int64 = 48_000
  /// A hole up to this is stretched over, a longer one is filled: three AAC frames.
  private static let stretchLimit = "0.06"
  /// Decoded sound that is this far from where it should be gets a new resampler, in ticks: swresample would make the
  /// silence in one piece.
  private static let rebuildHole: Int64 = 90_000

  private let track: Int
  private let session: Session
  private var decoder: Decoder
  private var resampler: FilterGraph?
  private var form: FilterInput?
  private var framer: FilterGraph?
  private var encoder: AudioEncoder?
  private var run: Int?
  private var grid = SoundGrid()
  /// Where the decoded sound ends, in ticks.
  private var decodedEnd: Int64?
  /// Where the run has to end, in samples.
  private var limit: Int64?
  private var frame: Frame
  private var sound: Frame
  private var framed: Frame
  private var packet: Packet
  private let layout = "stereo"

  init(track: Int, stream: StreamInfo, session: Session) throws(RecordingError) {
    self.track = track
    self.session = session
    decoder = try media { () throws(AVError) in try Decoder(stream: stream) }
    frame = try media { () throws(AVError) in try Frame() }
    sound = try media { () throws(AVError) in try Frame() }
    framed = try media { () throws(AVError) in try Frame() }
    packet = try media { () throws(AVError) in try Packet() }
  }

  func take(_ packet: inout Packet, _ times: PlacedTimes) throws(RecordingError) {
    try begin(times.run)
    do throws(AVError) {
      try decoder.send(packet)
    } catch {
      guard error.kind != .outOfMemory else { throw RecordingError(error) }
      // Damaged: what follows may be whole.
      session.meter.add { $0.damaged += 1 }
      return
    }
    try takeDecoded()
  }

  func finish() throws(RecordingError) {
    defer { _ = session.put(.finish(track: track)) }
    try endRun()
  }

  func reopen(_ stream: StreamInfo) throws(RecordingError) {
    try endRun()
    decoder = try media { () throws(AVError) in try Decoder(stream: stream) }
  }

  /// Fills with silence up to `ticks`: a live source gives nothing, and segments cannot wait for it.
  func fill(to ticks: Int64) throws(RecordingError) {
    guard run != nil, ticks > (decodedEnd ?? 0) else { return }
    try flushResampler()
    try silence(grid.fill(to: samples(ticks)))
  }

  // MARK: Runs

  /// Begins a run, if it has not begun; the one before it ends.
  func begin(_ run: Int) throws(RecordingError) {
    guard run != self.run else { return }
    try endRun()
    self.run = run
    limit = session.limit(of: run).map(samples)
    grid = SoundGrid()
    decodedEnd = nil
    var settings = AudioEncoderSettings()
    settings.channelLayout = layout
    settings.sampleRate = Int(Self.sampleRate)
    settings.bitRate = session.configuration.audioBitRate
    let made = try media { () throws(AVError) in try AudioEncoder(settings) }
    let input = FilterInput.audio(
      sampleRate: Int(Self.sampleRate), format: made.sampleFormat, channelLayout: layout,
      timeBase: RationalTime(1, Int32(Self.sampleRate)))
    framer = try media { () throws(AVError) in try FilterGraph(input: input, description: "anull") }
    framer?.setFrameSize(made.frameSize)
    let format = TrackFormat(parameters: made.parameters, frameRate: RationalTime(0, 0))
    encoder = consume made
    _ = session.put(.begin(track: track, run: run, format))
  }

  private func endRun() throws(RecordingError) {
    guard let run else { return }
    // Whatever fails below, the track has left the run.
    defer {
      self.run = nil
      _ = session.put(.end(track: track, run: run))
    }
    try media { () throws(AVError) in try decoder.drain() }
    try takeDecoded()
    decoder.flush()
    try flushResampler()
    let end = min(samples(session.end(of: run)), limit ?? .max)
    // Up to half a frame less is no gap at the end, and saves a packet of padding.
    if end - grid.next > 512 { try silence(grid.fill(to: end)) }
    try media { () throws(AVError) in try framer?.drain() }
    try encodeFramed()
    try media { () throws(AVError) in try encoder?.drain() }
    try passOn(last: grid.next)
    framer = nil
    encoder = nil
    session.noteEnd(RationalTime(1, Int32(Self.sampleRate)).convert(grid.next, to: .ticks), of: run)
    session.meter.add { $0.silence += RationalTime(1, Int32(Self.sampleRate)).convert(self.grid.filled, to: .ticks) }
  }

  private func samples(_ ticks: Int64) -> Int64 {
    RationalTime.ticks.convert(ticks, to: RationalTime(1, Int32(Self.sampleRate)))
  }

  // MARK: From packets to frames of the encoder's size

  private func takeDecoded() throws(RecordingError) {
    while true {
      do throws(AVError) {
        guard try decoder.receive(into: &frame) == .produced else { return }
      } catch {
        guard error.kind != .outOfMemory else { throw RecordingError(error) }
        session.meter.add { $0.damaged += 1 }
        return
      }
      try resample()
    }
  }

  private func resample() throws(RecordingError) {
    guard frame.sampleCount > 0, frame.sampleRate > 0 else { return frame.clear() }
    let start = frame.pts.map { frame.timeBase.convert($0, to: .ticks) } ?? decodedEnd ?? 0
    let length = RationalTime(1, Int32(frame.sampleRate)).convert(Int64(frame.sampleCount), to: .ticks)
    guard start + length > 0 else { return frame.clear() }
    let form = FilterInput(of: frame, kind: .audio)
    let expected = decodedEnd ?? start
    if form != self.form || abs(start - expected) > Self.rebuildHole {
      try flushResampler()
      self.form = form
    }
    if resampler == nil {
      // What lies before the place where the next sample goes is cut off; a hole before it is filled by the grid.
      let next = grid.next
      let begins = samples(start) < next ? ":first_pts=\(next)" : ""
      let description =
        "aresample=\(Self.sampleRate):async=1000:min_hard_comp=\(Self.stretchLimit)\(begins),"
        + "aformat=sample_fmts=\(encoder?.sampleFormat.description ?? "fltp"):channel_layouts=\(layout)"
      resampler = try media { () throws(AVError) in try FilterGraph(input: form, description: description) }
    }
    if frame.pts == nil { frame.pts = RationalTime.ticks.convert(expected, to: frame.timeBase) }
    decodedEnd = start + length
    try media { () throws(AVError) in try resampler?.send(&frame) }
    try placeResampled()
  }

  private func flushResampler() throws(RecordingError) {
    guard resampler != nil else { return }
    try media { () throws(AVError) in try resampler?.drain() }
    try placeResampled()
    resampler = nil
  }

  private func placeResampled() throws(RecordingError) {
    while try media({ () throws(AVError) in try resampler?.receive(into: &sound) }) == .produced {
      let own = RationalTime(1, Int32(Self.sampleRate))
      let start = sound.pts.map { sound.timeBase.convert($0, to: own) } ?? grid.next
      let count = Int64(sound.sampleCount)
      let before = grid.next
      switch grid.place(start: start, count: count) {
      case .drop: sound.clear()
      case .fill(let hole):
        try silence(hole, from: before)
        sound.timeBase = own
        sound.pts = before + hole
        try frameUp(&sound)
      }
    }
  }

  /// Silence that the grid has made room for.
  private func silence(_ count: Int64, from start: Int64? = nil) throws(RecordingError) {
    var place = start ?? grid.next - count
    var left = count
    while left > 0 {
      let part = min(left, 4096)
      var quiet = try media { () throws(AVError) in
        try Frame.silence(
          sampleCount: Int(part), sampleRate: Int(Self.sampleRate), format: encoder?.sampleFormat ?? .floatPlanar,
          channelLayout: layout)
      }
      quiet.pts = place
      try frameUp(&quiet)
      place += part
      left -= part
    }
  }

  private func frameUp(_ frame: inout Frame) throws(RecordingError) {
    try media { () throws(AVError) in try framer?.send(&frame) }
    try encodeFramed()
  }

  // MARK: Encoding

  private func encodeFramed() throws(RecordingError) {
    while try media({ () throws(AVError) in try framer?.receive(into: &framed) }) == .produced {
      if let limit, let pts = framed.pts, pts >= limit { continue }
      try media { () throws(AVError) in try encoder?.send(framed) }
      try passOn(last: nil)
    }
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
      guard session.put(.packet(track: track, run: run, canStart: true, made)) else { return }
    }
  }
}
