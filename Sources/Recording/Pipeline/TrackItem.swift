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

/// A frame on its way to the encoder, its time the run's.
struct FrameItem: ~Copyable, Sendable {
  var frame: Frame
  let run: Int
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
