import LibAV

/// What a track's packets are.
struct TrackFormat: Sendable {
  let parameters: CodecParameters
  /// Nominal, of video; 0/0 when unknown.
  let frameRate: RationalTime
}

/// What the threads that make packets hand to the one that writes segments. For each track: begin of a run, its packets,
/// end of that run, and so on, then finish.
enum TrackItem: ~Copyable, Sendable {
  case begin(track: Int, run: Int, TrackFormat)
  /// Times are the run's, in the packet's own time base.
  case packet(track: Int, run: Int, canStart: Bool, Packet)
  case end(track: Int, run: Int)
  /// Nothing more comes.
  case finish(track: Int)
}

/// What goes to the thread that encodes.
enum FrameItem: ~Copyable, Sendable {
  /// A frame, its time the run's.
  case frame(Frame, run: Int)
  /// The run has come to this time, in ticks, without another frame: the last one is shown until then.
  case shown(until: Int64, run: Int)
  /// No frame comes for a while: what there is of the run is to be finished.
  case endOfRun
}

/// A packet that waits in a collection, which can hold copies of references only.
final class WaitingPacket {
  var packet: Packet
  let canStart: Bool

  init(_ packet: consuming Packet, canStart: Bool) {
    self.packet = packet
    self.canStart = canStart
  }
}
