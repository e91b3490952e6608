import CLibAV

/// Tells inputs whose time does not wait for the reader.
enum LiveInput {
  static func isLive(_ raw: UnsafeMutablePointer<AVFormatContext>, _ request: InputRequest) -> Bool {
    guard let format = unsafe raw.pointee.iformat else { return false }
    let name = unsafe String(cString: format.pointee.name)
    switch name {
    // lavfi computes as fast as it is read; with a realtime filter in it, it paces itself and waits all the same.
    case "lavfi": return false
    case "rtsp", "rtp", "sdp": return true
    default: break
    }
    if unsafe isDevice(format) { return true }
    // A live HLS list has no duration, and its segments expire.
    if name == "hls" { return unsafe raw.pointee.duration == segrec_AV_NOPTS_VALUE }
    if request.comesBack, request.url.lowercased().hasPrefix("http"), let io = unsafe raw.pointee.pb,
      unsafe avio_size(io) < 0
    {
      return true
    }
    return isRealTime(scheme: request.url)
  }

  static func isDevice(_ format: UnsafePointer<AVInputFormat>) -> Bool {
    guard let category = unsafe format.pointee.priv_class?.pointee.category else { return false }
    return category == AV_CLASS_CATEGORY_DEVICE_VIDEO_INPUT || category == AV_CLASS_CATEGORY_DEVICE_AUDIO_INPUT
      || category == AV_CLASS_CATEGORY_DEVICE_INPUT
  }

  static func isRealTime(scheme url: String) -> Bool {
    guard let colon = url.firstIndex(of: ":") else { return false }
    return switch url[..<colon].lowercased() {
    case "udp", "udplite", "rtp", "srtp", "rtsp", "rtsps", "satip", "srt", "rist", "tcp", "tls", "rtmp", "rtmps",
      "rtmpt", "rtmpe", "rtmpts", "rtmpte", "mmsh", "mmst":
      true
    default: false
    }
  }
}

/// Devices stamp with the wall clock. What that is set by while they are read is taken out of their times, so that media
/// time goes on as if nothing had happened. Pure.
struct DeviceClock: Equatable, Sendable {
  /// Microseconds that may be the scheduler's doing, or that a clock is disciplined by.
  private static let tolerance: Int64 = 50_000
  /// Stamps further than this from the wall clock are of another one.
  private static let vicinity: Int64 = 60_000_000

  /// Microseconds by which the wall clock was set since the first look.
  private(set) var shift: Int64 = 0
  private var first: Int64?

  /// What is to be taken off a stamp, in microseconds.
  ///
  /// - Parameters:
  ///   - stamp: microseconds.
  ///   - wall: microseconds since the epoch, now.
  ///   - monotonic: microseconds since any fixed moment, now.
  mutating func error(of stamp: Int64, wall: Int64, monotonic: Int64) -> Int64 {
    let offset = wall - monotonic
    let first = first ?? offset
    self.first = first
    if abs(offset - first - shift) > Self.tolerance { shift = offset - first }
    // It may have been stamped before the clock was set.
    let (after, before) = (abs(stamp - wall), abs(stamp - wall + shift))
    return after < before && after < Self.vicinity ? shift : 0
  }
}
