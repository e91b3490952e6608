import CLibAV
import Glibc

/// Lets libav read from an open file descriptor. Unlike libav's own `pipe:` it waits in `poll`, so that a silent pipe can
/// be interrupted, and it seeks where the descriptor is a file.
final class DescriptorReader: Sendable {
  let descriptor: Int32
  let interruption: Interruption
  let isSeekable: Bool

  init(descriptor: Int32, interruption: Interruption) {
    self.descriptor = descriptor
    self.interruption = interruption
    var status = stat()
    isSeekable = unsafe fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  /// Returns an I/O context that borrows `self`; freed by `free(_:)`.
  func makeContext() throws(AVError) -> UnsafeMutablePointer<AVIOContext> {
    let size = 64 * 1024
    guard let buffer = unsafe av_malloc(size) else { throw AVError(.allocate("an input buffer"), code: -ENOMEM) }
    let context = unsafe avio_alloc_context(
      buffer.assumingMemoryBound(to: UInt8.self), Int32(size), 0, Unmanaged.passUnretained(self).toOpaque(),
      { opaque, buffer, count in unsafe DescriptorReader.from(opaque).read(into: buffer, count: count) }, nil,
      isSeekable ? { opaque, offset, whence in unsafe DescriptorReader.from(opaque).seek(to: offset, whence) } : nil)
    guard let context = unsafe context else {
      unsafe av_free(buffer)
      throw AVError(.allocate("an input buffer"), code: -ENOMEM)
    }
    return unsafe context
  }

  static func free(_ context: UnsafeMutablePointer<AVIOContext>) {
    unsafe av_free(context.pointee.buffer)
    var context: UnsafeMutablePointer<AVIOContext>? = unsafe context
    unsafe avio_context_free(&context)
  }

  private static func from(_ opaque: UnsafeMutableRawPointer?) -> DescriptorReader {
    // libav hands back the pointer that makeContext gave it.
    unsafe Unmanaged<DescriptorReader>.fromOpaque(opaque.unsafelyUnwrapped).takeUnretainedValue()
  }

  private func read(into buffer: UnsafeMutablePointer<UInt8>?, count: Int32) -> Int32 {
    while !interruption.shouldReturn {
      var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let ready = unsafe poll(&request, 1, 100)
      if ready < 0 && errno != EINTR { return -errno }
      guard ready > 0 else { continue }
      let got = unsafe Glibc.read(descriptor, buffer, Int(count))
      if got > 0 { return Int32(got) }
      if got == 0 { return segrec_AVERROR_EOF }
      if errno != EINTR && errno != EAGAIN { return -errno }
    }
    return segrec_AVERROR_EXIT
  }

  private func seek(to offset: Int64, _ whence: Int32) -> Int64 {
    if whence & AVSEEK_SIZE != 0 {
      var status = stat()
      return unsafe fstat(descriptor, &status) == 0 ? Int64(status.st_size) : Int64(-errno)
    }
    let position = lseek(descriptor, Int(offset), whence & ~AVSEEK_FORCE)
    return position < 0 ? Int64(-errno) : Int64(position)
  }
}
