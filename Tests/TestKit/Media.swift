import Foundation

/// Makes inputs with ffmpeg and looks at results with ffmpeg and ffprobe: players and tools we did not write.
public enum Media {
  /// A moving test picture with sound that beeps, so that neither can be missing unnoticed.
  ///
  /// - Parameters:
  ///   - arguments: ffmpeg's options for the output: codecs, rates, sizes.
  public static func generate(
    _ path: String, seconds: Double, rate: String = "25", size: String = "320x180",
    arguments: [String] = ["-c:v", "libx264", "-preset", "ultrafast", "-g", "50", "-c:a", "aac"]
  ) throws {
    try Program.tool(
      "ffmpeg",
      [
        "-nostdin", "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=size=\(size):rate=\(rate):duration=\(seconds)",
        "-f", "lavfi", "-i", "sine=frequency=440:beep_factor=4:sample_rate=48000:duration=\(seconds)",
      ] + arguments + [path])
  }

  /// Decodes everything a player would show; throws with the player's words if anything is wrong.
  public static func decode(_ source: String) throws {
    let result = try Program.run(
      "ffmpeg", ["-nostdin", "-hide_banner", "-v", "error", "-xerror", "-i", source, "-map", "0", "-f", "null", "-"])
    guard result.status == 0, result.errors.isEmpty else {
      throw Program.Failure(description: "\(source) does not decode: \(result.errors)")
    }
  }

  /// What ffprobe says of one stream, after decoding it.
  public struct Stream: Sendable {
    /// Frames that came out of the decoder (video) or packets (sound).
    public let frames: Int
    /// First presentation time, seconds.
    public let start: Double
    /// From the first sample's start to the last one's end, seconds.
    public let duration: Double
    public let codec: String
    public let width: Int
    public let height: Int
  }

  /// - Parameter kind: `v` or `a`.
  /// - Returns: nil where there is no such stream.
  public static func stream(_ source: String, _ kind: String) throws -> Stream? {
    let listing = try Program.tool(
      "ffprobe",
      [
        "-v", "error", "-select_streams", "\(kind):0", "-show_entries",
        "stream=codec_name,width,height:packet=pts_time,duration_time", "-of", "json", source,
      ])
    guard let object = try JSONSerialization.jsonObject(with: Data(listing.utf8)) as? [String: Any],
      let stream = (object["streams"] as? [[String: Any]])?.first
    else { return nil }
    var first = Double.infinity
    var end = -Double.infinity
    let packets = object["packets"] as? [[String: Any]] ?? []
    for packet in packets {
      guard let time = (packet["pts_time"] as? String).flatMap(Double.init) else { continue }
      first = min(first, time)
      end = max(end, time + ((packet["duration_time"] as? String).flatMap(Double.init) ?? 0))
    }
    return Stream(
      frames: packets.count, start: first, duration: end - first, codec: stream["codec_name"] as? String ?? "",
      width: stream["width"] as? Int ?? 0, height: stream["height"] as? Int ?? 0)
  }
}
