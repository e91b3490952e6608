import CCurl
import Platform

/// One request on its way: owns the curl handle, its header list and error text, and is what curl's callbacks get as
/// their context. Lives on the engine's thread.
@safe final class Transfer {
  let id: TransferID
  private let handle: OpaquePointer
  private(set) var request: Request
  private(set) var response = ResponseReader()
  let completion: @Sendable (TransferOutcome) -> Void
  let started: ContinuousClock.Instant
  private var watch: StallWatch?
  private let configuration: ClientConfiguration
  private let sockets: SocketTable
  private var headerList: UnsafeMutablePointer<curl_slist>?
  private let errorText: UnsafeMutablePointer<CChar>
  private var position: Int64 = 0
  private var bodyProblem: String?
  private var responseDigest: RunningDigest?
  private var redirects = 0
  private var carriesCredentials = true
  /// Bytes the peer was known to have taken at the last look.
  private(set) var taken: Int64 = 0

  init(
    id: TransferID, request: Request, configuration: ClientConfiguration, sockets: SocketTable,
    completion: @escaping @Sendable (TransferOutcome) -> Void
  ) throws(ClientError) {
    guard let handle = unsafe curl_easy_init() else {
      throw ClientError(operation: "start a transfer to", subject: "\(request.url)", cause: "out of memory")
    }
    self.id = id
    unsafe self.handle = OpaquePointer(handle)
    self.request = request
    self.completion = completion
    self.configuration = configuration
    self.sockets = sockets
    started = .now
    unsafe headerList = nil
    unsafe errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
    unsafe errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    try prepare()
  }

  deinit {
    unsafe curl_easy_cleanup(curl)
    unsafe curl_slist_free_all(headerList)
    unsafe errorText.deallocate()
  }

  var curl: UnsafeMutableRawPointer { unsafe UnsafeMutableRawPointer(handle) }
  /// Names the handle in the engine's table.
  var key: UInt { unsafe UInt(bitPattern: handle) }

  // MARK: Setting up

  private func prepare() throws(ClientError) {
    unsafe curl_easy_reset(curl)
    response = ResponseReader(bodyLimit: request.responseLimit)
    responseDigest = request.digestsResponse ? try RunningDigest() : nil
    position = 0
    let this = unsafe Unmanaged.passUnretained(self).toOpaque()
    try unsafe set(CURLOPT_ERRORBUFFER, pointer: errorText)
    try set(CURLOPT_URL, request.url.text)
    try set(CURLOPT_PROTOCOLS_STR, "http,https")
    try set(CURLOPT_USERAGENT, configuration.userAgent)
    try set(CURLOPT_NOSIGNAL, 1)
    try set(CURLOPT_NOPROGRESS, 1)
    try set(CURLOPT_FOLLOWLOCATION, 0)
    try set(CURLOPT_PATH_AS_IS, 1)
    // One request per connection at a time: parallel transfers do not wait for each other.
    try set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
    try set(CURLOPT_TCP_KEEPALIVE, 1)
    try set(CURLOPT_CONNECTTIMEOUT_MS, Int(configuration.stallLimit.wholeMilliseconds))
    try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    if request.isRetry { try set(CURLOPT_FRESH_CONNECT, 1) }
    try applyTLS()
    try applyMethod()
    try applyHeaders()
    try check(unsafe segrec_curl_set_write(curl, segrecReceiveBody), "response")
    try unsafe set(CURLOPT_WRITEDATA, pointer: this)
    try check(unsafe segrec_curl_set_header(curl, segrecReceiveHeader), "response")
    try unsafe set(CURLOPT_HEADERDATA, pointer: this)
    let table = unsafe Unmanaged.passUnretained(sockets).toOpaque()
    try check(unsafe segrec_curl_set_open_socket(curl, segrecOpenSocket), "sockets")
    try unsafe set(CURLOPT_OPENSOCKETDATA, pointer: table)
    try check(unsafe segrec_curl_set_close_socket(curl, segrecCloseSocket), "sockets")
    try unsafe set(CURLOPT_CLOSESOCKETDATA, pointer: table)
  }

  private func applyTLS() throws(ClientError) {
    if let file = configuration.caFile { try set(CURLOPT_CAINFO, file) }
    guard carriesCredentials else { return }
    if let file = configuration.certificateFile { try set(CURLOPT_SSLCERT, file) }
    if let file = configuration.keyFile { try set(CURLOPT_SSLKEY, file) }
  }

  private func applyMethod() throws(ClientError) {
    switch request.method {
    case .get: try set(CURLOPT_HTTPGET, 1)
    case .head: try set(CURLOPT_NOBODY, 1)
    case .delete: try set(CURLOPT_CUSTOMREQUEST, "DELETE")
    case .put, .post:
      try set(CURLOPT_UPLOAD, 1)
      if request.method == .post { try set(CURLOPT_CUSTOMREQUEST, "POST") }
      try check(
        unsafe segrec_curl_set_offset(curl, CURLOPT_INFILESIZE_LARGE, curl_off_t(request.body.length)), "length")
      let this = unsafe Unmanaged.passUnretained(self).toOpaque()
      try check(unsafe segrec_curl_set_read(curl, segrecReadBody), "body")
      try unsafe set(CURLOPT_READDATA, pointer: this)
      // Without it a request that must be sent again on another connection fails with error 65.
      try check(unsafe segrec_curl_set_seek(curl, segrecSeekBody), "body")
      try unsafe set(CURLOPT_SEEKDATA, pointer: this)
    }
  }

