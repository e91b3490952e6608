package import Platform

/// A file that is sent with bytes in front of it and some of its own replaced, never held in memory.
package final class PatchedFile: Sendable {
  package struct Patch: Sendable {
    /// In the file.
    let offset: Int64
    let bytes: [UInt8]

    package init(offset: Int64, bytes: [UInt8]) {
      self.offset = offset
      self.bytes = bytes
    }
  }

  /// Bytes in all.
  package let length: Int64
  private let file: FileDescriptor
  private let front: [UInt8]
  private let patches: [Patch]

  /// - Parameter file: open for reading; it must keep `size` bytes.
  package init(_ file: consuming FileDescriptor, size: Int64, front: [UInt8], patches: [Patch]) {
    self.file = file
    self.front = front
    self.patches = patches
    length = Int64(front.count) + size
  }

  /// Copies what stands at `position` of what is sent.
  /// - Returns: bytes copied, at most `buffer.count`; 0 or less when reading fails.
  func read(at position: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    if position < Int64(front.count) {
      let part = front[Int(position)...].prefix(buffer.count)
      unsafe buffer.copyBytes(from: part)
      return part.count
    }
    let offset = position - Int64(front.count)
    let count: Int
    do throws(SystemError) {
      var bytes = unsafe MutableRawSpan(_unsafeBytes: buffer)
      count = try file.read(into: &bytes, at: offset)
    } catch {
      return -1
    }
    for patch in patches where count > 0 {
      for (index, byte) in patch.bytes.enumerated() {
        let place = patch.offset + Int64(index) - offset
        if place >= 0, place < Int64(count) { unsafe buffer[Int(place)] = byte }
      }
    }
    return count
  }
}
