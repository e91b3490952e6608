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
