import HLS
import LibAV
import Platform
import Storage

/// Writes one run: packets of its tracks come in, in any order between tracks; segments come out, committed.
///
/// Used by one thread. After a throw the run can be closed, and holds what was committed.
final class RunOutput {
  let run: Int
  private let session: Session
  private let formats: [TrackFormat]
  private let lead: Int
  let start: WallClockTime
  private let onCommit: @Sendable (EntryPath) -> Void

  private var push: Push?
  private var muxer: FragmentMuxer
  private var writer: RunWriter
  private var interleaver: Interleaver<WaitingPacket>
  private var cutter: SegmentCutter
  private var hasInitSection = false
  /// First presentation time of the run's leading track, in ticks.
  private var origin: Int64?
  /// Where the run's leading track is decoded first, in its time base.
  private var originDecode: Int64 = 0
  /// Where what was muxed of each track ends in presentation, in the muxer's time base.
  private var ends: [Int64]
  /// Where the leading track's samples of the open segment begin, in its time base.
  private var segmentDecodeStart: Int64 = 0
  /// What is whole in the open segment.
  private var wholeLength: Int64 = 0
  private var wholeEnd: Int64 = 0
  /// Bytes of the segment committed last.
  private var lastLength: Int64 = 0
  private var isFinished = false
  /// Packets given to the muxer since its last fragment.
  private var pending = 0
  /// A fragment of so many packets is written although the leading track asks for none: it has ended, or stays away.
  private static let mostPending = 1000
  /// Decode times of a track lie below its presentation times by this since it could last be cut, in its time base.
  private var reordering: [Int64?]
  /// Sound may go on for so many ticks behind the last picture: it comes in frames, and tracks rarely end together.
  private static let rest: Int64 = 5400
  /// In the muxer's time base.
  private var lastDecodeTimes: [Int64?]

  /// - Parameters:
  ///   - formats: of the tracks that the run has, at least one.
  ///   - start: wall-clock time of the run's origin.
  init(
    run: Int, formats: [TrackFormat], start: WallClockTime, session: Session, tree: Tree, key: RunKey,
    lock: borrowing RecordingLock, onCommit: @escaping @Sendable (EntryPath) -> Void
  ) throws(RecordingError) {
    self.run = run
    self.session = session
    self.formats = formats
    self.start = start
    self.onCommit = onCommit
    lead = formats.firstIndex { $0.parameters.kind == .video } ?? 0
    let rate = formats[lead].frameRate
    let frame = rate.isKnown ? rate.inverse.convert(1, to: .ticks) : 3000
    let configuration = session.configuration
    let isVideo = formats[lead].parameters.kind == .video
    cutter = SegmentCutter(
      segment: configuration.segmentTicks, chunk: configuration.chunkTicks,
      tolerance: isVideo ? TimeGrid.tolerance(frame: frame) : 0)
    // Slides are stored minutes apart, and their sound is small; what is live is not kept from the disk for long.
    let isLive = session.meter.isLive
    interleaver = Interleaver(
      tracks: formats.count, patience: isLive ? 15 * 90_000 : .max, capacity: isLive ? .max : 4 << 20)
    reordering = Array(repeating: nil, count: formats.count)
    ends = Array(repeating: 0, count: formats.count)
    lastDecodeTimes = reordering
    let tracks = formats.map { FragmentTrack(parameters: $0.parameters, frameRate: $0.frameRate) }
    muxer = try media { () throws(AVError) in try FragmentMuxer(tracks: tracks) }
    if key.rendition == configuration.rendition { push = session.push }
    push?.begin(run: run, tracks: tracks)
    writer = try spool { () throws(StorageError) in
      try RunWriter(tree: tree, key: key, lock: lock, isBulk: !isLive && !configuration.isPaced)
    }
    if countsTime { session.meter.add { $0.runs += 1 } }
    try commitInitSection()
  }

  /// Renditions are recorded at the same time; one of them counts it.
  private var countsTime: Bool { writer.key.rendition == session.configuration.rendition }
  /// Segments committed.
  var count: Int { writer.count }
  /// Wall-clock time at which the committed segments end.
  private(set) lazy var endTime: WallClockTime = start

