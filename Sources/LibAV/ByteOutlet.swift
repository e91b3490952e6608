import CLibAV

/// Where a muxer's bytes go. libav calls back into it; while a call lends a sink, bytes go there, else they are kept.
/// Owns the `AVIOContext`. A callback cannot throw: the first failure is kept and later bytes are refused.
@safe final class ByteOutlet {
  private(set) var context: UnsafeMutablePointer<AVIOContext>
  private(set) var kept: [UInt8] = []
  /// Returns false to refuse. Lent for the time of one libav call.
  private var sink: ((RawSpan) -> Bool)?

  /// Bytes of the buffer between libav and the sink. The muxer goes back to fill in the sizes of boxes, which works only
  /// while they are still in it: moov and moof must fit whole. So `AVIOContext.direct` is of no use here, either.
  static let capacity = 128 * 1024

  init() throws(AVError) {
    let size = ByteOutlet.capacity
    guard let buffer = unsafe av_malloc(size) else { throw AVError(.allocate("an output buffer"), code: -12) }
    guard
      let context = unsafe avio_alloc_context(
        buffer.assumingMemoryBound(to: UInt8.self), Int32(size), 1, nil, nil,
        { opaque, bytes, count in unsafe ByteOutlet.write(opaque, bytes, count) }, nil)
    else {
      unsafe av_free(buffer)
      throw AVError(.allocate("an output buffer"), code: -12)
    }
    unsafe self.context = context
    unsafe context.pointee.opaque = Unmanaged.passUnretained(self).toOpaque()
    unsafe context.pointee.seekable = 0
  }

  deinit {
    unsafe av_free(context.pointee.buffer)
    var context: UnsafeMutablePointer<AVIOContext>? = unsafe context
    unsafe avio_context_free(&context)
  }

  /// Takes what was kept.
  func takeKept() -> [UInt8] {
    defer { kept = [] }
    return kept
  }

  /// Lends `sink` while `body` runs.
  func lending<R>(_ sink: (RawSpan) -> Bool, _ body: () -> R) -> R {
    withoutActuallyEscaping(sink) { sink in
      self.sink = sink
      defer { self.sink = nil }
      return body()
    }
  }

  private static func write(_ opaque: UnsafeMutableRawPointer?, _ bytes: UnsafeMutablePointer<UInt8>?, _ count: Int32)
    -> Int32
  {
    guard let opaque = unsafe opaque, count > 0 else { return 0 }
    let outlet = unsafe Unmanaged<ByteOutlet>.fromOpaque(opaque).takeUnretainedValue()
    let buffer = unsafe UnsafeRawBufferPointer(start: bytes, count: Int(count))
    guard let sink = outlet.sink else {
      unsafe outlet.kept.append(contentsOf: buffer)
      return count
    }
    return sink(unsafe RawSpan(_unsafeBytes: buffer)) ? count : -5
  }
}