  private func applyHeaders() throws(ClientError) {
    unsafe curl_slist_free_all(headerList)
    unsafe headerList = nil
    // Servers that ignore Expect cost a second for every file; those that refuse answer while the body is on its way.
    try appendHeader("Expect:")
    for header in request.headers { try appendHeader("\(header.name): \(header.value)") }
    if carriesCredentials {
      switch request.authorization {
      case .none: break
      case .bearer(let token): try appendHeader("Authorization: Bearer \(token)")
      case .basic(let user, let password):
        try appendHeader("Authorization: Basic \(base64(Array("\(user):\(password)".utf8)))")
      case .aws(let credentials): try applySignature(credentials)
      }
    }
    try unsafe set(CURLOPT_HTTPHEADER, pointer: headerList)
  }

  private func applySignature(_ credentials: AWSCredentials) throws(ClientError) {
    let payload: String
    switch request.body {
    case .none: payload = hexadecimal(try SHA256Digest.of([]))
    case .bytes(let bytes): payload = hexadecimal(try SHA256Digest.of(bytes))
    case .file(let file): payload = hexadecimal(file.sha256)
    }
    let signature = AWSSignature(credentials: credentials, time: WallClock.now() + credentials.clockSkew)
    let fields = try signature.fields(
      method: request.method.rawValue, host: request.url.hostField, path: request.url.path, query: request.url.query,
      payload: payload)
    for field in fields { try appendHeader("\(field.name): \(field.value)") }
  }

  private func appendHeader(_ line: String) throws(ClientError) {
    // A line break would start another header; a token file's last newline has been cut by its reader.
    guard line.utf8.allSatisfy({ $0 >= 0x20 || $0 == 0x09 }), let list = unsafe curl_slist_append(headerList, line)
    else { throw misuse("header", "holds a control character") }
    unsafe headerList = list
  }

  private func set(_ option: CURLoption, _ value: Int) throws(ClientError) {
    try check(unsafe segrec_curl_set_long(curl, option, value), "option \(option.rawValue)")
  }

  private func set(_ option: CURLoption, _ value: String) throws(ClientError) {
    // curl copies strings.
    try check(
      unsafe value.withCString { unsafe segrec_curl_set_pointer(curl, option, $0) }, "option \(option.rawValue)")
  }

  private func set(_ option: CURLoption, pointer: UnsafeMutableRawPointer?) throws(ClientError) {
    try check(unsafe segrec_curl_set_pointer(curl, option, pointer), "option \(option.rawValue)")
  }

  private func check(_ code: CURLcode, _ what: String) throws(ClientError) {
    guard code == CURLE_OK else { throw misuse(what, unsafe String(cString: curl_easy_strerror(code))) }
  }

  private func misuse(_ what: String, _ cause: String) -> ClientError {
    ClientError(operation: "set the \(what) of a request to", subject: "\(request.url)", cause: cause)
  }

  /// Bytes a second this transfer may send; 0 for no limit.
  func limitRate(_ bytesPerSecond: Int64) {
    _ = unsafe segrec_curl_set_offset(curl, CURLOPT_MAX_SEND_SPEED_LARGE, curl_off_t(bytesPerSecond))
  }

  // MARK: Called by curl

  /// Fills `buffer` with what comes next of the body. Returns the count, 0 at the end, or `CURL_READFUNC_ABORT`.
  func readBody(into buffer: inout MutableRawSpan) -> Int {
    let wanted = Int(min(request.body.length - position, Int64(buffer.byteCount)))
    guard wanted > 0 else { return 0 }
    switch request.body {
    case .none: return 0
    case .bytes(let bytes):
      unsafe buffer.withUnsafeMutableBytes { target in
        unsafe target.copyBytes(from: bytes[Int(position)..<Int(position) + wanted])
      }
      position += Int64(wanted)
      return wanted
    case .file(let file):
      do throws(SystemError) {
        var part = buffer._mutatingExtracting(first: wanted)
        let count = try file.read(into: &part, at: position)
        guard count > 0 else {
          bodyProblem = "\(file.name) is shorter than it was"
          return Int(CURL_READFUNC_ABORT)
        }
        position += Int64(count)
        return count
      } catch {
        bodyProblem = "\(error)"
        return Int(CURL_READFUNC_ABORT)
      }
    }
  }

  func seekBody(to offset: Int64) -> Bool {
    guard (0...request.body.length).contains(offset) else { return false }
    position = offset
    return true
  }

  func receiveHeader(_ line: RawSpan) { response.header(line) }
  func receiveBody(_ bytes: RawSpan) {
    response.body(bytes)
    responseDigest?.update(bytes)
  }

  // MARK: Watched and ended by the engine

