import LibAV

/// Turns the pictures of a piece whose display matrix wants them turned: players of HLS do not look at the matrix, so this
/// is the one case in which a piece is encoded anew.
final class PieceTurner {
  let parameters: CodecParameters
  private var decoder: Decoder
  private var graph: FilterGraph
  private var encoder: VideoEncoder
  private var decoded: Frame
  private var turned: Frame
  private var packet: Packet

  /// Bits per second for each picture element and second, where the piece does not tell: H.264 of a phone.
  private static let bitsPerElement = 0.1

  init(_ stream: StreamInfo, _ filter: String) throws(AVError) {
    let rate = stream.frameRate.isKnown ? stream.frameRate : RationalTime(30, 1)
    graph = try FilterGraph(
      input: .video(
        width: stream.width, height: stream.height, format: stream.parameters.pixelFormat, timeBase: stream.timeBase,
        frameRate: rate, sampleAspect: stream.sampleAspect), description: "\(filter),format=yuv420p")
    let guess = Double(stream.width * stream.height) * rate.value * PieceTurner.bitsPerElement
    var settings = VideoEncoderSettings(
      width: graph.outputWidth, height: graph.outputHeight, frameRate: rate,
      bitRate: stream.parameters.bitRate > 0 ? stream.parameters.bitRate : Int64(max(100_000, min(guess, 1e8))),
      maximumGOP: 1_000)
    settings.sampleAspect = graph.outputSampleAspect
    settings.color = stream.parameters.color
    encoder = try VideoEncoder(settings)
    parameters = encoder.parameters
    decoder = try Decoder(stream: stream)
    decoded = try Frame()
    turned = try Frame()
    packet = try Packet()
  }

  /// Gives what comes out for `input`, in 90 kHz ticks.
  func turn(_ input: borrowing Packet, _ body: (inout Packet) throws(AVError) -> Void) throws(AVError) {
    try decoder.send(input)
    try decode(body)
  }

  /// Gives what is left.
  func finish(_ body: (inout Packet) throws(AVError) -> Void) throws(AVError) {
    try decoder.drain()
    try decode(body)
    try encoder.drain()
    try encode(body)
  }

  private func decode(_ body: (inout Packet) throws(AVError) -> Void) throws(AVError) {
    while try decoder.receive(into: &decoded) == .produced {
      try graph.send(&decoded)
      while try graph.receive(into: &turned) == .produced {
        turned.rescale(to: .ticks)
        try encoder.send(turned)
        try encode(body)
      }
    }
  }

  private func encode(_ body: (inout Packet) throws(AVError) -> Void) throws(AVError) {
    while try encoder.receive(into: &packet) == .produced { try body(&packet) }
  }
}
