import CCurl

/// A SHA-256 digest (FIPS 180-4) being computed; libcrypto's, which uses the processor's own instructions.
@safe package struct SHA256Digest: ~Copyable {
  private let context: OpaquePointer

  package init() throws(ClientError) {
    guard let context = unsafe EVP_MD_CTX_new() else { throw SHA256Digest.failure("out of memory") }
    guard unsafe EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
      unsafe EVP_MD_CTX_free(context)
      throw SHA256Digest.failure("libcrypto refuses it")
    }
    unsafe self.context = context
  }

  private static func failure(_ cause: String) -> ClientError {
    ClientError(operation: "compute a", subject: "SHA-256 digest", cause: cause)
  }

  deinit { unsafe EVP_MD_CTX_free(context) }

  package mutating func update(_ bytes: RawSpan) {
    unsafe bytes.withUnsafeBytes { buffer in
      // Fails only for a context that was not set up, and `init` did that.
      _ = unsafe EVP_DigestUpdate(context, buffer.baseAddress, buffer.count)
    }
  }

  /// The 32 bytes of the digest.
  package consuming func finish() -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
      var written: UInt32 = 0
      _ = unsafe EVP_DigestFinal_ex(context, buffer.baseAddress, &written)
      count = Int(written)
    }
  }

  package static func of(_ bytes: [UInt8]) throws(ClientError) -> [UInt8] {
    var digest = try SHA256Digest()
    unsafe digest.update(bytes.span.bytes)
    return digest.finish()
  }
}

/// HMAC-SHA-256 (RFC 2104), 32 bytes.
func hmacSHA256(key: [UInt8], message: [UInt8]) -> [UInt8] {
  unsafe [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
    var written: UInt32 = 0
    _ = unsafe HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, buffer.baseAddress, &written)
    count = Int(written)
  }
}

/// A field value of `Content-Digest` (RFC 9530 §2): the digest as a structured-field byte sequence (RFC 8941 §3.3.5).
package func contentDigest(sha256 digest: [UInt8]) -> String { "sha-256=:\(base64(digest)):" }

/// RFC 4648 §4, with padding.
package func base64(_ bytes: [UInt8]) -> String {
  let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  var text: [UInt8] = []
  text.reserveCapacity((bytes.count + 2) / 3 * 4)
  var index = 0
  while index < bytes.count {
    let present = min(3, bytes.count - index)
    var group: UInt32 = 0
    for offset in 0..<3 { group = group << 8 | (offset < present ? UInt32(bytes[index + offset]) : 0) }
    for position in 0..<4 {
      text.append(
        position <= present ? alphabet[Int(group >> UInt32(18 - 6 * position) & 63)] : UInt8(ascii: "="))
    }
    index += 3
  }
  return String(decoding: text, as: UTF8.self)
}

/// Lower-case hexadecimal, two digits a byte.
package func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
  let digits = Array("0123456789abcdef".utf8)
  return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
}
