import LibAV

/// Takes sound whose form is that of every track: 48 kHz, stereo, planar float, each frame following the one before.
protocol SoundSink: AnyObject {
  /// - Parameter sound: its `pts` counts samples since the origin; it may be taken or changed.
  func take(sound: inout Frame) throws(RecordingError)
}

/// What all sound is brought to before it is mixed, listened to or encoded.
enum StudioSound {
  static let rate: Int64 = 48_000
  static let layout = "stereo"
  static let timeBase = RationalTime(1, 48_000)
  static let format = SampleFormat.floatPlanar

  static func samples(_ ticks: Int64) -> Int64 { RationalTime.ticks.convert(ticks, to: timeBase) }
  static func ticks(_ samples: Int64) -> Int64 { timeBase.convert(samples, to: .ticks) }

  static func silence(_ count: Int64, at place: Int64) throws(RecordingError) -> Frame {
    var frame = try media { () throws(AVError) in
      try Frame.silence(sampleCount: Int(count), sampleRate: Int(rate), format: format, channelLayout: layout)
    }
    frame.pts = place
    return frame
  }
}

/// Decodes sound of any kind and puts it on a grid of samples: holes and a late start become silence, a clock that runs
/// wrong is evened out by resampling.
final class SoundSource {
  /// A hole up to this is stretched over, a longer one is filled: three AAC frames.
  private static let stretchLimit = "0.06"
  /// Decoded sound that is this far from where it should be gets a new resampler, in ticks: swresample would make the
  /// silence in one piece.
  private static let rebuildHole: Int64 = 90_000

  /// Samples that are resampled together. Some sources deliver seconds at once, which swresample would copy several times.
  private static let piece = 4096

  private let meter: Meter
  private var decoder: Decoder
  private var tellsPadding: Bool
  private var watch: DecodeWatch
  private var resampler: FilterGraph?
  private var form: FilterInput?
  private(set) var grid = SoundGrid()
  /// Where the decoded sound ends, in ticks.
  private var decodedEnd: Int64?
  private var frame: Frame
  private var sound: Frame

  /// - Parameter patience: how long a live source may send what cannot be decoded.
  init(stream: StreamInfo, meter: Meter, patience: Duration? = nil) throws(RecordingError) {
    self.meter = meter
    watch = DecodeWatch(patience: patience)
    tellsPadding = stream.tellsPadding
    decoder = try media { () throws(AVError) in try Decoder(stream: stream) }
    frame = try media { () throws(AVError) in try Frame() }
    sound = try media { () throws(AVError) in try Frame() }
  }

  /// A new origin. What came before must have been ended.
  func begin() {
    grid = SoundGrid()
    decodedEnd = nil
  }

  /// The packets to come are another stream's. What came before must have been ended.
  func reopen(_ stream: StreamInfo) throws(RecordingError) {
    decoder = try media { () throws(AVError) in try Decoder(stream: stream) }
    tellsPadding = stream.tellsPadding
    watch.forget()
  }

  /// - Parameter packet: its times count from the origin.
  func take(_ packet: borrowing Packet, into sink: any SoundSink) throws(RecordingError) {
    if meter.isLive, let time = watch.take(at: .now) { throw .undecodable(decoder.name, for: time) }
    do throws(AVError) {
      try decoder.send(packet)
    } catch {
      guard error.kind != .outOfMemory else { throw RecordingError(error) }
      // Damaged: what follows may be whole.
      meter.add { $0.damaged += 1 }
      return
    }
    try takeDecoded(into: sink)
  }

  /// Fills with silence up to `ticks`: a live source gives nothing, and segments cannot wait for it.
  func fill(to ticks: Int64, into sink: any SoundSink) throws(RecordingError) {
    guard ticks > (decodedEnd ?? 0) else { return }
    try flushResampler(into: sink)
    try silence(grid.fill(to: StudioSound.samples(ticks)), into: sink)
  }

  /// Nothing more comes before the next `begin`.
  ///
  /// - Parameter end: where the sound has to end at the least, in samples.
  func end(at end: Int64, into sink: any SoundSink) throws(RecordingError) {
    try media { () throws(AVError) in try decoder.drain() }
    try takeDecoded(into: sink)
    decoder.flush()
    try flushResampler(into: sink)
    // Up to half a frame less is no gap at the end, and saves a packet of padding.
    if end - grid.next > 512 { try silence(grid.fill(to: end), into: sink) }
    meter.add { $0.silence += StudioSound.ticks(self.grid.filled) }
  }

