import Glibc

/// Gathers what is appended to a file and writes it in large pieces past the page cache (`O_DIRECT`), or through it where
/// the file system cannot do otherwise. The kernel then neither copies nor finds pages for what nobody reads soon: half of
/// what writing costs.
///
/// Serves one file at a time, from `begin` on. A write past the cache is of whole blocks, so after a `flush` the file may
/// end in less than a block of zeros, until more is written or `cut` is called.
@safe package final class BlockBuffer {
  /// Bytes; file systems and disks with larger blocks refuse, and are then written to through the cache.
  private static let block = 4096
  private static let capacity = 1 << 19

  private let memory: UnsafeMutableRawPointer
  /// Where in the file the first byte of the memory belongs.
  private var offset: Int64 = 0
  /// Bytes in the memory.
  private var count = 0
  /// How many of those are in the file as well.
  private var flushed = 0
  /// Where the file ends at most.
  private var end: Int64 = 0
  private var isDirect = false

  package init() { unsafe memory = .allocate(byteCount: BlockBuffer.capacity, alignment: BlockBuffer.block) }

  deinit { unsafe memory.deallocate() }

  /// Begins with a file that is empty.
  package func begin(_ file: borrowing FileDescriptor) {
    offset = 0
    count = 0
    flushed = 0
    end = 0
    isDirect = file.bypassCache(true)
  }

  /// After a failure part of `bytes` may have been taken: `truncate` tells how much there was before.
  package func append(_ bytes: RawSpan, to file: borrowing FileDescriptor) throws(SystemError) {
    var rest = bytes
    while rest.byteCount > 0 {
      if count == BlockBuffer.capacity { try write(count, to: file) }
      let part = rest.extracting(first: BlockBuffer.capacity - count)
      unsafe part.withUnsafeBytes { bytes in
        if let start = bytes.baseAddress { unsafe (memory + count).copyMemory(from: start, byteCount: bytes.count) }
      }
      count += part.byteCount
      rest = rest.extracting(droppingFirst: part.byteCount)
    }
  }

  /// Writes all that was appended.
  package func flush(to file: borrowing FileDescriptor) throws(SystemError) {
    guard flushed < count else { return }
    let padding = isDirect ? -count & (BlockBuffer.block - 1) : 0
    unsafe (memory + count).initializeMemory(as: UInt8.self, repeating: 0, count: padding)
    try write(count + padding, to: file)
  }

  /// Forgets what was appended beyond `length` bytes from the start of the file.
  package func truncate(to length: Int64, _ file: borrowing FileDescriptor) throws(SystemError) {
    if length >= offset {
      count = Int(length - offset)
      flushed = min(flushed, count)
      return try shorten(file, to: offset + Int64(flushed))
    }
    // The block that it ends in is in the file only.
    try shorten(file, to: length)
    offset = length & ~Int64(BlockBuffer.block - 1)
    count = 0
    var block = unsafe MutableRawSpan(_unsafeStart: memory, byteCount: BlockBuffer.block)
    let got = try file.read(into: &block, at: offset)
    guard got == length - offset else { throw SystemError(operation: "read", subject: file.path, code: EIO) }
    count = got
    flushed = got
  }

  /// Cuts off what `flush` has written beyond the end.
  package func cut(_ file: borrowing FileDescriptor) throws(SystemError) {
    try shorten(file, to: offset + Int64(count))
  }

  private func shorten(_ file: borrowing FileDescriptor, to length: Int64) throws(SystemError) {
    if end <= length { return }
    try file.truncate(to: length)
    end = length
  }

  /// Writes the first `length` bytes of the memory and keeps of them what is no whole block.
  private func write(_ length: Int, to file: borrowing FileDescriptor) throws(SystemError) {
    let bytes = unsafe RawSpan(_unsafeStart: memory, byteCount: length)
    end = max(end, offset + Int64(length))
    do throws(SystemError) {
      try file.writeAll(bytes, at: offset)
    } catch {
      guard isDirect, error.code == EINVAL, file.bypassCache(false) else { throw error }
      isDirect = false
      try file.writeAll(bytes, at: offset)
    }
    let kept = count & (BlockBuffer.block - 1)
    unsafe memory.copyMemory(from: memory + (count - kept), byteCount: kept)
    offset += Int64(count - kept)
    count = kept
    flushed = kept
  }
}
