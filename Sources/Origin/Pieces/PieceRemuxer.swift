import HLS
import LibAV
import Storage

/// Where a segment begins in the run's time, per track.
struct PiecePlace: Equatable {
  /// Decode time of the leading track (picture, else sound), in 90 kHz ticks.
  var ticks: Int64 = 0
  /// Decode time of the sound beside pictures, in samples; nil where none has been written.
  var samples: Int64?
  /// Where the sound that the piece had ends, in samples of the run's time; nil where only the segment is known.
  var heard: Int64?
}

/// Why a piece is left out.
enum PieceError: Error, CustomStringConvertible {
  /// The piece itself is at fault.
  case unusable(String)
  case storage(StorageError)

  var description: String {
    switch self {
    case .unusable(let reason): reason
    case .storage(let error): error.description
    }
  }
}

/// Makes one segment of one phone piece, a whole MP4 of its own, without encoding anew unless its pictures are to be turned.
///
/// Each piece has the encoder's priming before its sound and padding behind it; `PieceSound` says which frames are taken.
struct PieceRemuxer: ~Copyable {
  private var input: MediaInput
  private var muxer: FragmentMuxer
  private let streams: [StreamInfo]
  private let turner: PieceTurner?
  private var sound: [HeldPiecePacket] = []

  let initSection: [UInt8]
  /// 90 kHz ticks the piece says it lasts.
  var ticks: Int64 {
    guard let lead = streams.first, let duration = lead.duration else { return 0 }
    return lead.timeBase.convert(duration, to: .ticks)
  }

  init(_ tree: Tree, _ piece: EntryPath) throws(PieceError) {
    do throws(AVError) {
      let request = InputRequest(url: "file:\(tree.path(of: piece))", format: "mp4")
      let opened = try MediaInput(request, interruption: Interruption())
      let streams = [opened.bestVideo, opened.bestAudio].compactMap { $0 }
      var turner: PieceTurner?
      if let picture = opened.bestVideo, let filter = picture.rotation.filter {
        turner = try PieceTurner(picture, filter)
      }
      let made = try FragmentMuxer(
        tracks: streams.map { stream in
          FragmentTrack(
            parameters: stream.kind == .video ? turner?.parameters ?? stream.parameters : stream.parameters,
            frameRate: stream.frameRate)
        })
      guard let bytes = made.initSection else {
        throw AVError(
          .openMuxer("mp4"), code: invalidData, detail: "its codec has no configuration outside its packets")
      }
      input = opened
      muxer = made
      self.turner = turner
      self.streams = streams
      initSection = bytes
    } catch {
      throw .unusable(error.description)
    }
  }

  /// - Parameters:
  ///   - number: of the segment in its run.
  ///   - place: where the piece begins; where it ends, afterwards.
  ///   - limit: what already follows; nothing reaches beyond it.
  ///   - isLast: no piece will follow.
  ///   - sink: takes the segment's bytes, once its duration (90 kHz ticks) is known.
  mutating func write(
    number: Int, at place: inout PiecePlace, before limit: PiecePlace?, isLast: Bool,
    _ sink: (_ ticks: Int64, _ bytes: [UInt8]) throws(StorageError) -> Void
  ) throws(PieceError) {
    var bytes: [UInt8] = []
    let end: PiecePlace
    do throws(AVError) {
      end = try mux(from: place, before: limit, isLast: isLast)
      try muxer.releaseHeld()
      _ = try flush(into: &bytes)
    } catch {
      throw .unusable(error.description)
    }
    guard end.ticks > place.ticks, !bytes.isEmpty else { throw .unusable("it holds no media") }
    // Fragments count on from segment to segment (`mfhd`, ISO 14496-12 §8.8.5); each piece has a muxer of its own.
    if bytes.count >= 24, bytes[12..<16].elementsEqual("mfhd".utf8) {
      for index in 0..<4 { bytes[20 + index] = UInt8(truncatingIfNeeded: (number + 1) >> (24 - 8 * index)) }
    }
    do throws(StorageError) {
      try sink(end.ticks - place.ticks, bytes)
    } catch {
      throw .storage(error)
    }
    place = end
  }

  private mutating func flush(into bytes: inout [UInt8]) throws(AVError) -> Bool {
    do throws(FlushError<AVError>) {
      return try muxer.flushChunk { (span: RawSpan) throws(AVError) in
        unsafe span.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
      }
    } catch {
      switch error {
      case .libav(let error), .sink(let error): throw error
      }
    }
  }

  /// The pictures written so far.
  private struct Pictures {
    var end: PiecePlace
    let limit: Int64
    /// What is added to all times of the piece, in 90 kHz ticks; nil before the first picture.
    var shift: Int64?
    /// From the first decode time to the first presentation, in 90 kHz ticks.
    var lead: Int64 = 0
    var lastTime: Int64
  }

