import HLS
import Platform

extension StatusReport {
  /// A table for a person with a line of sums, each line ended.
  ///
  /// - Parameter width: columns of the terminal; nil where there is none, and then nothing is cut or left out.
  package func text(width: Int?) -> String {
    guard let totals else { return "no recordings in \(root); \(byteText(availableBytes)) free\n" }
    var table = TextTable(columns)
    for recording in recordings { table.add(row(recording)) }
    var lines = table.lines(width: width)
    for recording in recordings {
      if let problem = recording.problem { lines.append("\(recording.name) could not be read: \(problem)") }
    }
    lines.append("")
    lines.append(sentence(totals))
    return lines.joined(separator: "\n") + "\n"
  }

  private var columns: [TextTable.Column] {
    let front: [TextTable.Column] = [
      .init("RECORDING"), .init("STATE"), .init("RENDITIONS", dispensability: 6),
      .init("RUNS", isNumber: true, dispensability: 5), .init("SEGMENTS", isNumber: true, dispensability: 2),
      .init("DURATION", isNumber: true), .init("SIZE", isNumber: true, dispensability: 3),
    ]
    let own: [TextTable.Column] =
      switch place {
      case .spool:
        [
          .init("TO SEND", isNumber: true), .init("REFUSED", isNumber: true, dispensability: 1),
          .init("REMOVED", isNumber: true, dispensability: 7),
        ]
      case .root: [.init("MISSING", isNumber: true)]
      }
    return front + own + [.init("NEWEST", isNumber: true, dispensability: 4)]
  }

  private func row(_ recording: Recording) -> [String] {
    let front = [
      recording.name.text, recording.state.rawValue, recording.renditions.map(\.text).joined(separator: ","),
      String(recording.runs), String(recording.total.segments), clockText(ticks: recording.total.ticks),
      byteText(recording.total.bytes),
    ]
    let own =
      switch place {
      case .spool: [backlog(recording.backlog), String(recording.refused.segments), String(recording.removed)]
      case .root: [String(recording.missing)]
      }
    return front + own + [recording.newest.map(age) ?? "-"]
  }

  /// `3 (0:00:15, 4.1 MB)`.
  private func backlog(_ amount: Amount) -> String {
    if amount.segments == 0 { return "0" }
    return "\(amount.segments) (\(clockText(ticks: amount.ticks)), \(byteText(amount.bytes)))"
  }

  private func age(_ end: WallClockTime) -> String {
    let age = time.milliseconds(since: end)
    // A second or so is the clocks' difference between machines; more means that one of them is wrong, or that a file was
    // recorded faster than it plays.
    if age < -2_000 { return "ahead of the clock" }
    let seconds = max(0, age) / 1000
    if seconds < 120 { return "\(seconds) s ago" }
    if seconds < 7_200 { return "\(seconds / 60) min ago" }
    return seconds < 172_800 ? "\(seconds / 3_600) h ago" : "\(seconds / 86_400) d ago"
  }

  private func sentence(_ totals: Recording) -> String {
    var parts = [
      counted(recordings.count, "recording"), counted(totals.total.segments, "segment"),
      clockText(ticks: totals.total.ticks), byteText(totals.total.bytes),
    ]
    switch place {
    case .spool:
      parts.append(totals.backlog.segments == 0 ? "nothing to send" : "to send: \(backlog(totals.backlog))")
      if totals.refused.segments > 0 { parts.append("refused: \(totals.refused.segments)") }
    case .root:
      if totals.missing > 0 { parts.append("missing: \(totals.missing)") }
    }
    parts.append("\(byteText(availableBytes)) free")
    return parts.joined(separator: ", ")
  }

  private func clockText(ticks: Int64) -> String { Platform.clockText(.milliseconds((ticks + 45) / 90)) }
}
