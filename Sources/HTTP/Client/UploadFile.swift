package import Platform

/// A file to send: open, its length and digest taken beforehand in one pass (the bytes then come from the page cache).
/// Reading is by position, so that a transfer can start over at any time.
package final class UploadFile: Sendable {
  /// For messages.
  package let name: String
  package let length: Int64
  package let sha256: [UInt8]
  private let file: FileDescriptor

  private static let blockSize = 1 << 16

  /// Takes `file`, reads it to its end and closes it with the last reference.
  package init(_ file: consuming FileDescriptor, name: String) throws(ClientError) {
    var digest = try SHA256Digest()
    var offset: Int64 = 0
    var block = [UInt8](repeating: 0, count: UploadFile.blockSize)
    while true {
      let count: Int
      do throws(SystemError) {
        var span = block.mutableSpan
        var bytes = unsafe span.mutableBytes
        count = try file.read(into: &bytes, at: offset)
      } catch {
        throw ClientError(operation: "read", subject: name, cause: SystemError.reason(error.code))
      }
      if count == 0 { break }
      unsafe digest.update(block.span.extracting(first: count).bytes)
      offset += Int64(count)
    }
    self.name = name
    length = offset
    sha256 = digest.finish()
    self.file = file
  }

  /// Reads up to `buffer`'s size at `offset`; 0 at the end.
  package func read(into buffer: inout MutableRawSpan, at offset: Int64) throws(SystemError) -> Int {
    try file.read(into: &buffer, at: offset)
  }
}
