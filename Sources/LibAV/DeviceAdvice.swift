import CLibAV
import Glibc

/// Tells failures of inputs as a person can use them: libav's numbers say little of devices, its log lines more.
enum DeviceAdvice {
  /// - Parameter format: of the device that was to be opened; nil where it is none, or was open already.
  static func error(_ operation: AVError.Operation, _ code: Int32, format: String? = nil) -> AVError {
    let said = MediaLog.takeComplaint()
    let advice: String? =
      switch format {
      case "x11grab": code == -EIO ? "DISPLAY and XAUTHORITY say which X screen there is and who may see it" : nil
      case "pulse": "is a sound server running (PULSE_SERVER)? `pactl list short sources` names what it has"
      case "alsa": "`arecord -L` names what there is"
      case "v4l2", "video4linux2": "`ls /dev/video*` names what there is, and user must be in group video"
      default: nil
      }
    // PulseAudio's numbers are its own, and libav takes them for the system's.
    var cause = format == "pulse" ? "it cannot be recorded" : ""
    if advice != nil || isVague(code), code != -ETIMEDOUT, let said { cause = said }
    if cause.isEmpty, code == -EIO, case .read(let input) = operation, input.utf8.contains(UInt8(ascii: ":")) {
      cause = "the connection broke off"
    }
    guard let advice, code != segrec_AVERROR_EXIT else { return AVError(operation, code: code, detail: cause) }
    if cause.isEmpty { cause = AVError(operation, code: code).causeText }
    return AVError(operation, code: code, detail: "\(cause); \(advice)")
  }

  /// Numbers that stand for anything.
  private static func isVague(_ code: Int32) -> Bool {
    [-EIO, -EINVAL, -ENOSYS, segrec_AVERROR_EXTERNAL, segrec_AVERROR_UNKNOWN].contains(code)
  }
}
