import CLibAV

/// Writes movie fragments (ISO/IEC 14496-12 §8.8.4 to §8.8.12) whose samples are packets as they are. libav's muxer would
/// copy each packet three times on its way to the sink, which was half of what copying a file cost; here the sink gets the
/// packets' own bytes. Box for box like libav's: one moof with a traf for each track that has samples, then one mdat.
@safe struct PlainFragments {
  private let tracks: [Samples]
  private var number: UInt32 = 0
  /// The moof, and after that small samples on their way to the sink.
  private var bytes: [UInt8] = []

  /// Samples at least so large go to the sink one by one; smaller ones are gathered.
  private static let large = 8 << 10
  private static let gathered = 64 << 10

  /// Nil where libav changes what goes into the file: start codes become lengths, headers are taken off and so on.
  init?(_ tracks: [FragmentTrack]) {
    guard tracks.allSatisfy({ PlainFragments.takes($0.parameters) }) else { return nil }
    self.tracks = tracks.map { Samples(areKeys: $0.parameters.kind != .video) }
  }

  private static func takes(_ parameters: CodecParameters) -> Bool {
    switch parameters.codec {
    // An avcC or hvcC box begins with its version: NAL units have lengths then.
    case .h264, .hevc: parameters.extradata.first == 1
    case .aac: !parameters.extradata.isEmpty
    default: false
    }
  }

  /// Takes a packet with its final times; it is clear afterwards.
  mutating func add(_ packet: inout Packet, track: Int) throws(AVError) { try tracks[track].append(&packet) }

  /// Delivers what was added as one fragment, in pieces of any size.
  mutating func flush<E: Error>(_ sink: (RawSpan) throws(E) -> Void) throws(FlushError<E>) {
    defer { for samples in tracks { samples.clear() } }
    let media = tracks.reduce(0) { $0 + $1.byteCount }
    guard media < Int(Int32.max) / 2 else {
      throw .libav(AVError(.mux("a fragment"), code: -27, detail: "\(media) bytes in one fragment"))
    }
    number += 1
    bytes.removeAll(keepingCapacity: true)
    var offsets: [Int] = []
    box(0x6D6F_6F66) { moof in
      moof.box(0x6D66_6864) { mfhd in
        mfhd.put(0)
        mfhd.put(mfhd.number)
      }
      for (index, samples) in moof.tracks.enumerated() where samples.count > 0 {
        offsets.append(moof.describe(samples, track: UInt32(index + 1)))
      }
    }
    var place = bytes.count + 8
    var next = 0
    for samples in tracks where samples.count > 0 {
      set(UInt32(place), at: offsets[next])
      place += samples.byteCount
      next += 1
    }
    put(UInt32(media + 8))
    put(0x6D64_6174)
    do throws(E) {
      for samples in tracks {
        for index in 0..<samples.count {
          let sample = unsafe samples.bytes(of: index)
          if sample.count < PlainFragments.large {
            unsafe bytes.append(contentsOf: sample)
            if bytes.count >= PlainFragments.gathered { try deliver(to: sink) }
          } else {
            try deliver(to: sink)
            try sink(unsafe RawSpan(_unsafeBytes: sample))
          }
        }
      }
      try deliver(to: sink)
    } catch {
      throw .sink(error)
    }
  }

  private mutating func deliver<E: Error>(to sink: (RawSpan) throws(E) -> Void) throws(E) {
    if bytes.isEmpty { return }
    try sink(unsafe bytes.span.bytes)
    bytes.removeAll(keepingCapacity: true)
  }

