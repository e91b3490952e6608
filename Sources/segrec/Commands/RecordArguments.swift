import HLS
import LibAV
import Platform
import Recording

/// What `segrec record` was asked for, as typed: names and URLs are made sense of in `configuration`.
struct RecordArguments: CommonlyOptioned {
  /// One `--input` or `--mic` with the format and options that stand before it.
  struct Source: Equatable {
    var text: String
    var format: String?
    var options: [MediaOption]
  }

  var common = CommonArguments()
  var sources: [Source] = []
  var microphone: Source?
  var pendingFormat: String?
  var pendingOptions: [MediaOption] = []
  var recording: RecordingName?
  /// The other fields' defaults live in the role's own configuration; inputs and name are set when all is known.
  var settings = RecordingConfiguration(inputs: [], recording: .main)
  var spool: String?
  var upload = UploadArguments()
  /// Bits per second of the picture on a weak network.
  var fallbackBitRate: Int64 = 1_000_000
  /// As typed.
  var push: String?
  var telling = TellingArguments()

  /// What `text` names, with what was said about it before.
  private mutating func source(_ option: String, _ text: String) throws(UsageError) -> Source {
    if text.isEmpty { throw UsageError(option, "is empty") }
    defer {
      pendingFormat = nil
      pendingOptions = []
    }
    return Source(text: text, format: pendingFormat, options: pendingOptions)
  }

  /// A format and options that stand behind the last input are for that one, where it has none of its own.
  mutating func giveRestToLast() throws(Failure) {
    guard pendingFormat != nil || !pendingOptions.isEmpty else { return }
    guard sources.count == 1, microphone == nil, sources[0].format == nil || pendingFormat == nil else {
      let option = pendingFormat.map { "--input-format \($0)" } ?? "--input-option \(pendingOptions[0].name)"
      throw Failure(.usage, "\(option) stands behind the last input; put it before the one it is for")
    }
    sources[0].format = sources[0].format ?? pendingFormat
    sources[0].options += pendingOptions
    pendingFormat = nil
    pendingOptions = []
  }

  static var groups: [OptionGroup<RecordArguments>] {
    [input, output, picture, sound, segments]
      + UploadArguments.groups.map { $0.within(\.upload) }
      + [TellingArguments.group.within(\.telling), CommonArguments.group.within(\.common)]
  }

