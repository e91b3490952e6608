import CZlib

/// The gzip form of `bytes` (RFC 1952) at zlib's fastest level, which takes playlists to a tenth; nil when memory is
/// short.
package func gzipped(_ bytes: [UInt8]) -> [UInt8]? {
  var stream = unsafe z_stream()
  // 15 bits of window, and 16 for the gzip wrapper.
  guard
    unsafe deflateInit2_(
      &stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK
  else { return nil }
  defer { unsafe deflateEnd(&stream) }
  let bound = Int(unsafe deflateBound(&stream, UInt(bytes.count)))
  var isWhole = false
  var source = bytes
  let packed = unsafe [UInt8](unsafeUninitializedCapacity: bound) { output, count in
    unsafe source.withUnsafeMutableBufferPointer { input in
      unsafe stream.next_in = input.baseAddress
      unsafe stream.avail_in = UInt32(input.count)
      unsafe stream.next_out = output.baseAddress
      unsafe stream.avail_out = UInt32(output.count)
      isWhole = unsafe deflate(&stream, Z_FINISH) == Z_STREAM_END
    }
    count = unsafe Int(stream.total_out)
  }
  return isWhole ? packed : nil
}

extension HeaderFields {
  /// True when a request accepts gzip (RFC 9110 §12.5.3).
  package var acceptsGzip: Bool {
    list("Accept-Encoding").contains { member in
      let parts = member.split(separator: ";").map { $0.trimmingBlanks() }
      guard let coding = parts.first, coding.equalsIgnoringCase("gzip") || coding == "*" else { return false }
      return !parts.dropFirst().contains { part in
        part.equalsIgnoringCase("q=0") || part.hasPrefix("q=0.0") && part.dropFirst(4).allSatisfy { $0 == "0" }
      }
    }
  }
}
