import CLibAV

/// A VAAPI device and its pool of surfaces: frames in memory are copied to one before they are encoded. Both are counted
/// by libav (`AVBufferRef`) and released here.
@safe final class HardwareUpload {
  private var device: UnsafeMutablePointer<AVBufferRef>?
  private var surfaces: UnsafeMutablePointer<AVBufferRef>?
  private let encoder: String

  /// Opens the default device and gives `context` its surfaces. Throws where there is none.
  init(for context: UnsafeMutablePointer<AVCodecContext>, encoder: String) throws(AVError) {
    self.encoder = encoder
    var result = unsafe av_hwdevice_ctx_create(&device, AV_HWDEVICE_TYPE_VAAPI, nil, nil, 0)
    guard result >= 0 else { throw AVError(.openEncoder(encoder), code: result, detail: "no VAAPI device") }
    guard let pool = unsafe av_hwframe_ctx_alloc(device) else { throw AVError(.allocate("surfaces"), code: -12) }
    unsafe surfaces = pool
    let frames = unsafe UnsafeMutableRawPointer(pool.pointee.data).assumingMemoryBound(to: AVHWFramesContext.self)
    unsafe frames.pointee.format = AV_PIX_FMT_VAAPI
    unsafe frames.pointee.sw_format = AV_PIX_FMT_NV12
    unsafe frames.pointee.width = context.pointee.width
    unsafe frames.pointee.height = context.pointee.height
    unsafe frames.pointee.initial_pool_size = 8
    result = unsafe av_hwframe_ctx_init(pool)
    guard result >= 0 else { throw AVError(.openEncoder(encoder), code: result) }
    unsafe context.pointee.pix_fmt = AV_PIX_FMT_VAAPI
    unsafe context.pointee.hw_frames_ctx = av_buffer_ref(pool)
  }

  deinit {
    unsafe av_buffer_unref(&surfaces)
    unsafe av_buffer_unref(&device)
  }

  func upload(_ frame: borrowing Frame) throws(AVError) -> Frame {
    let surface = try Frame()
    var result = unsafe av_hwframe_get_buffer(surfaces, surface.raw, 0)
    if result >= 0 { result = unsafe av_hwframe_transfer_data(surface.raw, frame.raw, 0) }
    if result >= 0 { result = unsafe av_frame_copy_props(surface.raw, frame.raw) }
    guard result >= 0 else { throw AVError(.encode(encoder), code: result) }
    return surface
  }
}
