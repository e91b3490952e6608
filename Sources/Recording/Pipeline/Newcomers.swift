import LibAV

/// Packets of streams that an input has begun while it was read. Live MPEG-TS and FLV go on under other numbers, or in
/// another codec, when their encoder is started anew; but a stream may also be one more beside those that are recorded.
/// So packets are kept until there have been some with none of the stream before.
struct Newcomers {
  /// A third of a second of pictures.
  private static let patience = 8

  private var kept: [(stream: StreamInfo, waiting: Reader.Waiting)] = []

  /// Keeps a packet of `stream`, which is clear afterwards.
  ///
  /// - Returns: whether the stream has taken the place of the one of its kind before.
  mutating func keep(_ packet: inout Packet, of stream: StreamInfo) throws(RecordingError) -> Bool {
    var taken = try media { () throws(AVError) in try Packet() }
    taken.take(from: &packet)
    kept.append((stream, Reader.Waiting(taken)))
    return kept.count { $0.stream.index == stream.index } >= Self.patience
  }

  /// The stream of this kind that is recorded goes on.
  mutating func forget(_ kind: MediaKind) {
    if !kept.isEmpty { kept.removeAll { $0.stream.kind == kind } }
  }

  func stream(_ kind: MediaKind) -> StreamInfo? { kept.last { $0.stream.kind == kind }?.stream }

  /// What was kept, in order.
  mutating func take() -> [Reader.Waiting] {
    defer { kept = [] }
    return kept.map(\.waiting)
  }
}
