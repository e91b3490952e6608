import LibAV

/// Decodes what a copied track consists of for as long as its source shows damage, to tell what is whole: bytes that were
/// changed on their way look like any others, and players stop at what they cannot decode. Pictures that may refer to a
/// damaged one are not whole either.
final class DamageCheck {
  /// What is looked at after each sign of damage, in ticks of media: it rarely comes alone.
  private static let span: Int64 = 60 * 90_000

  private var decoder: Decoder?
  /// The time looked at last, and up to which all are, in ticks.
  private var now: Int64 = 0
  private var until = Int64.min
  /// Pictures are left out until decoding can start.
  private var isSkipping = false
  /// Pictures shown before this, in the packets' time base, belong to what came before a place where decoding started;
  /// and whether that was whole.
  private var leading: (end: Int64, areWhole: Bool) = (.min, true)

  /// Damage was seen lately.
  var isLikely: Bool { now < until }

  /// The source shows damage, here or in another track.
  func warn() { until = now + Self.span }

  /// A run begins, and with it another count of time.
  func beginRun() {
    until = isLikely ? Self.span : .min
    now = 0
    decoder = nil
    isSkipping = false
    leading = (.min, true)
  }

  /// - Parameters:
  ///   - packet: the next one of the track.
  ///   - time: its decode time in ticks.
  func isWhole(
    _ packet: borrowing Packet, _ kind: PictureKind, at time: Int64, _ parameters: CodecParameters, lengthSize: Int?
  ) throws(RecordingError) -> Bool {
    now = time
    let isStart = kind == .start || kind == .openStart
    if packet.isCorrupt {
      warn()
      // What it refers to was not decoded, so nothing would tell.
      if decoder == nil, !isStart { isSkipping = true }
    }
    guard isSkipping || time < until else {
      decoder = nil
      return true
    }
    let pts = packet.pts ?? .max
    if isStart, decoder == nil || isSkipping {
      leading = (kind == .openStart ? pts : .min, !isSkipping)
      isSkipping = false
      decoder = try media { () throws(AVError) in
        try Decoder(parameters: parameters, timeBase: packet.timeBase, isStrict: true)
      }
    }
    guard !isSkipping, decoder != nil else { return !isSkipping }
    if pts < leading.end { return leading.areWhole }
    do throws(AVError) {
      var frame = try Frame()
      try decoder?.send(packet)
      while try decoder?.receive(into: &frame) == .produced {}
      return true
    } catch {
      guard error.kind != .outOfMemory else { throw RecordingError(error) }
      warn()
      isSkipping =
        parameters.kind == .video
        && !packet.withBytes { PictureKind.isReferredToByNone(parameters.codec, lengthSize, $0) }
      return false
    }
  }
}