  private mutating func mux(
    from place: PiecePlace, before limit: PiecePlace?, isLast: Bool
  ) throws(AVError) -> PiecePlace {
    guard let lead = streams.first else { return place }
    var pictures = Pictures(end: place, limit: limit?.ticks ?? .max, lastTime: place.ticks - 1)
    var packet = try Packet()
    while try input.read(into: &packet) {
      guard let track = streams.firstIndex(where: { $0.index == packet.streamIndex }), packet.dts != nil else {
        packet.clear()
        continue
      }
      if track == 1 || lead.kind == .audio {
        packet.rescale(to: muxer.timeBase(of: streams.count - 1))
        sound.append(HeldPiecePacket(packet))
        packet = try Packet()
      } else if let turner {
        try turner.turn(packet) { turned throws(AVError) in try write(&turned, &pictures) }
        packet.clear()
      } else {
        try write(&packet, &pictures)
      }
    }
    try turner?.finish { turned throws(AVError) in try write(&turned, &pictures) }
    if lead.kind == .video, pictures.shift == nil { return place }
    try muxSound(
      from: place, shift: pictures.shift, lead: pictures.lead, end: &pictures.end, before: limit, isLast: isLast)
    return pictures.end
  }

  private mutating func write(_ packet: inout Packet, _ pictures: inout Pictures) throws(AVError) {
    packet.rescale(to: muxer.timeBase(of: 0))
    guard let decoded = packet.dts else { return packet.clear() }
    if pictures.shift == nil {
      guard packet.isKey else {
        throw AVError(
          .read(input: input.name.description), code: invalidData, detail: "it does not start with a key frame")
      }
      pictures.shift = pictures.end.ticks - decoded
      pictures.lead = max(0, (packet.pts ?? decoded) - decoded)
    }
    let shift = pictures.shift ?? 0
    let time = max(decoded + shift, pictures.lastTime + 1)
    guard time < pictures.limit else { return packet.clear() }
    // Encoders do not say how long a picture lasts.
    if packet.duration <= 0 { packet.duration = time - pictures.lastTime }
    packet.pts = max(time, (packet.pts ?? decoded) + shift)
    packet.dts = time
    pictures.lastTime = time
    pictures.end.ticks = time + packet.duration
    try muxer.write(&packet, track: 0)
  }

  /// Writes the frames of sound that belong between `place` and `end`. Where there are no pictures the piece's own length
  /// sets the end.
  private mutating func muxSound(
    from place: PiecePlace, shift: Int64?, lead: Int64, end: inout PiecePlace, before limit: PiecePlace?, isLast: Bool
  ) throws(AVError) {
    let track = streams.count - 1
    guard let info = streams.last, info.kind == .audio, let first = sound.first, let last = sound.last else { return }
    let unit = muxer.timeBase(of: track)
    let frame = Int64(info.parameters.frameSize > 0 ? info.parameters.frameSize : Int(max(1, first.duration)))
    let moved = RationalTime.ticks.convert(shift ?? place.ticks, to: unit)
    if shift == nil { end.ticks = place.ticks + max(1, ticks) }
    let start = info.startTime ?? 0
    let stop = min(
      RationalTime.ticks.convert(end.ticks + lead, to: unit) - moved, last.time + last.duration,
      info.duration.map { info.timeBase.convert(start + $0, to: unit) } ?? .max)
    let begin = info.timeBase.convert(start, to: unit)
    let policy = PieceSound(
      frame: frame, overlaps: info.codec == .aac, content: begin..<max(begin, stop), moved: moved,
      limit: limit?.samples ?? .max, isLast: isLast || limit != nil)
    // What is shorter in a file without loss is shorter out of the decoder; otherwise the file leaves padding out.
    let isExact = info.codec == .flac || info.codec == .alac
    let sources = sound.map {
      PieceSound.Source(
        time: $0.time, length: isExact ? $0.duration : frame,
        isEven: info.codec != .aac || PieceSound.Source.isEven(aac: $0.head))
    }
    for taken in policy.place(sources, after: place.samples.map { .init(end: $0, heard: place.heard) }) {
      let source = sources[taken.index]
      var packet = try sound[taken.index].shared()
      packet.pts = taken.time
      packet.dts = taken.time
      packet.duration = source.length
      end.samples = taken.time + source.length
      try muxer.write(&packet, track: track)
    }
    end.heard = moved + max(begin, stop)
    sound.removeAll()
  }
}

/// `AVERROR_INVALIDDATA`.
private let invalidData: Int32 = -1_094_995_529

/// A packet that waits in an array, where an owner that cannot be copied cannot stand by itself.
private final class HeldPiecePacket {
  private let packet: Packet

  init(_ packet: consuming Packet) { self.packet = packet }

  var time: Int64 { packet.pts ?? 0 }
  var duration: Int64 { packet.duration }
  var head: [UInt8] {
    packet.withBytes { bytes in unsafe bytes.withUnsafeBytes { unsafe Array($0.prefix(3)) } }
  }

  func shared() throws(AVError) -> Packet { try packet.shared() }
}
