extension StatusReport {
  /// One JSON object (RFC 8259) without a line end; docs/status.md lists its keys, which are never renamed.
  package var json: String {
    var text = JSONText()
    text.object { text in
      text.pair("place", place.rawValue)
      text.pair("root", root)
      text.pair("time", time.rfc3339)
      text.pair("available_bytes", availableBytes)
      text.key("totals")
      text.object { text in
        text.pair("recordings", Int64(recordings.count))
        StatusReport.write(totals, to: &text)
      }
      text.key("recordings")
      text.array { text in
        for recording in recordings {
          text.object { text in
            text.pair("name", recording.name.text)
            text.pair("state", recording.state.rawValue)
            text.key("renditions")
            text.array { text in for name in recording.renditions { text.value(name.text) } }
            StatusReport.write(recording, to: &text)
            text.key("problem")
            if let problem = recording.problem { text.value(problem) } else { text.null() }
          }
        }
      }
    }
    return String(decoding: text.bytes, as: UTF8.self)
  }

  private static func write(_ recording: Recording?, to text: inout JSONText) {
    let total = recording?.total ?? Amount()
    let backlog = recording?.backlog ?? Amount()
    let refused = recording?.refused ?? Amount()
    text.pair("runs", Int64(recording?.runs ?? 0))
    text.pair("segments", Int64(total.segments))
    text.pair("bytes", total.bytes)
    text.pair("seconds", ticks: total.ticks)
    text.pair("backlog_segments", Int64(backlog.segments))
    text.pair("backlog_bytes", backlog.bytes)
    text.pair("backlog_seconds", ticks: backlog.ticks)
    text.pair("refused_segments", Int64(refused.segments))
    text.pair("refused_bytes", refused.bytes)
    text.pair("refused_seconds", ticks: refused.ticks)
    text.pair("missing", Int64(recording?.missing ?? 0))
    text.pair("removed", Int64(recording?.removed ?? 0))
    text.key("newest")
    if let newest = recording?.newest { text.value(newest.rfc3339) } else { text.null() }
  }
}
