/// Gathers what matters of one response from the lines and bytes curl delivers. Bounded: unknown fields and the rest of a
/// long body are dropped.
struct ResponseReader {
  private let bodyLimit: Int
  private var status: Int?
  private var isHeaderComplete = false
  private var fields: [String: String] = [:]
  private var body: [UInt8] = []

  private static let kept: Set<String> = [
    "retry-after", "date", "location", "etag", "content-digest", "content-length", "content-type",
    "content-range",
  ]
  private static let longestField = 2048

  init(bodyLimit: Int = 0) {
    self.bodyLimit = bodyLimit
  }

  /// One header line with its line end. A status line starts over: interim responses (1xx) come before the final one.
  mutating func header(_ bytes: RawSpan) {
    let line = trimmed(bytes)
    if line.isEmpty {
      isHeaderComplete = status.map { $0 >= 200 } ?? false
    } else if line.hasPrefix("HTTP/") {
      let words = line.split(separator: " ")
      status = words.count >= 2 ? Int(words[1]) : nil
      fields = [:]
      body = []
      isHeaderComplete = false
    } else if let colon = line.firstIndex(of: ":") {
      let name = line[..<colon].lowercased()
      guard ResponseReader.kept.contains(name), line.utf8.count <= ResponseReader.longestField else { return }
      let value = line[line.index(after: colon)...].drop(while: { $0 == " " || $0 == "\t" })
      fields[name] = String(value)
    }
  }

  mutating func body(_ bytes: RawSpan) {
    let count = min(bytes.byteCount, bodyLimit - body.count)
    guard count > 0 else { return }
    unsafe bytes.extracting(first: count).withUnsafeBytes { unsafe body.append(contentsOf: $0) }
  }

  /// - Parameter now: this side's clock, milliseconds since 1970 UTC.
  func outcome(now: Int64) -> TransferOutcome {
    var outcome = TransferOutcome()
    guard isHeaderComplete else { return outcome }
    outcome.status = status
    outcome.receivedAt = now
    outcome.serverDate = fields["date"].flatMap { parseHTTPDate($0, now: now) }
    outcome.retryAfter = fields["retry-after"].flatMap {
      parseRetryAfter($0, serverDate: outcome.serverDate, now: now)
    }
    outcome.location = fields["location"]
    outcome.etag = fields["etag"]
    outcome.contentDigest = fields["content-digest"]
    outcome.contentLength = fields["content-length"].flatMap { Int64($0) }
    // "bytes 0-99/1234" (RFC 9110 §14.4).
    let total = fields["content-range"]?.split(separator: "/", omittingEmptySubsequences: false).last
    outcome.wholeLength = total.flatMap { Int64($0) } ?? outcome.contentLength
    outcome.body = body
    outcome.isPlainText = fields["content-type"]?.lowercased().hasPrefix("text/plain") ?? false
    return outcome
  }

  private func trimmed(_ bytes: RawSpan) -> String {
    unsafe bytes.withUnsafeBytes { buffer in
      var line = unsafe buffer[...]
      while let last = unsafe line.last, last <= 0x20 { unsafe line = unsafe line.dropLast() }
      return unsafe String(decoding: line, as: UTF8.self)
    }
  }
}
