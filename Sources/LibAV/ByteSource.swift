import CLibAV
import Glibc

/// Bytes that an input reads in place of a URL: used by one thread at a time, that of the `MediaInput`.
package protocol ByteSource: AnyObject {
  /// Fills the front of `buffer` and returns how many bytes it has; 0 at the end, a negative errno on failure.
  func read(into buffer: inout MutableRawSpan) -> Int
  /// Whether `seek` works.
  var isSeekable: Bool { get }
  /// Moves to `offset` from the start; negative errno on failure. With nil, tells the size and moves nowhere.
  func seek(to offset: Int64?, from whence: Int32) -> Int64
}

extension ByteSource {
  package var isSeekable: Bool { false }
  package func seek(to offset: Int64?, from whence: Int32) -> Int64 { Int64(-ESPIPE) }
}

/// Owns the `AVIOContext` through which libav reads a `ByteSource`.
@safe final class InputPort {
  let context: UnsafeMutablePointer<AVIOContext>
  private let source: any ByteSource

  init(_ source: any ByteSource) throws(AVError) {
    self.source = source
    let size = 64 * 1024
    guard let buffer = unsafe av_malloc(size) else { throw AVError(.allocate("an input buffer"), code: -ENOMEM) }
    guard
      let context = unsafe avio_alloc_context(
        buffer.assumingMemoryBound(to: UInt8.self), Int32(size), 0, nil,
        { opaque, buffer, count in unsafe InputPort.read(opaque, buffer, count) }, nil,
        source.isSeekable ? { opaque, offset, whence in unsafe InputPort.seek(opaque, offset, whence) } : nil)
    else {
      unsafe av_free(buffer)
      throw AVError(.allocate("an input buffer"), code: -ENOMEM)
    }
    unsafe self.context = context
    unsafe context.pointee.opaque = Unmanaged.passUnretained(self).toOpaque()
  }

  deinit {
    unsafe av_free(context.pointee.buffer)
    var context: UnsafeMutablePointer<AVIOContext>? = unsafe context
    unsafe avio_context_free(&context)
  }

  private static func read(
    _ opaque: UnsafeMutableRawPointer?, _ buffer: UnsafeMutablePointer<UInt8>?, _ count: Int32
  ) -> Int32 {
    guard let opaque = unsafe opaque, count > 0 else { return -EINVAL }
    let port = unsafe Unmanaged<InputPort>.fromOpaque(opaque).takeUnretainedValue()
    let bytes = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: Int(count))
    var span = unsafe MutableRawSpan(_unsafeBytes: bytes)
    let got = port.source.read(into: &span)
    return got == 0 ? segrec_AVERROR_EOF : Int32(got)
  }

  private static func seek(_ opaque: UnsafeMutableRawPointer?, _ offset: Int64, _ whence: Int32) -> Int64 {
    guard let opaque = unsafe opaque else { return Int64(-EINVAL) }
    let port = unsafe Unmanaged<InputPort>.fromOpaque(opaque).takeUnretainedValue()
    return port.source.seek(to: whence & AVSEEK_SIZE != 0 ? nil : offset, from: whence & ~AVSEEK_FORCE)
  }
}

/// An open file descriptor. Unlike libav's own `pipe:` it waits in `poll`, so that a silent pipe can be interrupted, and
/// it seeks where the descriptor is a file.
final class DescriptorSource: ByteSource {
  let isSeekable: Bool
  private let descriptor: Int32
  private let interruption: Interruption

  init(descriptor: Int32, interruption: Interruption) {
    self.descriptor = descriptor
    self.interruption = interruption
    var status = stat()
    isSeekable = unsafe fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  func read(into buffer: inout MutableRawSpan) -> Int {
    while !interruption.shouldReturn {
      var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let ready = unsafe poll(&request, 1, 100)
      if ready < 0 && errno != EINTR { return -Int(errno) }
      guard ready > 0 else { continue }
      let number = descriptor
      let got = unsafe buffer.withUnsafeMutableBytes { unsafe Glibc.read(number, $0.baseAddress, $0.count) }
      if got >= 0 { return got }
      if errno != EINTR && errno != EAGAIN { return -Int(errno) }
    }
    return Int(segrec_AVERROR_EXIT)
  }

  func seek(to offset: Int64?, from whence: Int32) -> Int64 {
    guard let offset else {
      var status = stat()
      return unsafe fstat(descriptor, &status) == 0 ? Int64(status.st_size) : Int64(-errno)
    }
    let position = lseek(descriptor, Int(offset), whence)
    return position < 0 ? Int64(-errno) : Int64(position)
  }
}
