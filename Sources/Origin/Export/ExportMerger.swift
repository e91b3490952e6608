import HLS
import LibAV
import Storage

/// Brings the packets of all renditions onto the one timeline, in about the order of their times.
final class ExportMerger {
  private(set) var timeline = ExportTimeline()
  private let tree: Tree
  private let plan: ExportPlan
  private let interruption: Interruption
  private var leading: Lane
  private var sides: [Lane]
  private var leadingHasEnded = false
  /// The latest decode time of each track and its unit.
  private var latest: [(time: Int64, timeBase: RationalTime)?]

  /// One rendition being read.
  private struct Lane {
    let runs: [ExportRun]
    var next = 0
    var reader: RunReader?
    /// Where the present run begins: on the timeline for the leading lane, on the wall clock for the others.
    var start: Int64 = 0
    var wallStart = WallClockTime(milliseconds: 0)
    /// A packet of a side lane whose time has not come.
    var waiting: Waiting?
  }

  /// A packet that has been read and its track.
  private final class Waiting {
    let track: Int
    private var packet: Packet

    init(_ packet: consuming Packet, track: Int) {
      self.packet = packet
      self.track = track
    }

    var ticks: Int64 { packet.timeBase.convert(packet.dts ?? 0, to: .ticks) }
    func give(to other: inout Packet) { other.take(from: &packet) }
  }

  init(_ tree: Tree, _ plan: ExportPlan, _ interruption: Interruption) {
    self.tree = tree
    self.plan = plan
    self.interruption = interruption
    leading = Lane(runs: plan.renditions.first?.runs ?? [])
    sides = plan.renditions.dropFirst().map { Lane(runs: $0.runs) }
    latest = plan.tracks.map { _ in nil }
  }

  /// Fills `packet` with the next one, in times of the export.
  /// - Returns: its track; nil when all has been given.
  func next(into packet: inout Packet) throws(ExportError) -> Int? {
    while true {
      if let track = try nextOfSides(into: &packet) {
        if keepsOrder(&packet, track) { return track }
        continue
      }
      if leadingHasEnded { return nil }
      if let track = try nextOfLeading(into: &packet), keepsOrder(&packet, track) { return track }
    }
  }

  private func nextOfLeading(into packet: inout Packet) throws(ExportError) -> Int? {
    guard let reader = leading.reader else {
      guard leading.next < leading.runs.count else {
        leadingHasEnded = true
        return nil
      }
      // A run is closed when the next begins; what was captured beside the last one may go on a little longer.
      timeline.finishRun()
      let run = try open(&leading)
      leading.start = timeline.begin(wallStart: run.segments.first?.start ?? run.key.run.start)
      return nil
    }
    guard let track = try reader.next(into: &packet) else {
      leading.reader = nil
      return nil
    }
    packet.shift(byTicks: leading.start)
    timeline.extend(to: packet.timeBase.convert((packet.pts ?? 0) + packet.duration, to: .ticks))
    return track
  }

  private func nextOfSides(into packet: inout Packet) throws(ExportError) -> Int? {
    for index in sides.indices {
      while let waiting = try head(of: index) {
        guard let time = timeline.place(waiting.ticks, after: sides[index].wallStart) else {
          // Nothing leads yet: it may still turn out to belong to the first run.
          if timeline.isEmpty { break }
          sides[index].waiting = nil
          continue
        }
        guard time < timeline.end || leadingHasEnded else { break }
        let shift = time - waiting.ticks
        waiting.give(to: &packet)
        packet.shift(byTicks: shift)
        sides[index].waiting = nil
        return waiting.track
      }
    }
    return nil
  }

  private func head(of index: Int) throws(ExportError) -> Waiting? {
    while sides[index].waiting == nil {
      guard let reader = sides[index].reader else {
        guard sides[index].next < sides[index].runs.count else { return nil }
        let run = try open(&sides[index])
        sides[index].wallStart = run.segments.first?.start ?? run.key.run.start
        continue
      }
      var packet = try newPacket()
      if let track = try reader.next(into: &packet) {
        sides[index].waiting = Waiting(packet, track: track)
      } else {
        sides[index].reader = nil
      }
    }
    return sides[index].waiting
  }

  private func open(_ lane: inout Lane) throws(ExportError) -> ExportRun {
    let run = lane.runs[lane.next]
    lane.next += 1
    var tracks: [Int: Int] = [:]
    for stream in run.streams { tracks[stream.index] = plan.track(of: run.key.rendition, stream.kind) }
    lane.reader = try RunReader(tree, run, trackOfStream: tracks, interruption: interruption)
    return run
  }

  /// Where two runs meet, sound of the later may begin before that of the earlier ended: such a packet is left out. A
  /// picture that others may need is moved instead.
  private func keepsOrder(_ packet: inout Packet, _ track: Int) -> Bool {
    guard let dts = packet.dts else { return false }
    if let last = latest[track] {
      let limit = last.timeBase.convert(last.time, to: packet.timeBase)
      if dts <= limit {
        guard plan.tracks[track].kind == .video else { return false }
        packet.dts = limit + 1
        packet.pts = max(packet.pts ?? dts, limit + 1)
      }
    }
    latest[track] = (packet.dts ?? dts, packet.timeBase)
    return true
  }
}

extension Packet {
  fileprivate mutating func shift(byTicks ticks: Int64) {
    let distance = RationalTime.ticks.convert(ticks, to: timeBase)
    pts = pts.map { $0 + distance }
    dts = dts.map { $0 + distance }
  }
}