  private func takeDecoded(into sink: any SoundSink) throws(RecordingError) {
    while true {
      do throws(AVError) {
        guard try decoder.receive(into: &frame) == .produced else { return }
      } catch {
        guard error.kind != .outOfMemory else { throw RecordingError(error) }
        meter.add { $0.damaged += 1 }
        return
      }
      watch.produce()
      try resample(into: sink)
    }
  }

  private func resample(into sink: any SoundSink) throws(RecordingError) {
    guard frame.sampleCount > 0, frame.sampleRate > 0 else { return frame.clear() }
    if tellsPadding { frame.dropPadding() }
    let start = frame.pts.map { frame.timeBase.convert($0, to: .ticks) } ?? decodedEnd ?? 0
    let length = RationalTime(1, Int32(frame.sampleRate)).convert(Int64(frame.sampleCount), to: .ticks)
    guard start + length > 0 else { return frame.clear() }
    let form = FilterInput(of: frame, kind: .audio)
    let expected = decodedEnd ?? start
    if form != self.form || abs(start - expected) > Self.rebuildHole {
      try flushResampler(into: sink)
      self.form = form
    }
    if resampler == nil {
      // What lies before the place where the next sample goes is cut off; a hole before it is filled by the grid.
      // swresample counts `first_pts` in samples of its input. Where the rates are the same it starts anew with the first
      // sample that it stretches, from `first_pts`, and makes the silence since then in one piece, hours of it after
      // hours: `flags=res` has it resample from the start.
      let next = StudioSound.timeBase.convert(grid.next, to: RationalTime(1, Int32(frame.sampleRate)))
      let begins = StudioSound.samples(start) < grid.next ? ":first_pts=\(next):flags=res" : ""
      let description =
        "aresample=\(StudioSound.rate):async=1000:min_hard_comp=\(Self.stretchLimit)\(begins),"
        + "aformat=sample_fmts=\(StudioSound.format):channel_layouts=\(StudioSound.layout)"
      resampler = try media { () throws(AVError) in try FilterGraph(input: form, description: description) }
    }
    if frame.pts == nil { frame.pts = RationalTime.ticks.convert(expected, to: frame.timeBase) }
    decodedEnd = start + length
    while frame.sampleCount > Self.piece, frame.channels <= 8 {
      var piece = try media { () throws(AVError) in try frame.split(after: Self.piece) }
      try resample(&piece, into: sink)
    }
    try resample(&frame, into: sink)
  }

  private func resample(_ frame: inout Frame, into sink: any SoundSink) throws(RecordingError) {
    try media { () throws(AVError) in try resampler?.send(&frame) }
    try placeResampled(into: sink)
  }

  private func flushResampler(into sink: any SoundSink) throws(RecordingError) {
    guard resampler != nil else { return }
    try media { () throws(AVError) in try resampler?.drain() }
    try placeResampled(into: sink)
    resampler = nil
  }

  private func placeResampled(into sink: any SoundSink) throws(RecordingError) {
    while try media({ () throws(AVError) in try resampler?.receive(into: &sound) }) == .produced {
      let start = sound.pts.map { sound.timeBase.convert($0, to: StudioSound.timeBase) } ?? grid.next
      let before = grid.next
      switch grid.place(start: start, count: Int64(sound.sampleCount)) {
      case .drop: sound.clear()
      case .fill(let hole):
        try silence(hole, from: before, into: sink)
        sound.timeBase = StudioSound.timeBase
        sound.pts = before + hole
        try sink.take(sound: &sound)
      }
    }
  }

  /// Silence that the grid has made room for.
  private func silence(_ count: Int64, from start: Int64? = nil, into sink: any SoundSink) throws(RecordingError) {
    var place = start ?? grid.next - count
    var left = count
    while left > 0 {
      let part = min(left, 4096)
      var quiet = try StudioSound.silence(part, at: place)
      try sink.take(sound: &quiet)
      place += part
      left -= part
    }
  }
}
