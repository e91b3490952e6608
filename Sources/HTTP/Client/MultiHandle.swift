import CCurl

/// Owns a `curl_multi` handle. Everything but `wakeUp` belongs to the engine's thread.
@safe final class MultiHandle {
  private let raw: UnsafeMutableRawPointer
  /// Here because connections are closed as late as in deinit, and closing tells the table.
  let sockets = SocketTable()

  init(keptConnections: Int) throws(ClientError) {
    func refuse(_ cause: String) -> ClientError {
      ClientError(operation: "start", subject: "the HTTP client", cause: cause)
    }
    // Counted and thread-safe in libcurl since 7.84; every engine's own call is paired with one in deinit.
    guard curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK else { throw refuse("libcurl does not start") }
    guard let raw = unsafe curl_multi_init() else {
      curl_global_cleanup()
      throw refuse("out of memory")
    }
    unsafe self.raw = raw
    guard unsafe segrec_curl_set_multi_long(raw, CURLMOPT_MAXCONNECTS, keptConnections) == CURLM_OK,
      unsafe segrec_curl_set_multi_long(raw, CURLMOPT_PIPELINING, Int(CURLPIPE_NOTHING)) == CURLM_OK
    else { throw refuse("libcurl refuses its options") }
  }

  deinit {
    unsafe curl_multi_cleanup(raw)
    curl_global_cleanup()
  }

  func add(_ transfer: Transfer) -> Bool { unsafe curl_multi_add_handle(raw, transfer.curl) == CURLM_OK }

  func remove(_ transfer: Transfer) { _ = unsafe curl_multi_remove_handle(raw, transfer.curl) }

  func perform() {
    var running: Int32 = 0
    _ = unsafe curl_multi_perform(raw, &running)
  }

  /// The next transfer that ended: its handle, as a key, and curl's result.
  func nextEnded() -> (key: UInt, result: CURLcode)? {
    var left: Int32 = 0
    while let message = unsafe curl_multi_info_read(raw, &left) {
      if unsafe message.pointee.msg == CURLMSG_DONE {
        return unsafe (UInt(bitPattern: message.pointee.easy_handle), segrec_curl_message_result(message))
      }
    }
    return nil
  }

  /// Waits for a socket, a timer of curl's, `wakeUp`, or at most `milliseconds`.
  func wait(milliseconds: Int32) { _ = unsafe curl_multi_poll(raw, nil, 0, milliseconds, nil) }

  /// Ends `wait` at once; from any thread.
  func wakeUp() { _ = unsafe curl_multi_wakeup(raw) }
}
// Sendable: `curl_multi_wakeup` may be called from any thread; the rest is called from the engine's thread only.
extension MultiHandle: @unchecked Sendable {}
