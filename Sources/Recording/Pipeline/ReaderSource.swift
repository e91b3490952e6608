import LibAV

extension Reader {
  /// One track of the input, and what becomes of it.
  final class Source {
    var stream: StreamInfo
    let chain: any TrackChain
    var filter: BitstreamFilter?
    /// Finds presentation times, where the container has none.
    var clock: PictureClock?
    /// Packets that the timeline has not answered yet, oldest first.
    var waiting: [Waiting] = []
    /// What the packets are, and what of it the container or the filter told.
    var parameters: CodecParameters
    var told: CodecParameters
    /// Where the packets placed last end, in ticks.
    var end: Int64 = 0
    /// Source's decode time of the packet placed last, and how far the track was filled for want of packets, in ticks.
    var decoded: Int64 = 0
    var filled: Int64 = 0
    /// Packets read.
    var count = 0
    var groups = PictureGroups()
    /// The container's, of the last packet that had both times.
    private var lastDecodeTime: Int64?
    /// Of the copied sound.
    private var form: SoundForm?
    var openStarts = 0
    var hasPackets = false
    /// Packets one after the other that were of another codec.
    private var foreign = 0
    /// Half a second of pictures.
    private static let mostForeign = 12

    init(stream: StreamInfo, chain: any TrackChain) throws(RecordingError) {
      self.stream = stream
      self.chain = chain
      parameters = stream.parameters
      told = parameters
      filter = chain is CopyChain ? try Source.filter(for: stream) : nil
    }

    private static func filter(for stream: StreamInfo) throws(RecordingError) -> BitstreamFilter? {
      guard let name = BitstreamFilter.forFragments(stream.parameters) else { return nil }
      return try media { () throws(AVError) in
        try BitstreamFilter(name, parameters: stream.parameters, timeBase: stream.timeBase)
      }
    }

    /// The input was opened anew.
    func reopen(_ stream: StreamInfo) throws(RecordingError) {
      if chain is CopyChain, let refusal = CopyableCodecs.refusal(of: stream) {
        throw RecordingError(.badInput, refusal)
      }
      try chain.reopen(stream)
      filter = chain is CopyChain ? try Source.filter(for: stream) : nil
      self.stream = stream
      parameters = stream.parameters
      told = parameters
      clock = nil
      form = nil
      lastDecodeTime = nil
      waiting = []
      hasPackets = false
      groups = PictureGroups()
      foreign = 0
      openStarts = 0
    }

    /// - Parameter lacksSome: the container tells the times of some pictures only.
    func needsClock(_ packet: borrowing Packet, lacksSome: Bool) throws(RecordingError) -> Bool {
      if clock == nil, chain is CopyChain, PictureClock.isNeeded(for: packet, of: stream, lacksSome: lacksSome) {
        clock = try PictureClock(stream, hasDecodeTimes: lacksSome || lastDecodeTime != nil, after: lastDecodeTime)
      }
      if packet.pts != nil { lastDecodeTime = packet.dts }
      return clock != nil
    }

    /// Whether a picture of a live transport stream has become something else: its encoder was started anew, and libav
    /// keeps to the codec that it had first. Throws where more than a few have.
    func isForeign(_ packet: borrowing Packet) throws(RecordingError) -> Bool {
      let codec = stream.codec
      guard stream.kind == .video, packet.withBytes({ PictureKind.isForeign(codec, $0) }) else {
        foreign = 0
        return false
      }
      foreign += 1
      guard foreign > Self.mostForeign else { return true }
      throw RecordingError(.unavailable, "what comes as \(codec) has become another codec")
    }

    /// Whether sound that is copied is of another rate or has other channels from this packet on.
    func changesForm(_ packet: borrowing Packet) throws(RecordingError) -> Bool {
      guard stream.kind == .audio, chain is CopyChain else { return false }
      let codec = stream.codec
      guard let found = packet.withBytes({ SoundForm(codec, $0) }), found != form else { return false }
      defer { form = found }
      // A filter of ADTS looks at the first header only.
      if form != nil, filter != nil { filter = try Source.filter(for: stream) }
      return form != nil
    }

    /// Frames that are reordered, according to the first packet: of a track that begins late nothing is known before.
    func reorderDepth(_ packet: borrowing Packet) -> Int {
      guard stream.parameters.reorderDepth == 0 else { return 0 }
      do throws(AVError) {
        var decoder = try Decoder(stream: stream)
        try decoder.send(packet)
        return decoder.reorderDepth
      } catch {
        return 0
      }
    }

    var timelineTrack: TimelineTrack {
      let isVideo = stream.kind == .video
      let isCopied = chain is CopyChain
      let usual =
        isVideo
        ? stream.usualFrameRate.inverse.convert(1, to: stream.timeBase)
        : RationalTime(1, Int32(stream.sampleRate > 0 ? stream.sampleRate : 48_000)).convert(
          Int64(stream.parameters.frameSize > 0 ? stream.parameters.frameSize : 1024), to: stream.timeBase)
      return TimelineTrack(
        timeBase: stream.timeBase, usualDuration: usual, reorderDepth: stream.parameters.reorderDepth,
        startsAtKey: isVideo, isCopied: isCopied,
        setsOrigin: isVideo && isCopied)
    }
  }

  final class Waiting {
    var packet: Packet
    /// What the packets are from this one on, where that changes.
    var parameters: CodecParameters?

    init(_ packet: consuming Packet) { self.packet = packet }
  }
}
