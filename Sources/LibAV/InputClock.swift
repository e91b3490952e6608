import CLibAV

// Times of inputs that run by a clock of their own.
extension MediaInput {
  /// PulseAudio's delay is not known when recording begins, and the times of the first packets tell a wrong one: they run
  /// ahead of their samples by a quarter of a second together. Of samples nothing is missing, so they lie before those
  /// of the packets that agree.
  mutating func settle() throws(AVError) {
    settles = false
    var agreeing = 0
    var span: Int64 = 0
    var end: Int64?
    // Some sources deliver seconds at once.
    while agreeing < 3, span < 1_000_000, !interruption.isStopped {
      let next = ReadAhead(try Packet())
      guard try readNext(into: &next.packet), let pts = next.packet.pts else { break }
      let error = end.map { next.packet.timeBase.convert(pts - $0, to: .microseconds).magnitude } ?? .max
      agreeing = error < 3_000 ? agreeing + 1 : 0
      end = pts + next.packet.duration
      span += next.packet.timeBase.convert(next.packet.duration, to: .microseconds)
      ahead.append(next)
    }
    guard var later = ahead.last?.packet.pts else { return }
    for earlier in ahead.dropLast().reversed() {
      later -= earlier.packet.duration
      earlier.packet.pts = later
      earlier.packet.dts = later
    }
  }

  /// How long a packet of a live input has waited to be read, because the input was being looked at.
  ///
  /// - Parameter time: of the packet, in microseconds.
  package func waited(at time: Int64) -> Duration {
    let passed = ContinuousClock.now - opened
    guard let startTime, passed < .seconds(15) else { return .zero }
    let waited = passed - .microseconds(time - startTime)
    return waited > .zero && waited < passed ? waited : .zero
  }

  /// Takes out of the packet's times what the wall clock was set by.
  mutating func unshift(_ packet: inout Packet) {
    guard let pts = packet.pts else { return }
    let error = deviceClock.error(
      of: packet.timeBase.convert(pts, to: .microseconds), wall: av_gettime(), monotonic: av_gettime_relative())
    guard error != 0 else { return }
    packet.pts = pts - RationalTime.microseconds.convert(error, to: packet.timeBase)
    packet.dts = packet.pts
  }
}

/// Devices stamp with the wall clock. What that is set by while they are read is taken out of their times, so that media
/// time goes on as if nothing had happened. Pure.
struct DeviceClock: Equatable, Sendable {
  /// Microseconds that may be the scheduler's doing, or that a clock is disciplined by.
  private static let tolerance: Int64 = 50_000
  /// Stamps further than this from the wall clock are of another one.
  private static let vicinity: Int64 = 60_000_000

  /// Microseconds by which the wall clock was set since the first look.
  private(set) var shift: Int64 = 0
  private var first: Int64?

  /// What is to be taken off a stamp, in microseconds.
  ///
  /// - Parameters:
  ///   - stamp: microseconds.
  ///   - wall: microseconds since the epoch, now.
  ///   - monotonic: microseconds since any fixed moment, now.
  mutating func error(of stamp: Int64, wall: Int64, monotonic: Int64) -> Int64 {
    let offset = wall - monotonic
    let first = first ?? offset
    self.first = first
    if abs(offset - first - shift) > Self.tolerance { shift = offset - first }
    // It may have been stamped before the clock was set.
    let (after, before) = (abs(stamp - wall), abs(stamp - wall + shift))
    return after < before && after < Self.vicinity ? shift : 0
  }
}
