import HLS
import LibAV
import Storage

/// Reads the packets of one run in the order of the file, times counted from the run's first presentation: that of the
/// picture, or of the sound where there is no picture.
final class RunReader {
  let run: ExportRun
  private var input: MediaInput
  private let bytes: RunBytes
  private let trackOfStream: [Int: Int]
  private let leading: Int
  /// In 90 kHz ticks; nil until the leading track's first packet has come.
  private var origin: Int64?
  private var waiting: [HeldPacket] = []
  private var nextWaiting = 0
  /// Packets that may come before the first one of the leading track: more is no file of this project.
  private static let maximumWaiting = 1_000

  /// - Parameter trackOfStream: tracks of the export by stream index.
  init(
    _ tree: Tree, _ run: ExportRun, trackOfStream: [Int: Int], interruption: Interruption
  ) throws(ExportError) {
    self.run = run
    self.trackOfStream = trackOfStream
    leading = run.streams.first?.index ?? 0
    bytes = RunBytes(tree, run.key, run.segments)
    input = try RunReader.open(bytes, tree.path(of: run.key), interruption)
  }

  /// The streams of a run, from its init section and as many segments as libav wants to see.
  static func streams(
    _ tree: Tree, _ key: RunKey, _ segments: [SegmentName], interruption: Interruption
  ) throws(ExportError) -> [StreamInfo] {
    let input = try open(RunBytes(tree, key, segments), tree.path(of: key), interruption)
    return [input.bestVideo, input.bestAudio].compactMap(\.self)
  }

  private static func open(
    _ bytes: RunBytes, _ name: String, _ interruption: Interruption
  ) throws(ExportError) -> MediaInput {
    do throws(AVError) {
      return try MediaInput(InputRequest(url: name, format: "mp4"), source: bytes, interruption: interruption)
    } catch {
      throw translated(error, bytes)
    }
  }

  /// Fills `packet` with the next one, its times counted from the run's start in `packet.timeBase`.
  /// - Returns: its track; nil at the end.
  func next(into packet: inout Packet) throws(ExportError) -> Int? {
    if origin == nil { try findOrigin() }
    while true {
      if nextWaiting < waiting.count {
        waiting[nextWaiting].give(to: &packet)
        nextWaiting += 1
      } else {
        waiting.removeAll()
        nextWaiting = 0
        guard try read(into: &packet) else { return nil }
      }
      guard let track = trackOfStream[packet.streamIndex], let origin, let dts = packet.dts else { continue }
      let start = RationalTime.ticks.convert(origin, to: packet.timeBase)
      packet.pts = packet.pts.map { $0 - start }
      packet.dts = dts - start
      return track
    }
  }

  private func findOrigin() throws(ExportError) {
    while waiting.count < RunReader.maximumWaiting {
      var packet = try newPacket()
      guard try read(into: &packet) else { break }
      let isLeading = packet.streamIndex == leading
      let time = packet.timeBase.convert(packet.pts ?? 0, to: .ticks)
      waiting.append(HeldPacket(packet))
      if isLeading {
        origin = time
        return
      }
    }
    origin = waiting.first.map { $0.ticks } ?? 0
  }

  private func read(into packet: inout Packet) throws(ExportError) -> Bool {
    let isThere: Bool
    do throws(AVError) {
      isThere = try input.read(into: &packet)
    } catch {
      throw RunReader.translated(error, bytes)
    }
    if !isThere, let failure = bytes.failure { throw .storage(failure) }
    return isThere
  }

  private static func translated(_ error: AVError, _ bytes: RunBytes) -> ExportError {
    if let failure = bytes.failure { return .storage(failure) }
    return error.kind == .stopped ? .stopped : .media(error)
  }
}

/// A packet that waits in an array, where an owner that cannot be copied cannot stand by itself.
private final class HeldPacket {
  private var packet: Packet

  init(_ packet: consuming Packet) { self.packet = packet }

  var ticks: Int64 { packet.timeBase.convert(packet.pts ?? packet.dts ?? 0, to: .ticks) }
  func give(to other: inout Packet) { other.take(from: &packet) }
}

func newPacket() throws(ExportError) -> Packet {
  do throws(AVError) {
    return try Packet()
  } catch {
    throw .media(error)
  }
}
