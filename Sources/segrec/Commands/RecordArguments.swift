import HLS
import LibAV
import Platform
import Recording

/// What `segrec record` was asked for, as typed: names and URLs are made sense of in `configuration`.
struct RecordArguments {
  /// One `--input` with the format and options that stand before it.
  struct Source: Equatable {
    var text: String
    var format: String?
    var options: [MediaOption]
  }

  var common = CommonArguments()
  var sources: [Source] = []
  var pendingFormat: String?
  var pendingOptions: [MediaOption] = []
  var recording: RecordingName?
  /// The other fields' defaults live in the role's own configuration; inputs and name are set when all is known.
  var settings = RecordingConfiguration(inputs: [], recording: .main)
  var spool: String?
  var upload = UploadArguments()

  static var groups: [OptionGroup<RecordArguments>] {
    [input, output, picture, sound, segments]
      + UploadArguments.groups.map { $0.within(\.upload) } + [CommonArguments.group.within(\.common)]
  }

  private static var input: OptionGroup<RecordArguments> {
    OptionGroup(
      title: "Input:",
      options: [
        Option(
          "--input", "URL",
          "What to record: a file, an address, - for standard input, or a device of --input-format. A second one brings the sound. ${NAME} is taken from the environment."
        ) { (arguments, text) throws(UsageError) in
          if text.isEmpty { throw UsageError("--input", "is empty") }
          arguments.sources.append(
            Source(text: text, format: arguments.pendingFormat, options: arguments.pendingOptions))
          arguments.pendingFormat = nil
          arguments.pendingOptions = []
        },
        Option(
          "--input-format", "NAME",
          "libav's name for the format or device of the next --input: x11grab, v4l2, alsa, pulse, lavfi … (default: found out)."
        ) { (arguments, text) throws(UsageError) in arguments.pendingFormat = text },
        Option("--input-option", "K=V", "An option of libav for the next --input: framerate=30, rtsp_transport=tcp …") {
          (arguments, text) throws(UsageError) in
          let pair = try parsePair("--input-option", text)
          arguments.pendingOptions.append(MediaOption(pair.key, pair.value))
        },
        Option("--duration", "DURATION", "Ends the recording after this much of it (default: when the input ends).") {
          (arguments, text) throws(UsageError) in
          arguments.settings.duration = try parsePositiveDuration("--duration", text)
        },
        Option(switch: "--realtime", "Reads a file no faster than it plays.") { $0.settings.isPaced = true },
        Option(
          "--input-timeout", "DURATION",
          "A live input that gives nothing for so long has failed (default 10s; 0 waits)."
        ) { (arguments, text) throws(UsageError) in
          let timeout = try parseDuration("--input-timeout", text)
          arguments.settings.inputTimeout = timeout == .zero ? nil : timeout
        },
        Option(switch: "--reconnect", "Opens a live input again when it fails; a new run begins.") {
          $0.settings.reconnects = true
        },
      ])
  }

  private static var output: OptionGroup<RecordArguments> {
    OptionGroup(
      title: "Recording:",
      options: [
        Option("--recording", "NAME", "The recording's name (default: time, host and four random digits).") {
          (arguments, text) throws(UsageError) in arguments.recording = try parseRecording("--recording", text)
        },
        Option(
          "--spool", "DIR",
          "Where segments are kept until they are acknowledged (default: $XDG_STATE_HOME/segrec/spool, else ~/.local/state/segrec/spool)."
        ) { (arguments, text) throws(UsageError) in arguments.spool = text },
      ])
  }