  /// Looks at what the peer has taken. Until the connection stands, curl's own connect timeout is the watch.
  func observe(now: ContinuousClock.Instant) -> StallWatch.Verdict {
    guard offset(CURLINFO_PRETRANSFER_TIME_T) > 0 else {
      watch = nil
      return .alive
    }
    let unacknowledged = sockets.unacknowledged(localPort: number(CURLINFO_LOCAL_PORT)) ?? 0
    taken = max(0, offset(CURLINFO_SIZE_UPLOAD_T) - unacknowledged)
    let received = offset(CURLINFO_SIZE_DOWNLOAD_T) + Int64(number(CURLINFO_HEADER_SIZE))
    var watch =
      self.watch
      ?? StallWatch(
        stallLimit: configuration.stallLimit, answerLimit: request.answerLimit ?? configuration.stallLimit, now: now)
    let verdict = watch.observe(
      taken: taken, received: received, awaitsAnswer: position == request.body.length && unacknowledged == 0, now: now)
    self.watch = watch
    return verdict
  }

  /// Ends the transfer with what curl says.
  func outcome(_ code: CURLcode) -> TransferOutcome {
    var outcome = response.outcome(now: WallClock.now())
    outcome.bytesSent = position
    outcome.elapsed = .now - started
    if code == CURLE_OK { outcome.bodySHA256 = responseDigest?.finish() }
    if code != CURLE_OK {
      outcome.failure = bodyProblem != nil ? .unreadableBody : failure(of: code)
      outcome.detail = bodyProblem ?? curlText(code)
    } else if outcome.status == nil {
      outcome.failure = .badResponse
      outcome.detail = "the response ended inside its header"
    } else if outcome.isSuccess, position != request.body.length {
      outcome.failure = .badResponse
      outcome.detail = "answered \(outcome.status ?? 0) after \(position) of \(request.body.length) bytes"
    }
    // A refusal is a refusal even where its text was cut, or the connection was reset behind it.
    if let status = outcome.status, status >= 300, outcome.failure != .unreadableBody { outcome.failure = nil }
    let redaction = Redaction(secrets: request.authorization.secrets)
    if outcome.failure == nil, !outcome.isSuccess, let status = outcome.status {
      outcome.detail = statusText(status) + outcome.quotedLine(redaction)
    }
    outcome.detail = redaction.masked(outcome.detail)
    return outcome
  }

  func ended(_ failure: TransferOutcome.Failure, _ detail: String) -> TransferOutcome {
    var outcome = TransferOutcome()
    outcome.failure = failure
    outcome.detail = detail
    outcome.bytesSent = position
    outcome.elapsed = .now - started
    return outcome
  }

  /// Follows 307 and 308 (RFC 9110 §15.4.8, §15.4.9), which keep the method and the body. Credentials stay with the origin
  /// they were given for, and nothing goes from https to http. False where there is nothing to follow.
  func follow(_ outcome: TransferOutcome) -> Bool {
    guard outcome.status == 307 || outcome.status == 308, redirects < 3, let location = outcome.location,
      let target = request.url.resolving(location), !(request.url.scheme == .https && target.scheme == .http)
    else { return false }
    redirects += 1
    if !target.hasSameOrigin(as: request.url) { carriesCredentials = false }
    request.url = target
    watch = nil
    do throws(ClientError) { try prepare() } catch { return false }
    return true
  }

  private func curlText(_ code: CURLcode) -> String {
    let text = unsafe String(cString: errorText)
    return text.isEmpty ? unsafe String(cString: curl_easy_strerror(code)) : text
  }

  private func failure(of code: CURLcode) -> TransferOutcome.Failure {
    switch code {
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .unresolved
    case CURLE_COULDNT_CONNECT, CURLE_PROXY: .unreachable
    case CURLE_OPERATION_TIMEDOUT: offset(CURLINFO_PRETRANSFER_TIME_T) > 0 ? .stalled : .unreachable
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CIPHER: .untrusted
    case CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM, CURLE_SSL_ENGINE_NOTFOUND, CURLE_URL_MALFORMAT,
      CURLE_NOT_BUILT_IN, CURLE_OUT_OF_MEMORY:
      .misconfigured
    // HTTP/0.9, which is how curl names a response without a status line, comes as "unsupported protocol".
    case CURLE_PARTIAL_FILE, CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_CONTENT_ENCODING,
      CURLE_HTTP2:
      .badResponse
    default: .interrupted
    }
  }

  private func offset(_ info: CURLINFO) -> Int64 {
    var value: curl_off_t = 0
    return unsafe segrec_curl_get_offset(curl, info, &value) == CURLE_OK ? Int64(value) : 0
  }

  private func number(_ info: CURLINFO) -> Int {
    var value = 0
    return unsafe segrec_curl_get_long(curl, info, &value) == CURLE_OK ? value : 0
  }
}

/// A digest of a response as it comes.
private final class RunningDigest {
  private var digest: SHA256Digest?

  init() throws(ClientError) { digest = try SHA256Digest() }

  func update(_ bytes: RawSpan) { digest?.update(bytes) }
  func finish() -> [UInt8]? { digest.take()?.finish() }
}

extension Duration {
  /// Rounded down.
  package var wholeMilliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
