import Synchronization

/// What a server has done since it started, for `/metrics`.
final class ServeCounters: Sendable {
  private struct Counts {
    var requests: [Int: Int64] = [:]
    var files: Int64 = 0
    var bytes: Int64 = 0
    var repeated: Int64 = 0
    var conflicted: Int64 = 0
    var failed: Int64 = 0
    var bytesAnswered: Int64 = 0
    var broken: Int64 = 0
  }
  private let counts = Mutex(Counts())

  func stored(bytes: Int64) {
    counts.withLock {
      $0.files += 1
      $0.bytes += bytes
    }
  }
  func repeated() { counts.withLock { $0.repeated += 1 } }
  func conflicted() { counts.withLock { $0.conflicted += 1 } }
  func failed() { counts.withLock { $0.failed += 1 } }

  func answered(status: Int?, bytes: Int64, wasCompleted: Bool) {
    counts.withLock {
      if let status { $0.requests[status, default: 0] += 1 }
      if wasCompleted { $0.bytesAnswered += bytes } else { $0.broken += 1 }
    }
  }

  /// The text format of Prometheus, version 0.0.4.
  func rendered(connections: Int, requests: Int, expired: Int, recordings: Int, live: Int, bytes: Int64) -> String {
    let counts = counts.withLock { $0 }
    var text = ""
    func metric(_ name: String, _ type: String, _ help: String, _ samples: [(labels: String, value: Int64)]) {
      text += "# HELP segrec_\(name) \(help)\n# TYPE segrec_\(name) \(type)\n"
      for sample in samples { text += "segrec_\(name)\(sample.labels) \(sample.value)\n" }
    }
    metric(
      "http_requests_total", "counter", "Requests answered, by status.",
      counts.requests.sorted { $0.key < $1.key }.map { ("{status=\"\($0.key)\"}", $0.value) })
    metric("http_broken_total", "counter", "Requests whose connection broke.", [("", counts.broken)])
    metric("http_answer_bytes_total", "counter", "Bytes of complete answers.", [("", counts.bytesAnswered)])
    metric("http_connections", "gauge", "Open connections.", [("", Int64(connections))])
    metric("http_active_requests", "gauge", "Requests being answered.", [("", Int64(requests))])
    metric("http_expired_total", "counter", "Connections ended for slowness.", [("", Int64(expired))])
    metric("received_files_total", "counter", "New files stored.", [("", counts.files)])
    metric("received_bytes_total", "counter", "Bytes of new files stored.", [("", counts.bytes)])
    metric("received_again_total", "counter", "Uploads that were there already.", [("", counts.repeated)])
    metric("conflicts_total", "counter", "Uploads refused because other bytes are there.", [("", counts.conflicted)])
    metric("store_failures_total", "counter", "Uploads that could not be stored.", [("", counts.failed)])
    metric(
      "recordings", "gauge", "Recordings, by state.",
      [
        ("{state=\"live\"}", Int64(live)), ("{state=\"ended\"}", Int64(recordings - live)),
      ])
    metric("stored_bytes", "gauge", "Bytes of all recordings.", [("", bytes)])
    return text
  }
}
