import LibAV

/// What happens to the packets of one track after they have been read and placed. Used by the thread that reads.
protocol TrackChain: AnyObject {
  /// Takes a packet whose times are the run's.
  func take(_ packet: inout Packet, _ times: PlacedTimes) throws(RecordingError)
  /// The source is away: the run is over, as far as it has come.
  func endRun() throws(RecordingError)
  /// After `endRun`: what comes next is another stream, from the input opened anew.
  func reopen(_ stream: StreamInfo) throws(RecordingError)
  /// No more packets. The session knows where the run's longest track ends.
  func finish() throws(RecordingError)
}
