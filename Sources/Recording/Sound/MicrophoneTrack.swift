import LibAV

/// Keeps the microphone as a rendition of its own, whose runs begin and end with the programme's. Used by the thread that
/// reads the programme.
final class MicrophoneTrack {
  private let session: Session
  private let microphone: Microphone
  private let track: SoundTrack
  /// Place of the next sample since the run's origin.
  private var next: Int64 = 0

  init(session: Session, microphone: Microphone, track: SoundTrack) {
    self.session = session
    self.microphone = microphone
    self.track = track
  }

  /// The programme begins a run, and ends the one before at `end` ticks.
  func begin(_ run: Int, endingAt end: Int64) throws(RecordingError) {
    try endRun(at: end)
    next = 0
    try track.begin(run)
  }

  /// The programme has come to `ticks`.
  func advance(to ticks: Int64) throws(RecordingError) {
    let newest = StudioSound.samples(ticks)
    while next + 1024 <= newest, try add(1024, isLate: microphone.isLate(next, newest)) {}
  }

  /// The programme ends, at `end` ticks.
  func finish(endingAt end: Int64) throws(RecordingError) {
    defer { track.finish() }
    try endRun(at: end)
  }

  private func endRun(at ticks: Int64) throws(RecordingError) {
    guard track.run != nil else { return }
    let end = min(StudioSound.samples(ticks), track.limit ?? .max)
    while next < end, try add(min(1024, end - next), isLate: true) {}
    try track.endRun(at: next)
  }

  private func add(_ count: Int64, isLate: Bool) throws(RecordingError) -> Bool {
    guard let run = track.run else { return false }
    var frame = try StudioSound.silence(count, at: next)
    guard try microphone.lay(over: &frame, run: run, isLate: isLate) else { return false }
    next += count
    try track.take(sound: &frame)
    return true
  }
}
