import CLibAV

/// One track of a fragmented MP4.
package struct FragmentTrack: Sendable {
  package let parameters: CodecParameters
  /// Nominal frame rate of video, for the header and for the last sample's duration; unknown (0/0) is allowed.
  package var frameRate: RationalTime = RationalTime(0, 0)

  package init(parameters: CodecParameters, frameRate: RationalTime = RationalTime(0, 0)) {
    self.parameters = parameters
    self.frameRate = frameRate
  }
}

/// Why a flush failed: in libav, or in the caller's sink.
package enum FlushError<Sink: Error>: Error {
  case libav(AVError)
  case sink(Sink)
}
extension FlushError: Equatable where Sink: Equatable {}
extension FlushError: Sendable where Sink: Sendable {}

/// Writes fragmented MP4 (ISO/IEC 14496-12 §8.8) with libav's mp4 muxer: one init section, then one moof+mdat per flush,
/// each with tfdt, default-base-is-moof, and without sidx, mfra or edit lists. Fragments of packets that go in as they are
/// are written by `PlainFragments`. Owns the `AVFormatContext`.
///
/// A packet is held back per track until the next one of that track comes: then its duration is the distance of their
/// decode times, so a fragment ends exactly where the next one starts. So the packet that opens a segment is written first
/// and the flush that closes the segment before it comes next; only what was written before is flushed.
@safe package struct FragmentMuxer: ~Copyable {
  /// The init section; nil until it is known. Known at once, but for codecs whose configuration is in their packets
  /// (AC-3, E-AC-3 …): then with the first flush after every such track has given a packet.
  package private(set) var initSection: [UInt8]?
  private let raw: UnsafeMutablePointer<AVFormatContext>
  private let outlet: ByteOutlet
  private let tracks: [Track]
  private var plain: PlainFragments?

  private final class Track {
    let timeBase: RationalTime
    let fallbackDuration: Int64
    let needsPacketForHeader: Bool
    var held: Packet
    var hasHeld = false
    /// Packets given to libav since the last flush.
    var pending = 0
    var hasWritten = false
    /// Decode time at which the samples given to libav end.
    var end: Int64?
    var lastDuration: Int64?
    /// The muxer's lead in `timeBase`.
    var lead: Int64 = 0
    /// Frames of reordering, as far as the stream's header tells, in `timeBase`.
    let expectedLead: Int64

    init(timeBase: RationalTime, fallbackDuration: Int64, reorderDepth: Int, needsPacketForHeader: Bool) throws(AVError)
    {
      expectedLead = fallbackDuration * Int64(reorderDepth)
      self.timeBase = timeBase
      self.fallbackDuration = fallbackDuration
      self.needsPacketForHeader = needsPacketForHeader
      held = try Packet()
    }
  }

  /// - Parameters:
  ///   - tracks: one or more, with the codec configuration in their parameters. Video counts in 90 kHz ticks, sound in
  ///     samples.
  ///   - isPlain: false lets libav write every fragment, for comparison.
  package init(tracks: [FragmentTrack], isPlain: Bool = true) throws(AVError) {
    let outlet = try ByteOutlet()
    let waits = tracks.contains { FragmentMuxer.needsPacketForHeader($0.parameters.codec) }
    let raw = try unsafe FragmentMuxer.open(tracks, outlet, delaysHeader: waits)
    do throws(AVError) {
      var made: [Track] = []
      for (index, track) in tracks.enumerated() {
        guard let stream = unsafe raw.pointee.streams[index] else { continue }
        let timeBase = unsafe RationalTime(stream.pointee.time_base)
        made.append(
          try Track(
            timeBase: timeBase, fallbackDuration: FragmentMuxer.nominalDuration(track, timeBase),
            reorderDepth: track.parameters.kind == .video ? track.parameters.reorderDepth : 0,
            needsPacketForHeader: FragmentMuxer.needsPacketForHeader(track.parameters.codec)))
      }
      self.tracks = made
    } catch {
      unsafe avformat_free_context(raw)
      throw error
    }
    unsafe avio_flush(outlet.context)
    unsafe self.raw = raw
    self.outlet = outlet
    plain = isPlain ? PlainFragments(tracks) : nil
    initSection = waits ? nil : outlet.takeKept()
  }

  // What libav still holds is dropped with it: a trailer is never written.
  deinit { unsafe avformat_free_context(raw) }

  /// Unit of the times of a track: 1/90000 for video, 1/sample rate for sound.
  package func timeBase(of track: Int) -> RationalTime { tracks[track].timeBase }

  /// What is added to all times of the run, in 90 kHz ticks: enough that the first decode time is 0 where pictures are
  /// reordered; 0 for all other media, and nil before it is settled by the first packets. All tracks move together.
  ///
  /// The other way, negative composition offsets (`negative_cts_offsets`), is as good for browsers. But libav's own
  /// demuxer, and with it every player and tool built on it, then shows the picture late by the reordering (measured with
  /// 5.1.9: 40 ms for one B-frame, 80 ms for a pyramid), because no edit list in a fragmented file can tell it otherwise.
  package private(set) var lead: Int64?

  /// Decode time in `timeBase(of:)` at which the samples given to libav so far end, so the tfdt of the next fragment less
  /// the lead; nil before the first. The packet held back is not among them.
  package func end(of track: Int) -> Int64? { tracks[track].end }

  /// True when a flush would write a fragment.
  package var hasPending: Bool { tracks.contains { $0.pending > 0 } }

  /// Takes a packet, which is clear afterwards. Its times are converted to `timeBase(of:)`; they must be known, and DTS
  /// must increase within the track. DTS below 0 at the start (reordering) becomes the `lead`.
  package mutating func write(_ packet: inout Packet, track index: Int) throws(AVError) {
    let track = tracks[index]
    if packet.timeBase != track.timeBase { packet.rescale(to: track.timeBase) }
    guard let dts = packet.dts else {
      throw AVError(.mux("a fragment"), code: -22, detail: "a packet without a decode time")
    }
    if track.hasHeld, let heldDTS = track.held.dts {
      guard dts > heldDTS else {
        throw AVError(.mux("a fragment"), code: -22, detail: "decode time \(dts) after \(heldDTS)")
      }
      try release(track, index, duration: dts - heldDTS)
    }
    track.held.take(from: &packet)
    track.hasHeld = true
  }

  /// Writes one fragment with what was written before the packets held back, and delivers its bytes to `sink`: first moof
  /// and the head of mdat, then the media data, in pieces of any size. Nothing pending, or the init section still unknown
  /// for want of a packet: nothing is delivered. A failed sink leaves the muxer unusable.
  ///
  /// - Returns: whether a fragment was delivered.
  @discardableResult
  package mutating func flushChunk<E: Error>(_ sink: (RawSpan) throws(E) -> Void) throws(FlushError<E>) -> Bool {
    guard hasPending else { return false }
    if plain != nil {
      try plain?.flush(sink)
      for track in tracks { track.pending = 0 }
      return true
    }
    if initSection == nil {
      guard tracks.allSatisfy({ !$0.needsPacketForHeader || $0.hasWritten }) else { return false }
      let result = unsafe av_write_frame(raw, nil)
      guard result >= 0 else { throw .libav(AVError(.mux("the init section"), code: result)) }
      unsafe avio_flush(outlet.context)
      initSection = outlet.takeKept()
    }
    var failure: E?
    let result = outlet.lending { bytes in
      do throws(E) {
        try sink(bytes)
        return true
      } catch {
        failure = failure ?? error
        return false
      }
    } _: {
      let result = unsafe av_write_frame(raw, nil)
      unsafe avio_flush(outlet.context)
      return result
    }
    if let failure { throw .sink(failure) }
    let ioError = unsafe outlet.context.pointee.error
    guard result >= 0, ioError >= 0 else {
      throw .libav(AVError(.mux("a fragment"), code: result < 0 ? result : ioError))
    }
    for track in tracks { track.pending = 0 }
    return true
  }

  /// Gives libav the packets held back; a flush then writes the last fragment. The last sample of a track lasts as its
  /// packet says, else like the one before it, else one frame.
  package mutating func releaseHeld() throws(AVError) {
    for (index, track) in tracks.enumerated() where track.hasHeld {
      let duration = track.held.duration > 0 ? track.held.duration : track.lastDuration ?? track.fallbackDuration
      try release(track, index, duration: duration)
    }
  }

  /// Makes the packet held back last longer, by `duration` in `timeBase(of:)`.
  package mutating func prolongHeld(_ index: Int, by duration: Int64) {
    if tracks[index].hasHeld { tracks[index].held.duration += duration }
  }

  /// Called when the first packet goes to libav: first packets of other tracks are held back by then, if they are near.
  private mutating func settleLead() {
    var lead: Int64 = 0
    for track in tracks {
      let wanted = track.hasHeld ? max(0, -(track.held.dts ?? 0)) : track.expectedLead
      lead = max(lead, track.timeBase.convert(wanted, to: .ticks, rounding: .up))
    }
    for track in tracks { track.lead = RationalTime.ticks.convert(lead, to: track.timeBase) }
    self.lead = lead
  }

  private mutating func release(_ track: Track, _ index: Int, duration: Int64) throws(AVError) {
    track.held.duration = duration
    track.held.streamIndex = index
    if lead == nil { settleLead() }
    let dts = (track.held.dts ?? 0) + track.lead
    guard dts >= 0 else {
      throw AVError(.mux("a fragment"), code: -22, detail: "decode time \(dts) before the start of the run")
    }
    track.held.dts = dts
    track.held.pts = track.held.pts.map { $0 + track.lead }
    let end = dts - track.lead + duration
    if plain != nil {
      try plain?.add(&track.held, track: index)
    } else {
      let result = unsafe av_write_frame(raw, track.held.raw)
      guard result >= 0 else { throw AVError(.mux("a fragment"), code: result) }
      track.held.clear()
    }
    track.hasHeld = false
    track.hasWritten = true
    track.pending += 1
    track.end = end
    track.lastDuration = duration
  }

  private static func open(_ tracks: [FragmentTrack], _ outlet: ByteOutlet, delaysHeader: Bool) throws(AVError)
    -> UnsafeMutablePointer<AVFormatContext>
  {
    var context: UnsafeMutablePointer<AVFormatContext>?
    var result = unsafe avformat_alloc_output_context2(&context, nil, "mp4", nil)
    guard result >= 0, let context = unsafe context else {
      throw AVError(.openMuxer("mp4"), code: result < 0 ? result : -12)
    }
    do throws(AVError) {
      unsafe context.pointee.pb = outlet.context
      unsafe context.pointee.flags |= AVFMT_FLAG_CUSTOM_IO | AVFMT_FLAG_BITEXACT
      // Times are ours: nothing shifts them.
      unsafe context.pointee.avoid_negative_ts = 0
      for track in tracks {
        try unsafe FragmentMuxer.addStream(track, to: context)
      }
      var flags = "frag_custom+empty_moov+default_base_moof+skip_trailer+frag_discont"
      // The CMAF brand is for files of one track, and brings negative composition offsets.
      if tracks.count == 1, tracks[0].parameters.reorderDepth == 0 { flags += "+cmaf" }
      if delaysHeader { flags += "+delay_moov" }
      var options = try OptionList([
        MediaOption("movflags", flags), MediaOption("use_editlist", "0"), MediaOption("brand", "iso6"),
        MediaOption("video_track_timescale", "90000"), MediaOption("strict", "experimental"),
      ])
      result = unsafe avformat_write_header(context, &options.raw)
      guard result >= 0 else { throw AVError(.openMuxer("mp4"), code: result) }
    } catch {
      unsafe avformat_free_context(context)
      throw error
    }
    return unsafe context
  }

  private static func addStream(_ track: FragmentTrack, to context: UnsafeMutablePointer<AVFormatContext>)
    throws(AVError)
  {
    let stream = try unsafe makeStream(track, in: context)
    // The tag of the source's container means nothing here.
    unsafe stream.pointee.codecpar.pointee.codec_tag = track.parameters.codec == .hevc ? hvc1Tag : 0
  }

  private static func needsPacketForHeader(_ codec: CodecID) -> Bool {
    codec == .ac3 || codec == .eac3
  }

  private static func nominalDuration(_ track: FragmentTrack, _ timeBase: RationalTime) -> Int64 {
    if track.parameters.kind == .video {
      let rate = track.frameRate.isKnown ? track.frameRate : RationalTime(25, 1)
      return max(1, rate.inverse.convert(1, to: timeBase))
    }
    return max(1, Int64(track.parameters.frameSize))
  }
}

// Sendable: one owner, and libav gives muxers no thread affinity.
extension FragmentMuxer: @unchecked Sendable {}
