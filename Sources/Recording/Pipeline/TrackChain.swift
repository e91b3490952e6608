import LibAV

/// What happens to the packets of one track after they have been read and placed. Used by the thread that reads.
protocol TrackChain: AnyObject {
  /// Takes a packet whose times are the run's.
  func take(_ packet: inout Packet, _ times: PlacedTimes) throws(RecordingError)
  /// No more packets. `end` is where the longest track ends, in ticks since the run's origin; nil to end at once.
  func finish(end: Int64?) throws(RecordingError)
}
