import LibAV

/// Decodes what a copied track consists of for as long as its source shows damage, to tell what is whole: bytes that were
/// changed on their way look like any others, and players stop at what they cannot decode. Pictures that may refer to a
/// damaged one are not whole either.
///
/// Of pictures that come over a network nothing is decoded, which would take more memory than copying may: networks check
/// what they carry, so it is whole or missing, and where something is missing the demuxer marks it. libav's parser passes
/// the mark on to the picture before, so that and the next one are taken for damaged.
final class DamageCheck {
  /// What is looked at after each sign of damage, in ticks of media: it rarely comes alone.
  private static let span: Int64 = 60 * 90_000

  private var isLive = false
  private var decoder: Decoder?
  /// The time looked at last, and up to which all are, in ticks.
  private var now: Int64 = 0
  private var until = Int64.min
  /// Pictures are left out until decoding can start.
  private var isSkipping = false
  /// Pictures shown before this, in the packets' time base, belong to what came before a place where decoding started;
  /// and whether that was whole.
  private var leading: (end: Int64, areWhole: Bool) = (.min, true)
  /// The live picture before was marked.
  private var wasMarked = false
  /// When the picture after a damaged live one is due, in ticks: a later one follows others that were lost.
  private var due: Int64?
  /// The packet at which decoding could start last, of stored pictures that do not tell how long they are.
  private var start: Packet?

  /// The packet looked at last is the first after pictures that were left out.
  private(set) var hasResumed = false

  /// Damage was seen lately.
  var isLikely: Bool { now < until }

  /// The source shows damage, here or in another track.
  func warn() { until = now + Self.span }

  /// A run begins, and with it another count of time.
  func beginRun(isLive: Bool) {
    self.isLive = isLive
    until = isLikely ? Self.span : .min
    now = 0
    decoder = nil
    isSkipping = false
    leading = (.min, true)
    wasMarked = false
    due = nil
    start = nil
  }

  /// - Parameters:
  ///   - packet: the next one of the track.
  ///   - time: its decode time in ticks.
  func isWhole(
    _ packet: borrowing Packet, _ kind: PictureKind, at time: Int64, _ parameters: CodecParameters, lengthSize: Int?
  ) throws(RecordingError) -> Bool {
    now = time
    hasResumed = false
    let isVideo = parameters.kind == .video
    let isStart = kind == .start || kind == .openStart
    if isStart, !isLive, parameters.codec == .h264, lengthSize == nil {
      start = try media { () throws(AVError) in try packet.shared() }
    }
    let goesByMarks = isLive && isVideo
    let isDamaged = packet.isCorrupt || wasMarked
    wasMarked = goesByMarks && packet.isCorrupt
    if packet.isCorrupt {
      warn()
      // What it refers to was not decoded, so nothing would tell.
      if decoder == nil, !isStart, !goesByMarks { isSkipping = true }
    }
    guard isSkipping || time < until else {
      decoder = nil
      return true
    }
    if let due, time > due { isSkipping = true }
    due = nil
    let pts = packet.pts ?? .max
    if isStart, goesByMarks ? isSkipping && !isDamaged : isSkipping || decoder == nil {
      leading = (kind == .openStart ? pts : .min, !isSkipping)
      hasResumed = isSkipping
      isSkipping = false
      if !goesByMarks { decoder = try checking(packet, parameters, isStrict: true) }
    }
    guard !isSkipping, goesByMarks || decoder != nil else { return !isSkipping }
    if pts < leading.end { return leading.areWhole }
    if try goesByMarks ? !isDamaged : decodes(packet) { return true }
    warn()
    isSkipping = isVideo
    if isVideo, packet.withBytes({ PictureKind.isReferredToByNone(parameters.codec, lengthSize, $0) }) {
      isSkipping = false
      if goesByMarks { due = time + packet.timeBase.convert(packet.duration, to: .ticks) * 3 / 2 }
    }
    return false
  }

  private func checking(_ packet: borrowing Packet, _ parameters: CodecParameters, isStrict: Bool)
    throws(RecordingError) -> Decoder
  {
    let timeBase = packet.timeBase
    return try media { () throws(AVError) in
      try Decoder(parameters: parameters, timeBase: timeBase, isStrict: isStrict, hasPixels: false)
    }
  }

  private func decodes(_ packet: borrowing Packet) throws(RecordingError) -> Bool {
    do throws(AVError) {
      var frame = try Frame()
      try decoder?.send(packet)
      while try decoder?.receive(into: &frame) == .produced {}
      return true
    } catch {
      guard error.kind != .outOfMemory else { throw RecordingError(error) }
      return false
    }
  }

  /// Whether the last picture of a source is all there: one that does not tell its length may have been cut anywhere. What
  /// its bits mean does not depend on what it refers to, so those between it and the last key frame are not missed.
  func isWholeAtEnd(_ packet: borrowing Packet, _ parameters: CodecParameters) throws(RecordingError) -> Bool {
    guard let start = start.take(), decoder == nil else { return true }
    var decoder = try checking(packet, parameters, isStrict: false)
    var isWhole = true
    do throws(AVError) {
      var frame = try Frame()
      if start.pts != packet.pts { try decoder.send(start) }
      while try decoder.receive(into: &frame) == .produced {}
      try decoder.send(packet)
      try decoder.drain()
      while try decoder.receive(into: &frame) == .produced {
        if frame.isDamaged, frame.pts == packet.pts { isWhole = false }
      }
    } catch {
      guard error.kind != .outOfMemory else { throw RecordingError(error) }
      isWhole = false
    }
    return isWhole
  }
}
