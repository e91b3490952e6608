import Delivery
import HLS
import Recording

/// Counters in the text format that Prometheus's node exporter collects from files (exposition format 0.0.4).
struct Metrics {
  var recording: RecordingName?
  var recorded: RecordingProgress?
  var upload: UploadProgress?

  private static let states: [UploadProgress.State] = [.idle, .sending, .retrying, .unreachable, .paused]

  var text: String {
    var lines: [String] = []
    let label = recording.map { "{recording=\"\($0)\"}" } ?? ""
    func explain(_ name: String, _ type: String, _ help: String) {
      lines.append("# HELP segrec_\(name) \(help)\n# TYPE segrec_\(name) \(type)\n")
    }
    func add(_ name: String, _ type: String, _ help: String, _ value: String) {
      explain(name, type, help)
      lines.append("segrec_\(name)\(label) \(value)\n")
    }
    if let recorded {
      add("recorded_seconds", "counter", "Media committed.", "\(Double(recorded.ticks) / 90_000)")
      add("recorded_segments_total", "counter", "Segments committed.", "\(recorded.segments)")
      add("recorded_bytes_total", "counter", "Bytes committed.", "\(recorded.bytes)")
      add("frames_dropped_total", "counter", "Frames dropped because the encoder was behind.", "\(recorded.dropped)")
      add("frames_refilled_total", "counter", "Frames shown again for want of new ones.", "\(recorded.refilled)")
    }
    if let upload {
      add("sent_segments_total", "counter", "Segments acknowledged.", "\(upload.sent)")
      add("sent_bytes_total", "counter", "Bytes acknowledged.", "\(upload.sentBytes)")
      add("upload_retries_total", "counter", "Attempts that failed.", "\(upload.retries)")
      add("backlog_segments", "gauge", "Segments not acknowledged yet.", "\(upload.backlogSegments)")
      add("backlog_seconds", "gauge", "Media not acknowledged yet.", "\(upload.backlogSeconds)")
      add("backlog_bytes", "gauge", "Bytes not acknowledged yet, estimated.", "\(upload.backlogBytes)")
      add("refused_segments", "gauge", "Segments the server refused for good.", "\(upload.refused)")
      if let goodput = upload.goodput {
        add("goodput_bits_per_second", "gauge", "What the server takes while something is sent.", "\(goodput)")
      }
      explain("upload_state", "gauge", "How the upload stands.")
      let owner = recording.map { "recording=\"\($0)\"," } ?? ""
      for state in Metrics.states {
        lines.append("segrec_upload_state{\(owner)state=\"\(state.rawValue)\"} \(state == upload.state ? 1 : 0)\n")
      }
      if let ladder = upload.ladder {
        explain("ladder_level", "gauge", "What the network allows.")
        lines.append("segrec_ladder_level{\(owner)level=\"\(ladder)\"} 1\n")
      }
    }
    return lines.joined()
  }
}