  /// Takes a packet of `track`, its times the run's.
  func add(_ waiting: WaitingPacket, track: Int) throws(RecordingError) {
    guard let dts = waiting.packet.dts, let pts = waiting.packet.pts else { return }
    let reordering = waiting.canStart ? pts - dts : self.reordering[track] ?? (pts - dts)
    self.reordering[track] = reordering
    let time = waiting.packet.timeBase.convert(dts + reordering, to: .ticks)
    interleaver.add(waiting, time: time, bytes: waiting.packet.byteCount, track: track)
    try write()
  }

  /// Nothing more of `track`.
  func end(track: Int) throws(RecordingError) {
    interleaver.end(track: track)
    try write()
  }

  /// Commits the last segment; nothing more is added.
  func finish() throws(RecordingError) {
    guard !isFinished else { return }
    isFinished = true
    for track in formats.indices { interleaver.end(track: track) }
    try write()
    // The last picture is shown for as long as there is sound.
    let end = formats.indices.map { self.end(of: $0) }.max() ?? 0
    if end - self.end(of: lead) > Self.rest, formats[lead].parameters.kind == .video {
      muxer.prolongHeld(lead, by: end - self.end(of: lead))
    }
    try media { () throws(AVError) in try muxer.releaseHeld() }
    if origin != nil {
      try flush()
      try commit(until: wholeEnd)
    }
  }

  /// In ticks.
  private func end(of track: Int) -> Int64 { muxer.timeBase(of: track).convert(ends[track], to: .ticks) }

  /// Saves what is whole after a failure, and closes the run if that is still possible.
  func salvage(_ marker: MarkerName.Kind) {
    do throws(RecordingError) {
      if writer.hasOpenSegment, wholeLength > 0 {
        try commit(until: wholeEnd, length: wholeLength)
      }
      try close(marker)
    } catch {
      // The failure that led here is told; recovery keeps what is whole and closes the run.
      writer.leaveSegment()
      session.needsRecovery.store(true, ordering: .relaxed)
      session.log.warning("run", "run \(writer.key.run) stays open: \(error.message)")
    }
  }

  /// Closes the run.
  func close(_ kind: MarkerName.Kind) throws(RecordingError) {
    let marker = try spool { () throws(StorageError) in try writer.close(kind) }
    onCommit(EntryPath(key: writer.key, entry: .marker(marker)))
  }

  // MARK: Writing

  private func write() throws(RecordingError) {
    while let sample = interleaver.next() {
      guard sample.track == lead else {
        try mux(sample.element, sample.track)
        if pending > Self.mostPending, origin != nil { try flush() }
        continue
      }
      let isFirst = origin == nil
      if isFirst {
        origin = sample.time
        originDecode = decodeTime(sample.element, lead)
        segmentDecodeStart = originDecode
      }
      switch cutter.cut(at: sample.time, canStart: sample.element.canStart) {
      case .none:
        try mux(sample.element, lead)
      case .chunk:
        try mux(sample.element, lead)
        try flush()
      case .segment:
        let decodeStart = decodeTime(sample.element, lead)
        try mux(sample.element, lead)
        // What follows the cut in the other tracks goes in as well: it lets go of what the muxer holds back.
        for track in formats.indices where track != lead {
          if let next = interleaver.take(track: track) { try mux(next.element, track) }
        }
        try flush()
        try commit(until: place(decodedAt: decodeStart))
        segmentDecodeStart = decodeStart
      }
    }
  }

  /// Where a segment that ends, or begins, with what is decoded then does so in the run, in ticks: it lasts as long as its
  /// samples, although pictures of open GOPs are decoded longer before they are shown than others.
  private func place(decodedAt time: Int64) -> Int64 {
    (origin ?? 0) + muxer.timeBase(of: lead).convert(time - originDecode, to: .ticks)
  }

  private var segmentStart: Int64 { place(decodedAt: segmentDecodeStart) }

  private func decodeTime(_ waiting: WaitingPacket, _ track: Int) -> Int64 {
    waiting.packet.timeBase.convert(waiting.packet.dts ?? 0, to: muxer.timeBase(of: track))
  }

