import CCurl

/// The sockets of one engine that are open. libcurl 7.88 does not tell the socket of a running transfer
/// (`CURLINFO_ACTIVESOCKET` stays -1 until it ends), but it does tell the local port, by which the socket is found here.
/// Used on the engine's thread only.
final class SocketTable {
  /// Bytes that may wait in a send queue beyond what the congestion window allows (`TCP_NOTSENT_LOWAT`). Without it the
  /// kernel takes megabytes at once, and neither a stall nor a rate could be seen.
  static let unsentLimit: Int32 = 128 * 1024

  private var open: Set<Int32> = []

  func opened(_ descriptor: Int32) { open.insert(descriptor) }
  func closed(_ descriptor: Int32) { open.remove(descriptor) }
  var count: Int { open.count }

  /// Bytes sent from `localPort` that the peer has not acknowledged; nil when no socket has that port.
  func unacknowledged(localPort: Int) -> Int64? {
    guard localPort > 0, let descriptor = open.first(where: { segrec_socket_local_port($0) == Int32(localPort) }) else {
      return nil
    }
    let bytes = segrec_socket_unacknowledged(descriptor)
    return bytes >= 0 ? Int64(bytes) : nil
  }
}

func segrecOpenSocket(
  _ context: UnsafeMutableRawPointer?, _ purpose: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
  guard let context = unsafe context, let address = unsafe address else { return -1 }
  let descriptor = unsafe segrec_open_socket(address, SocketTable.unsentLimit)
  if descriptor >= 0 { unsafe Unmanaged<SocketTable>.fromOpaque(context).takeUnretainedValue().opened(descriptor) }
  return descriptor
}

func segrecCloseSocket(_ context: UnsafeMutableRawPointer?, _ descriptor: curl_socket_t) -> Int32 {
  if let context = unsafe context {
    unsafe Unmanaged<SocketTable>.fromOpaque(context).takeUnretainedValue().closed(descriptor)
  }
  return close(descriptor)
}
