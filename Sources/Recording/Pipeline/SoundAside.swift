import LibAV

/// The sound of a file that stores it far from its picture, read by a demuxer of its own: what belongs together is then
/// read together, and nothing waits in memory or is taken for missing.
final class SoundAside {
  private let stream: Int
  private var input: MediaInput?
  private var sound: Packet
  private var hasSound = false
  private var rest: Packet
  private var hasRest = false

  /// - Parameters:
  ///   - stream: index of the sound.
  ///   - count: packets of it that have been read.
  init(_ request: InputRequest, interruption: Interruption, stream: Int, after count: Int) throws(AVError) {
    self.stream = stream
    sound = try Packet()
    rest = try Packet()
    input = try MediaInput(request, interruption: interruption)
    input?.select([stream])
    for _ in 0..<count where try !Self.read(&input, into: &sound, { $0 == stream }) { break }
  }

  /// Gives the next packet in the order of decode times; false at the end of both.
  ///
  /// - Parameter main: the input itself, which gives the picture.
  func read(into packet: inout Packet, beside main: inout MediaInput?) throws(AVError) -> Bool {
    let stream = stream
    if !hasSound { hasSound = try Self.read(&input, into: &sound) { $0 == stream } }
    if !hasRest { hasRest = try Self.read(&main, into: &rest) { $0 != stream } }
    if hasSound, !hasRest || Self.time(sound) <= Self.time(rest) {
      packet.take(from: &sound)
      hasSound = false
      return true
    }
    guard hasRest else { return false }
    packet.take(from: &rest)
    hasRest = false
    return true
  }

  private static func read(_ input: inout MediaInput?, into packet: inout Packet, _ isWanted: (Int) -> Bool)
    throws(AVError) -> Bool
  {
    while try input?.read(into: &packet) ?? false { if isWanted(packet.streamIndex) { return true } }
    return false
  }

  /// In microseconds; what has no time is not to wait.
  private static func time(_ packet: borrowing Packet) -> Int64 {
    (packet.dts ?? packet.pts).map { packet.timeBase.convert($0, to: .microseconds) } ?? .min
  }
}