  /// A traf. What all samples have in common stands once, in the tfhd.
  ///
  /// - Returns: where the offset of the track's first byte is to be written.
  private mutating func describe(_ samples: Samples, track: UInt32) -> Int {
    var offset = 0
    let duration = samples.commonDuration
    let flags = samples.flags(of: samples.count > 1 ? 1 : 0)
    let haveCommonFlags = (1..<max(1, samples.count)).allSatisfy { samples.flags(of: $0) == flags }
    let differsFirst = haveCommonFlags && samples.flags(of: 0) != flags
    let hasOffsets = (0..<samples.count).contains { samples.compositionOffset(of: $0) != 0 }
    box(0x7472_6166) { traf in
      traf.box(0x7466_6864) { tfhd in
        // default-base-is-moof, and which defaults there are.
        tfhd.put(0x02_0000 | (duration == nil ? 0 : 0x08) | (haveCommonFlags ? 0x20 : 0))
        tfhd.put(track)
        if let duration { tfhd.put(duration) }
        if haveCommonFlags { tfhd.put(flags) }
      }
      traf.box(0x7466_6474) { tfdt in
        tfdt.put(0x0100_0000)
        let start = UInt64(bitPattern: samples.start)
        tfdt.put(UInt32(truncatingIfNeeded: start >> 32))
        tfdt.put(UInt32(truncatingIfNeeded: start))
      }
      traf.box(0x7472_756E) { trun in
        trun.put(
          0x201 | (differsFirst ? 0x4 : 0) | (duration == nil ? 0x100 : 0) | (haveCommonFlags ? 0 : 0x400)
            | (hasOffsets ? 0x800 : 0))
        trun.put(UInt32(samples.count))
        offset = trun.bytes.count
        trun.put(0)
        if differsFirst { trun.put(samples.flags(of: 0)) }
        for index in 0..<samples.count {
          if duration == nil { trun.put(samples.duration(of: index)) }
          trun.put(UInt32(unsafe samples.bytes(of: index).count))
          if !haveCommonFlags { trun.put(samples.flags(of: index)) }
          if hasOffsets { trun.put(samples.compositionOffset(of: index)) }
        }
      }
    }
    return offset
  }

  private mutating func box(_ type: UInt32, _ body: (inout PlainFragments) -> Void) {
    let start = bytes.count
    put(0)
    put(type)
    body(&self)
    set(UInt32(bytes.count - start), at: start)
  }

  private mutating func put(_ value: UInt32) {
    for shift: UInt32 in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: value >> shift)) }
  }

  private mutating func set(_ value: UInt32, at place: Int) {
    for index in 0..<4 { bytes[place + index] = UInt8(truncatingIfNeeded: value >> UInt32(24 - 8 * index)) }
  }
}

/// What one track has in the next fragment. Owns the `AVPacket`s, which it uses again and again.
@safe private final class Samples {
  private(set) var count = 0
  private(set) var byteCount = 0
  /// Every sample is a sync sample, as in sound.
  private let areKeys: Bool
  private var packets: [UnsafeMutablePointer<AVPacket>] = unsafe []

  init(areKeys: Bool) { self.areKeys = areKeys }

  deinit {
    for index in unsafe packets.indices {
      var packet: UnsafeMutablePointer<AVPacket>? = unsafe packets[index]
      unsafe av_packet_free(&packet)
    }
  }

  func append(_ packet: inout Packet) throws(AVError) {
    if unsafe packets.count == count {
      guard let fresh = unsafe av_packet_alloc() else { throw AVError(.allocate("a packet"), code: -12) }
      unsafe packets.append(fresh)
    }
    byteCount += packet.byteCount
    unsafe av_packet_move_ref(packets[count], packet.raw)
    count += 1
  }

  func clear() {
    for index in 0..<count { unsafe av_packet_unref(packets[index]) }
    count = 0
    byteCount = 0
  }

  /// Decode time of the first sample.
  var start: Int64 { unsafe packets[0].pointee.dts }

  func bytes(of index: Int) -> UnsafeRawBufferPointer {
    unsafe UnsafeRawBufferPointer(start: packets[index].pointee.data, count: Int(packets[index].pointee.size))
  }

  func duration(of index: Int) -> UInt32 { unsafe UInt32(clamping: packets[index].pointee.duration) }

  /// The duration that all samples have; nil where they differ.
  var commonDuration: UInt32? {
    let first = duration(of: 0)
    return (1..<max(1, count)).allSatisfy { duration(of: $0) == first } ? first : nil
  }

  /// The caller sees to it that none is negative.
  func compositionOffset(of index: Int) -> UInt32 {
    unsafe UInt32(clamping: packets[index].pointee.pts - packets[index].pointee.dts)
  }

  /// ISO/IEC 14496-12 §8.8.3.1: depends on no other sample, or is no sync sample and depends on others.
  func flags(of index: Int) -> UInt32 {
    unsafe areKeys || packets[index].pointee.flags & AV_PKT_FLAG_KEY != 0 ? 0x0200_0000 : 0x0101_0000
  }
}
