import LibAV

/// Holds the packets of a copied picture back whose container tells no presentation times (AVI, raw H.264 and HEVC), or
/// those of some pictures only (MPEG-PS), until their place in the order of output gives them one.
final class PictureClock {
  private let stream: StreamInfo
  private var parser: PictureParser
  private var order = PictureOrder()
  private var waiting: [WaitingPacket] = []
  /// Decode times of those that wait, known or counted; nil where the container's are none.
  private var decodeTimes: [Int64]?
  private var nextSlot: Int64
  private let frame: Int64

  /// - Parameters:
  ///   - hasDecodeTimes: where the container tells a decode time, it is one.
  ///   - last: decode time of the packet before the first; nil: there was none.
  init(_ stream: StreamInfo, hasDecodeTimes: Bool, after last: Int64?) throws(RecordingError) {
    self.stream = stream
    decodeTimes = hasDecodeTimes ? [] : nil
    let frame = max(1, stream.usualFrameRate.inverse.convert(1, to: stream.timeBase))
    self.frame = frame
    nextSlot = last.map { $0 + frame } ?? 0
    parser = try media { () throws(AVError) in try PictureParser(parameters: stream.parameters) }
  }

  /// True for packets that have to go through a clock, and with them all after them.
  static func isNeeded(for packet: borrowing Packet, of stream: StreamInfo, lacksSome: Bool) -> Bool {
    (packet.pts == nil || lacksSome) && (stream.codec == .h264 || stream.codec == .hevc)
  }

  func take(_ packet: inout Packet, lengthSize: Int?) throws(RecordingError) {
    let codec = stream.codec
    let isKey = packet.isKey
    let kind = packet.withBytes { PictureKind(codec: codec, isKey: isKey, lengthSize: lengthSize, bytes: $0) }
    let slot = packet.dts ?? nextSlot
    // libav gives a picture without times those of the next one, where both are in one packet of the stream.
    if let times = decodeTimes, times.last == slot {
      order.moveLast(by: -frame)
      decodeTimes?[times.count - 1] -= frame
    }
    nextSlot = slot + frame
    order.add(count: parser.pictureOrderCount(of: packet), startsSequence: kind == .start, pts: packet.pts, slot: slot)
    decodeTimes?.append(slot)
    var taken = try media { () throws(AVError) in try Packet() }
    taken.take(from: &packet)
    waiting.append(WaitingPacket(taken, canStart: false))
  }

  func finish() { order.finish() }

  /// Gives the next packet out, with its presentation time; false when it is not known yet. Its decode time is for the
  /// timeline to find: containers tell the same for both.
  func next(into packet: inout Packet) -> Bool {
    guard let pts = order.next() else { return false }
    packet.take(from: &waiting.removeFirst().packet)
    if decodeTimes != nil {
      packet.dts = decodeTimes?.removeFirst()
    } else if packet.pts == nil {
      packet.dts = nil
      // AVI tells that of a field.
      packet.duration = 0
    }
    packet.pts = pts
    return true
  }
}