  private func mux(_ waiting: WaitingPacket, _ track: Int) throws(RecordingError) {
    waiting.packet.rescale(to: muxer.timeBase(of: track))
    // Times that differ in the source's unit may be the same in the muxer's.
    if let dts = waiting.packet.dts {
      let settled = max(dts, (lastDecodeTimes[track] ?? dts - 1) + 1)
      waiting.packet.dts = settled
      waiting.packet.pts = max(waiting.packet.pts ?? settled, settled)
      lastDecodeTimes[track] = settled
    }
    ends[track] = max(ends[track], (waiting.packet.pts ?? 0) + waiting.packet.duration)
    push?.offer(waiting.packet, run: run, track: track, canStart: track == lead && waiting.canStart)
    try media { () throws(AVError) in try muxer.write(&waiting.packet, track: track) }
    pending += 1
  }

  /// Writes what the muxer has as one chunk of the open segment.
  private func flush() throws(RecordingError) {
    pending = 0
    if hasInitSection {
      try openSegment()
      try deliver { bytes throws(StorageError) in try self.append(bytes) }
    } else {
      // The init section becomes known with the first chunk.
      var first: [UInt8] = []
      try deliver { (bytes: RawSpan) throws(StorageError) in
        for index in 0..<bytes.byteCount {
          first.append(unsafe bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self))
        }
      }
      try commitInitSection()
      guard hasInitSection else { return }
      try openSegment()
      try spool { () throws(StorageError) in try append(unsafe first.span.bytes) }
    }
    try spool { () throws(StorageError) in
      try session.withRoom(for: expectedLength) { () throws(StorageError) in try writer.flush() }
    }
    wholeLength = writer.openLength
    wholeEnd = place(decodedAt: muxer.end(of: lead) ?? segmentDecodeStart)
  }

  private func deliver(_ sink: (RawSpan) throws(StorageError) -> Void) throws(RecordingError) {
    do throws(FlushError<StorageError>) {
      try muxer.flushChunk(sink)
    } catch {
      switch error {
      case .libav(let error): throw RecordingError(error)
      case .sink(let error): throw RecordingError(error)
      }
    }
  }

  /// Bytes that a segment may come to: a quarter more than the one before.
  private var expectedLength: Int64 { lastLength * 5 / 4 }

  private func append(_ bytes: RawSpan) throws(StorageError) {
    try session.withRoom(for: expectedLength) { () throws(StorageError) in try writer.append(bytes) }
  }

  private func openSegment() throws(RecordingError) {
    guard !writer.hasOpenSegment else { return }
    try session.makeRoom(for: expectedLength)
    let time = session.date(of: writer.count, at: segmentStart, in: run, from: start)
    try spool { () throws(StorageError) in
      try session.withRoom(for: expectedLength) { () throws(StorageError) in try writer.openSegment(start: time) }
    }
  }

  private func commitInitSection() throws(RecordingError) {
    guard let bytes = muxer.initSection else { return }
    try spool { () throws(StorageError) in try writer.writeInitSection(unsafe bytes.span.bytes) }
    hasInitSection = true
    session.meter.add { $0.bytes += Int64(bytes.count) }
    onCommit(EntryPath(key: writer.key, entry: .initSection))
  }

  /// - Parameters:
  ///   - end: time of the run in ticks at which the segment ends, so that durations add up whatever the rounding.
  ///   - length: bytes of it that are whole; nil: all.
  private func commit(until end: Int64, length: Int64? = nil) throws(RecordingError) {
    guard writer.hasOpenSegment else { return }
    let ticks = end - segmentStart
    guard ticks > 0 else { return writer.abandonSegment() }
    let bytes = length ?? writer.openLength
    let name = try spool { () throws(StorageError) in
      try session.withRoom(for: 0) { () throws(StorageError) in
        try writer.commitSegment(ticks: ticks, length: length)
      }
    }
    wholeLength = 0
    lastLength = bytes
    session.configuration.keeper?.added(bytes)
    endTime = name.start.advanced(byTicks: ticks)
    session.meter.add {
      $0.segments += 1
      if self.countsTime { $0.ticks += ticks }
      $0.bytes += bytes
    }
    let milliseconds = ticks / 90
    session.log.info(
      "segment",
      "segment \(name.sequence)\(countsTime ? "" : " of \(writer.key.rendition)") recorded: \(milliseconds) ms, \(bytes) bytes",
      [
        "recording": .text(writer.key.recording.text), "rendition": .text(writer.key.rendition.text),
        "run": .text(writer.key.run.description),
        "sequence": .init(name.sequence), "ticks": .integer(ticks), "bytes": .integer(bytes),
      ])
    onCommit(EntryPath(key: writer.key, entry: .segment(name)))
  }
}
