import LibAV

/// The programme's sound: decoded, put on its grid, encoded as one continuous track.
final class SoundChain: TrackChain {
  private let session: Session
  private let source: SoundSource
  private let track: SoundTrack

  init(stream: StreamInfo, session: Session, track: SoundTrack) throws(RecordingError) {
    self.session = session
    self.track = track
    source = try SoundSource(stream: stream, meter: session.meter, patience: session.configuration.inputTimeout)
  }

  func take(_ packet: inout Packet, _ times: PlacedTimes) throws(RecordingError) {
    try begin(times.run)
    try source.take(packet, into: track)
  }

  func finish() throws(RecordingError) {
    defer { track.finish() }
    try endRun()
  }

  func reopen(_ stream: StreamInfo) throws(RecordingError) {
    try source.reopen(stream)
  }

  /// Fills with silence up to `ticks`: a live source gives nothing, and segments cannot wait for it.
  func fill(to ticks: Int64) throws(RecordingError) {
    guard track.run != nil else { return }
    try source.fill(to: ticks, into: track)
  }

  /// Begins a run, if it has not begun; the one before it ends.
  func begin(_ run: Int) throws(RecordingError) {
    guard run != track.run else { return }
    try endRun()
    source.begin()
    try track.begin(run)
  }

  func endRun() throws(RecordingError) {
    guard let run = track.run else { return }
    var failure: RecordingError?
    do throws(RecordingError) {
      let end = StudioSound.samples(session.end(of: run))
      try source.end(at: min(end, track.limit ?? .max), into: track)
    } catch {
      failure = error
    }
    // Whatever failed, the track leaves the run.
    try track.endRun(at: source.grid.next)
    if let failure { throw failure }
  }
}
