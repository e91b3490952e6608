import CLibAV

/// Owns one `AVPacket`: one coded access unit. Freed with `av_packet_free`. The payload is counted by libav, so moving or
/// sharing a packet copies no media.
@safe package struct Packet: ~Copyable {
  let raw: UnsafeMutablePointer<AVPacket>

  package init() throws(AVError) {
    guard let raw = unsafe av_packet_alloc() else { throw AVError(.allocate("a packet"), code: -12) }
    unsafe self.raw = raw
  }

  deinit {
    var raw: UnsafeMutablePointer<AVPacket>? = unsafe raw
    unsafe av_packet_free(&raw)
  }

  /// Presentation time in `timeBase`; nil when unknown.
  package var pts: Int64? {
    get { unsafe optionalTime(raw.pointee.pts) }
    set { unsafe raw.pointee.pts = rawTime(newValue) }
  }

  /// Decode time in `timeBase`; nil when unknown.
  package var dts: Int64? {
    get { unsafe optionalTime(raw.pointee.dts) }
    set { unsafe raw.pointee.dts = rawTime(newValue) }
  }

  /// In `timeBase`; 0 when unknown.
  package var duration: Int64 {
    get { unsafe raw.pointee.duration }
    set { unsafe raw.pointee.duration = newValue }
  }

  package var timeBase: RationalTime {
    get { unsafe RationalTime(raw.pointee.time_base) }
    set { unsafe raw.pointee.time_base = newValue.raw }
  }

  package var streamIndex: Int {
    get { unsafe Int(raw.pointee.stream_index) }
    set { unsafe raw.pointee.stream_index = Int32(truncatingIfNeeded: newValue) }
  }

  package var byteCount: Int { unsafe Int(raw.pointee.size) }
  package var isEmpty: Bool { byteCount == 0 }

  /// Marked as a key frame by the demuxer or encoder. Whether it decodes alone is for its bytes to tell.
  package var isKey: Bool {
    get { unsafe raw.pointee.flags & AV_PKT_FLAG_KEY != 0 }
    set {
      if newValue {
        unsafe raw.pointee.flags |= AV_PKT_FLAG_KEY
      } else {
        unsafe raw.pointee.flags &= ~AV_PKT_FLAG_KEY
      }
    }
  }
  package var isCorrupt: Bool { unsafe raw.pointee.flags & AV_PKT_FLAG_CORRUPT != 0 }
  /// To be decoded but not shown (frames before the start of an edit).
  package var isDiscarded: Bool { unsafe raw.pointee.flags & AV_PKT_FLAG_DISCARD != 0 }

  /// Converts all three times to `timeBase` (`av_packet_rescale_ts`, nearest).
  package mutating func rescale(to timeBase: RationalTime) {
    unsafe av_packet_rescale_ts(raw, raw.pointee.time_base, timeBase.raw)
    unsafe raw.pointee.time_base = timeBase.raw
  }

  /// Calls `body` with the payload, which is valid only during the call.
  package func withBytes<R: ~Copyable, E: Error>(_ body: (RawSpan) throws(E) -> R) throws(E) -> R {
    let bytes = unsafe UnsafeRawBufferPointer(start: raw.pointee.data, count: Int(raw.pointee.size))
    return try body(unsafe RawSpan(_unsafeBytes: bytes))
  }

  /// A copy of the payload.
  package var bytes: [UInt8] { unsafe Array(UnsafeBufferPointer(start: raw.pointee.data, count: byteCount)) }

  /// Forgets payload and properties, ready for the next read.
  package mutating func clear() { unsafe av_packet_unref(raw) }

  /// Takes everything `other` holds and leaves it clear. No bytes are copied.
  package mutating func take(from other: inout Packet) {
    unsafe av_packet_unref(raw)
    unsafe av_packet_move_ref(raw, other.raw)
  }

  /// Shares the payload of `other` and copies its properties.
  package mutating func share(_ other: borrowing Packet) throws(AVError) {
    unsafe av_packet_unref(raw)
    let result = unsafe av_packet_ref(raw, other.raw)
    guard result >= 0 else { throw AVError(.allocate("a packet"), code: result) }
  }

  /// Moves the payload into memory of its own, for a lender that wants its buffer back.
  package mutating func copyPayload() throws(AVError) {
    try replacePayload(bytes)
  }

  /// Other bytes in place of the payload; all else stays.
  package mutating func replacePayload(_ bytes: [UInt8]) throws(AVError) {
    var copy = try Packet()
    try copy.replaceBytes(bytes)
    let result = unsafe av_packet_copy_props(copy.raw, raw)
    guard result >= 0 else { throw AVError(.allocate("a packet"), code: result) }
    copy.streamIndex = streamIndex
    take(from: &copy)
  }

  /// A new owner of the same payload.
  package func shared() throws(AVError) -> Packet {
    var copy = try Packet()
    try copy.share(self)
    return copy
  }

  /// Codec configuration that holds from this packet on (`AV_PKT_DATA_NEW_EXTRADATA`).
  package var newExtradata: [UInt8]? {
    sideData(AV_PKT_DATA_NEW_EXTRADATA)
  }

  /// Samples to drop at the front and at the end once decoded (`AV_PKT_DATA_SKIP_SAMPLES`): priming and padding.
  package var skippedSamples: (front: Int, end: Int)? {
    guard let data = sideData(AV_PKT_DATA_SKIP_SAMPLES), data.count >= 8 else { return nil }
    return (Int(littleEndian32(data, at: 0)), Int(littleEndian32(data, at: 4)))
  }

  /// The display matrix that holds from this packet on, as `StreamInfo.rotation`.
  package var newRotation: Rotation? {
    guard let data = sideData(AV_PKT_DATA_DISPLAYMATRIX), data.count >= 36 else { return nil }
    return Rotation(matrix: data)
  }

  private func sideData(_ type: AVPacketSideDataType) -> [UInt8]? {
    var size = 0
    guard let data = unsafe av_packet_get_side_data(raw, type, &size), size > 0 else { return nil }
    return unsafe Array(UnsafeBufferPointer(start: data, count: size))
  }

  /// Replaces the payload by one of our own making.
  package mutating func replaceBytes(_ bytes: [UInt8]) throws(AVError) {
    unsafe av_packet_unref(raw)
    let result = unsafe av_new_packet(raw, Int32(bytes.count))
    guard result >= 0 else { throw AVError(.allocate("a packet"), code: result) }
    for (index, byte) in bytes.enumerated() { unsafe raw.pointee.data[index] = byte }
  }
}

// Sendable: one owner, and libav gives packets no thread affinity.
extension Packet: @unchecked Sendable {}

private func littleEndian32(_ bytes: [UInt8], at offset: Int) -> UInt32 {
  (0..<4).reduce(0) { $0 | UInt32(bytes[offset + $1]) << (8 * UInt32($1)) }
}
