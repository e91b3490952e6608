import CMicroHTTPD
import Glibc

/// The library's connection during one of its callbacks.
@safe struct Connection: ~Copyable {
  private let raw: OpaquePointer

  init(_ raw: OpaquePointer) { unsafe self.raw = raw }

  /// The socket, which names the connection while it is open.
  var socket: Int32 { unsafe segrec_mhd_socket(raw) }
  var peer: PeerAddress { unsafe PeerAddress(segrec_mhd_peer(raw)) }
  var suspended: SuspendedConnection { unsafe SuspendedConnection(raw) }

  /// A second descriptor of the socket; nil when there is none to be had.
  func duplicateSocket() -> Int32? {
    let copy = fcntl(socket, F_DUPFD_CLOEXEC, 0)
    return copy < 0 ? nil : copy
  }

  /// Copies the request's header fields.
  func headers() -> HeaderFields {
    var fields = HeaderFields()
    unsafe withUnsafeMutablePointer(to: &fields) { fields in
      _ = unsafe MHD_get_connection_values(
        raw, .HEADER_KIND,
        { context, _, name, value in
          if let fields = unsafe context?.assumingMemoryBound(to: HeaderFields.self), let name = unsafe name {
            unsafe fields.pointee.append(String(cString: name), value.map { unsafe String(cString: $0) } ?? "")
          }
          return .YES
        }, fields)
    }
    return fields
  }

  /// Hands the answer to the library; false when it takes none, and the connection must be broken off.
  func queue(_ response: Response) -> Bool {
    guard let made = unsafe makeResponse(response.body) else { return false }
    defer { unsafe MHD_destroy_response(made) }
    for field in response.headers.fields {
      // Refused are line breaks and the like, which would be our own mistake: better no answer than a split one.
      guard unsafe MHD_add_response_header(made, field.name, field.value) == .YES else { return false }
    }
    return unsafe MHD_queue_response(raw, UInt32(response.status), made) == .YES
  }
}

private func makeResponse(_ body: Response.Body) -> OpaquePointer? {
  switch body {
  case .none: return unsafe MHD_create_response_from_buffer(0, nil, .RESPMEM_PERSISTENT)
  case .bytes(var bytes):
    return unsafe bytes.withUnsafeMutableBytes {
      unsafe MHD_create_response_from_buffer($0.count, $0.baseAddress, .RESPMEM_MUST_COPY)
    }
  case .file(let file, let offset, let length):
    guard let descriptor = file.take() else { return nil }
    let made = unsafe MHD_create_response_from_fd_at_offset64(UInt64(length), descriptor, UInt64(offset))
    if unsafe made == nil { close(descriptor) }
    return unsafe made
  case .patched(let file):
    let context = unsafe Unmanaged.passRetained(file).toOpaque()
    let made = unsafe MHD_create_response_from_callback(
      UInt64(file.length), 64 << 10,
      { context, position, buffer, size in
        guard let context = unsafe context, let buffer = unsafe buffer else { return -2 }
        let file = unsafe Unmanaged<PatchedFile>.fromOpaque(context).takeUnretainedValue()
        let count = unsafe file.read(
          at: Int64(position), into: UnsafeMutableRawBufferPointer(start: buffer, count: size))
        // MHD_CONTENT_READER_END_WITH_ERROR, which is no constant that Swift sees.
        return count > 0 ? count : -2
      }, context,
      { context in if let context = unsafe context { unsafe Unmanaged<PatchedFile>.fromOpaque(context).release() } })
    if unsafe made == nil { unsafe Unmanaged<PatchedFile>.fromOpaque(context).release() }
    return unsafe made
  }
}