  private static var picture: OptionGroup<RecordArguments> {
    OptionGroup(
      title: "Picture:",
      options: [
        Option("--video", "CODEC", "h264, hevc, av1, copy (as it comes) or none (default h264).") {
          (arguments, text) throws(UsageError) in
          switch text {
          case "copy": arguments.settings.video = .copy
          case "none": arguments.settings.video = .none
          default:
            guard let codec = RecordingConfiguration.VideoCodec(rawValue: text) else {
              throw UsageError("--video", "'\(text)' is not one of copy, h264, hevc, av1, none")
            }
            arguments.settings.video = .encode(codec)
          }
        },
        Option("--encoder", "NAME", "libav's encoder: libx264, h264_vaapi, h264_nvenc … (default: software).") {
          (arguments, text) throws(UsageError) in arguments.settings.encoder = text
        },
        Option("--video-bitrate", "RATE", "Bits per second, such as 2500k (default: by size and frame rate).") {
          (arguments, text) throws(UsageError) in
          arguments.settings.videoBitRate = Int64(try parseBitrate("--video-bitrate", text))
        },
        Option("--size", "WxH", "Size of the picture; -1 on one side keeps the shape (default: the input's).") {
          (arguments, text) throws(UsageError) in arguments.settings.size = try parseSize("--size", text)
        },
        Option("--max-fps", "RATE", "Most frames per second (default 25 for screens, else the input's).") {
          (arguments, text) throws(UsageError) in
          arguments.settings.maximumFrameRate = try parseRate("--max-fps", text)
        },
        Option("--refill", "DURATION", "Shows the last frame again when no new one came for so long (default 500ms).") {
          (arguments, text) throws(UsageError) in
          arguments.settings.refill = try parsePositiveDuration("--refill", text)
        },
      ])
  }

  private static var sound: OptionGroup<RecordArguments> {
    OptionGroup(
      title: "Sound:",
      options: [
        Option("--audio", "CODEC", "aac, copy (as it comes) or none (default aac, 48 kHz).") {
          (arguments, text) throws(UsageError) in
          switch text {
          case "aac": arguments.settings.audio = .aac
          case "copy": arguments.settings.audio = .copy
          case "none": arguments.settings.audio = .none
          default: throw UsageError("--audio", "'\(text)' is not one of copy, aac, none")
          }
        },
        Option("--audio-bitrate", "RATE", "Bits per second (default 128k).") { (arguments, text) throws(UsageError) in
          arguments.settings.audioBitRate = Int64(try parseBitrate("--audio-bitrate", text))
        },
      ])
  }

  private static var segments: OptionGroup<RecordArguments> {
    OptionGroup(
      title: "Segments:",
      options: [
        Option("--segment-duration", "DURATION", "Length of a media segment (default 5s).") {
          (arguments, text) throws(UsageError) in
          arguments.settings.segmentTicks = ticks(of: try parsePositiveDuration("--segment-duration", text))
        },
        Option(
          "--chunk-duration", "DURATION", "What a crash may cost: how often the open segment is written (default 1s)."
        ) { (arguments, text) throws(UsageError) in
          arguments.settings.chunkTicks = ticks(of: try parsePositiveDuration("--chunk-duration", text))
        },
      ])
  }
}

/// `640x360`, `-1x720`, `1280x-1`.
func parseSize(_ option: String, _ text: String) throws(UsageError) -> RecordingConfiguration.Size {
  let sides = text.split(separator: "x", omittingEmptySubsequences: false)
  guard sides.count == 2, let width = Int(sides[0]), let height = Int(sides[1]), width > 0 || width == -1,
    height > 0 || height == -1
  else { throw UsageError(option, "'\(text)' is not a size; write for example 1280x720 or -1x720") }
  return RecordingConfiguration.Size(width: width == -1 ? nil : width, height: height == -1 ? nil : height)
}

/// `25`, `29.97`, `30000/1001`: frames per second.
func parseRate(_ option: String, _ text: String) throws(UsageError) -> RationalTime {
  let parts = text.split(separator: "/", omittingEmptySubsequences: false)
  if parts.count == 2, let numerator = Int32(parts[0]), let denominator = Int32(parts[1]), numerator > 0,
    denominator > 0
  {
    return RationalTime(numerator, denominator)
  }
  let rate = try parseDecimal(option, text, in: 1...240)
  // The rates of NTSC are written with two or three decimals and mean these fractions.
  for nominal: Int32 in [24, 30, 48, 60, 120] where (rate - Double(nominal) * 1000 / 1001).magnitude < 0.006 {
    return RationalTime(nominal * 1000, 1001)
  }
  return RationalTime(Int32((rate * 1000).rounded()), 1000)
}
