import LibAV
import Platform

/// Which renditions a track goes into.
enum Destination: Equatable, Sendable {
  /// All that hold the programme: its sound, and a picture that is copied.
  case programme
  /// One quality of the picture, counted from the highest.
  case rung(Int)
  /// The microphone beside the programme.
  case microphone
}

extension Session {
  /// The queues of all renditions that hold the programme, or may.
  private var programme: ArraySlice<HandoffQueue<TrackItem>> { outputs.dropLast() }

  private func queues(of destination: Destination) -> ArraySlice<HandoffQueue<TrackItem>> {
    switch destination {
    case .programme: programme.prefix(rungCount.load(ordering: .relaxed))
    case .rung(let index): outputs[index...index]
    case .microphone: outputs.suffix(1)
    }
  }

  /// Packets that wait for a writer at most: fewer where the source waits as well.
  private var limit: Int { meter.isLive ? .max : 64 }

  /// Passes an item on to each of the renditions.
  func put(_ item: @autoclosure () -> TrackItem, to destination: Destination = .programme) {
    for queue in queues(of: destination) { _ = queue.put(item(), limit: limit) }
  }

  /// Passes a packet on to each of the renditions, which share its payload; of a live programme it may be left out.
  func put(
    _ packet: consuming Packet, track: Int, run: Int, canStart: Bool, isPatient: Bool = false,
    to destination: Destination = .programme
  ) throws(RecordingError) {
    if destination != .microphone, meter.isLive, !isTaken(run, waiting: programme.map(\.count).max() ?? 0) {
      return
    }
    let queues = queues(of: destination)
    for queue in queues.dropFirst() {
      let shared = try media { () throws(AVError) in try packet.shared() }
      _ = queue.put(.packet(track: track, run: run, canStart: canStart, shared), isPatient: isPatient, limit: limit)
    }
    _ = queues.first?.put(
      .packet(track: track, run: run, canStart: canStart, packet), isPatient: isPatient, limit: limit)
  }
}