  private static var input: OptionGroup<RecordArguments> {
    OptionGroup(
      title: "Input:",
      options: [
        Option(
          "--input", "URL",
          "What to record: a file, an address, - for standard input, or a device of --input-format. A second one brings the sound. ${NAME} is taken from the environment."
        ) { (arguments, text) throws(UsageError) in
          arguments.sources.append(try arguments.source("--input", text))
        },
        Option(
          "--input-format", "NAME",
          "libav's name for the format or device of the next --input or --mic: x11grab, v4l2, alsa, pulse, lavfi … (default: found out)."
        ) { (arguments, text) throws(UsageError) in arguments.pendingFormat = text },
        Option(
          "--input-option", "K=V",
          "An option of libav for the next --input or --mic: framerate=30, rtsp_transport=tcp …"
        ) {
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
        Option(
          switch: "--reconnect",
          "Opens a live input again when it fails; a new run begins. HTTP without an end is live then."
        ) {
          $0.settings.reconnects = true
        },
      ])
  }

  private static var output: OptionGroup<RecordArguments> {
    OptionGroup(
      title: "Recording:",
      options: [
        Option(
          "--push", "URL",
          "Sends the same live to an RTMP receiver as well: rtmp://host/app/key. The recording does not wait for it. ${NAME} is taken from the environment."
        ) { (arguments, text) throws(UsageError) in
          let scheme = text.prefix { $0 != ":" }.lowercased()
          guard scheme == "rtmp" || scheme == "rtmps" else {
            throw UsageError("--push", "needs an address like rtmp://host/app/key")
          }
          if arguments.push != nil { throw UsageError("--push", "can be given once") }
          arguments.push = text
        },
        Option("--recording", "NAME", "The recording's name (default: time, host and four random digits).") {
          (arguments, text) throws(UsageError) in arguments.recording = try parseRecording("--recording", text)
        },
        Option(
          "--spool", "DIR",
          "Where segments are kept until they are acknowledged (default: $XDG_STATE_HOME/segrec/spool, else ~/.local/state/segrec/spool)."
        ) { (arguments, text) throws(UsageError) in
          arguments.spool = try parseDirectory("--spool", text)
        },
      ])
  }

  private static var picture: OptionGroup<RecordArguments> {
    OptionGroup(
      title: "Picture:",
      options: [
        Option(
          "--video", "CODEC",
          "h264, hevc, av1, copy (as it comes), auto (copy what players show as it is meant, else h264) or none "
            + "(default h264)."
        ) {
          (arguments, text) throws(UsageError) in
          switch text {
          case "copy": arguments.settings.video = .copy
          case "auto": arguments.settings.video = .auto
          case "none": arguments.settings.video = .none
          default:
            guard let codec = RecordingConfiguration.VideoCodec(rawValue: text) else {
              throw UsageError("--video", "'\(text)' is not one of copy, auto, h264, hevc, av1, none")
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
        Option(
          "--fallback-bitrate", "RATE",
          "Bits per second while the network does not carry what is recorded (default 1M); what waits stays in the spool."
        ) { (arguments, text) throws(UsageError) in
          arguments.fallbackBitRate = Int64(try parseBitrate("--fallback-bitrate", text))
        },
        Option("--size", "WxH", "Size of the picture; -1 on one side keeps the shape (default: the input's).") {
          (arguments, text) throws(UsageError) in arguments.settings.size = try parseSize("--size", text)
        },
        Option(
          "--ladder", "RUNG,…",
          "Records several qualities at once, such as 1080p,480p or 720p,480p@800k: players choose. Heights above the picture's are left out (default: one, as large as the picture)."
        ) { (arguments, text) throws(UsageError) in arguments.settings.ladder = try parseLadder("--ladder", text) },
        Option("--max-fps", "RATE", "Most frames per second (default 25 for screens, else the input's).") {
          (arguments, text) throws(UsageError) in
          arguments.settings.maximumFrameRate = try parseRate("--max-fps", text)
        },
        Option("--refill", "DURATION", "Shows the last frame again when no new one came for so long (default 500ms).") {
          (arguments, text) throws(UsageError) in
          arguments.settings.refill = try parsePositiveDuration("--refill", text)
        },
        Option(
          "--watermark", "FILE[,CORNER[,MARGIN]]",
          "Lays an image over the picture: top-left, top-right, bottom-left or bottom-right, pixels to the edges (default top-right,16)."
        ) { (arguments, text) throws(UsageError) in
          try setWatermark(&arguments.settings.watermark, "--watermark", text)
        },
        Option(
          "--watermark-text", "TEXT",
          "Writes a line into the picture, at the bottom left; {time} is the clock (UTC), {recording} the recording's name."
        ) { (arguments, text) throws(UsageError) in
          if text.isEmpty { throw UsageError("--watermark-text", "is empty") }
          arguments.settings.watermark.text = text
        },
      ])
  }

  private static var sound: OptionGroup<RecordArguments> {
    OptionGroup(
      title: "Sound:",
      options: [
        Option("--audio", "CODEC", "aac, copy (as it comes), auto (copy, or aac) or none (default aac, 48 kHz).") {
          (arguments, text) throws(UsageError) in
          switch text {
          case "aac": arguments.settings.audio = .aac
          case "copy": arguments.settings.audio = .copy
          case "auto": arguments.settings.audio = .auto
          case "none": arguments.settings.audio = .none
          default: throw UsageError("--audio", "'\(text)' is not one of copy, auto, aac, none")
          }
        },
        Option("--audio-bitrate", "RATE", "Bits per second (default 128k).") { (arguments, text) throws(UsageError) in
          arguments.settings.audioBitRate = Int64(try parseBitrate("--audio-bitrate", text))
        },
        Option("--mic", "URL", "A second source of sound, such as a microphone (default: none).") {
          (arguments, text) throws(UsageError) in
          if arguments.microphone != nil { throw UsageError("--mic", "can be given once") }
          arguments.microphone = try arguments.source("--mic", text)
        },
        Option("--mic-mode", "MODE", "mix (into the sound) or separate (a second sound track; default mix).") {
          (arguments, text) throws(UsageError) in
          arguments.settings.microphoneMode = try parseChoice("--mic-mode", text)
        },
        Option("--mic-gain", "DB", "Makes the microphone louder by so many decibels, -60 to 30 (default 0).") {
          (arguments, text) throws(UsageError) in
          let isLess = text.hasPrefix("-")
          guard let gain = decimal(isLess ? String(text.dropFirst()) : text), gain <= (isLess ? 60 : 30) else {
            throw UsageError("--mic-gain", "'\(text)' is not a number of decibels from -60 to 30")
          }
          arguments.settings.microphoneGain = isLess ? -gain : gain
        },
        Option(
          "--pcm-tap", "PATH",
          "Gives the sound to speech recognition as 16 kHz mono s16le: a file, a FIFO or a Unix socket. Never waits for it."
        ) { (arguments, text) throws(UsageError) in
          if text.isEmpty { throw UsageError("--pcm-tap", "is empty") }
          arguments.settings.pcmTap = text
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

/// `1080p,480p`, `720p,480p@800k`: heights, each with the bit rate that it is to have or none. Highest first, each once.
func parseLadder(_ option: String, _ text: String) throws(UsageError) -> [Rung] {
  var rungs: [Rung] = []
  for word in text.split(separator: ",", omittingEmptySubsequences: false) {
    let parts = word.split(separator: "@", omittingEmptySubsequences: false)
    guard parts.count <= 2, parts[0].last == "p", let side = Int(parts[0].dropLast()) else {
      throw UsageError(option, "'\(word)' is not a rung; write for example 1080p,480p or 720p,480p@800k")
    }
    guard Rung.sides.contains(side) else {
      throw UsageError(option, "\(side)p is out of range: \(Rung.sides.lowerBound)p to \(Rung.sides.upperBound)p")
    }
    let bitRate = parts.count == 2 ? Int64(try parseBitrate(option, String(parts[1]))) : nil
    let place = rungs.firstIndex { $0.side <= side } ?? rungs.count
    guard place < rungs.count, rungs[place].side == side else {
      rungs.insert(Rung(side: side, bitRate: bitRate), at: place)
      continue
    }
    if let bitRate, let other = rungs[place].bitRate, other != bitRate {
      throw UsageError(option, "\(side)p is there twice, with different bit rates")
    }
    rungs[place].bitRate = rungs[place].bitRate ?? bitRate
  }
  guard rungs.count <= Rung.mostOfThem else {
    throw UsageError(option, "\(rungs.count) rungs are too many: \(Rung.mostOfThem) at most")
  }
  return rungs
}

/// `logo.png`, `logo.png,top-left`, `logo.png,bottom-right,24`; the name itself may hold commas.
func setWatermark(_ watermark: inout Watermark, _ option: String, _ text: String) throws(UsageError) {
  var parts = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
  if parts.count > 2, let margin = Int(parts[parts.count - 1]),
    Watermark.Corner(rawValue: parts[parts.count - 2]) != nil
  {
    guard (0...4096).contains(margin) else { throw UsageError(option, "the margin must be 0 to 4096 pixels") }
    watermark.margin = margin
    parts.removeLast()
  }
  if parts.count > 1, let corner = Watermark.Corner(rawValue: parts[parts.count - 1]) {
    watermark.corner = corner
    parts.removeLast()
  }
  let path = parts.joined(separator: ",")
  if path.isEmpty { throw UsageError(option, "names no image") }
  watermark.imagePath = path
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
