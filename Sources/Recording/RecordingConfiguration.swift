package import HLS
package import LibAV
package import Storage

/// What `Recorder` is to record and how. Defaults are those of the command line.
package struct RecordingConfiguration: Sendable {
  /// One input: what to open, and how.
  package struct Input: Equatable, Sendable {
    /// Anything libav opens; `-` is standard input.
    package var url: String
    /// Name of a demuxer or device (`x11grab`, `v4l2`, `alsa`, `pulse`, `lavfi`); nil lets libav find out.
    package var format: String?
    package var options: [MediaOption]

    package init(url: String, format: String? = nil, options: [MediaOption] = []) {
      self.url = url
      self.format = format
      self.options = options
    }
  }

  package enum Video: Equatable, Sendable {
    /// The source's packets as they are.
    case copy
    /// Copied where players show it as it is meant and nothing is to be changed, else encoded as H.264.
    case auto
    case encode(VideoCodec)
    case none
  }
  package enum VideoCodec: String, Sendable, CaseIterable {
    case h264, hevc, av1

    /// libav's encoder that needs no hardware.
    package var softwareEncoder: String {
      switch self {
      case .h264: "libx264"
      case .hevc: "libx265"
      case .av1: "libsvtav1"
      }
    }
  }
  /// What becomes of the microphone.
  package enum MicrophoneMode: String, Sendable, CaseIterable {
    /// Laid over the programme's sound.
    case mix
    /// A rendition of its own, which players offer as a second sound track.
    case separate
  }
  package enum Audio: Equatable, Sendable {
    case copy, aac, none
    /// Copied where it can be and nobody else wants to hear it, else encoded.
    case auto
  }

  /// A picture size; nil on one side keeps the aspect.
  package struct Size: Equatable, Sendable {
    package var width: Int?
    package var height: Int?
    package init(width: Int?, height: Int?) {
      self.width = width
      self.height = height
    }
  }

  /// One, or two: then the second brings the sound.
  package var inputs: [Input]
  package var recording: RecordingName
  package var rendition: RenditionName = .main

  package var video: Video = .encode(.h264)
  /// libav's name; nil is the software encoder of the codec.
  package var encoder: String?
  /// For the encoder, over those it gets by itself.
  package var encoderOptions: [MediaOption] = []
  /// Bits per second; nil chooses by size and rate.
  package var videoBitRate: Int64?
  package var size: Size?
  /// Of a picture that was asked for, in pixels.
  static let longestSide = 8192
  /// Qualities to encode, highest first, each side once: `main` and a rendition for each of the others. Empty: one, as
  /// large as the picture.
  package var ladder: [Rung] = []
  /// Frames per second; nil: 25 for screens, the source's own rate for the rest.
  package var maximumFrameRate: RationalTime?
  /// Marks laid over the picture.
  package var watermark = Watermark()
  /// Longest time without a frame, for live sources and files alike; nil leaves holes.
  package var refill: Duration? = .milliseconds(500)
  /// Threads of the video encoder and of the scaler.
  package var threads: Int = 2

  package var audio: Audio = .aac
  /// Bits per second.
  package var audioBitRate: Int64 = 128_000

  /// A second source of sound.
  package var microphone: Input?
  package var microphoneMode: MicrophoneMode = .mix
  /// Decibels by which the microphone is made louder.
  package var microphoneGain: Double = 0
  /// A file, FIFO or Unix socket that gets the sound as 16 kHz mono s16le; nil: none does.
  package var pcmTap: String?
  /// A live receiver (`rtmp://`, `rtmps://`) that gets the same packets; nil: none does. Its stream key is a secret.
  package var push: String?

  /// 90 kHz ticks; 1 s to 60 s.
  package var segmentTicks: Int64 = 450_000
  /// 90 kHz ticks; 100 ms up to the segment duration.
  package var chunkTicks: Int64 = 90_000
  /// Ends the recording after this much media; nil records to the end of the input.
  package var duration: Duration?
  /// Reads a file no faster than it plays.
  package var isPaced = false
  /// A live input that fails is opened again and a new run begins.
  package var reconnects = false
  /// A live input that gives nothing for so long has failed; nil waits for ever.
  package var inputTimeout: Duration? = .seconds(10)
  /// Keeps room in the spool; without one the recording ends when the disk is full.
  package var keeper: SpoolKeeper?
  /// What `-` stands for.
  package var standardInput: Int32 = 0

  package init(inputs: [Input], recording: RecordingName) {
    self.inputs = inputs
    self.recording = recording
  }

  /// Something is to be done with the pixels.
  var changesPictures: Bool { size != nil || !ladder.isEmpty || !watermark.isEmpty || maximumFrameRate != nil }

  /// Throws what does not fit together; the message names the option.
  package func validate() throws(RecordingError) {
    func refuse(_ message: String) throws(RecordingError) { throw RecordingError(.usage, message) }
    if inputs.isEmpty { try refuse("--input is missing") }
    if inputs.count > 2 { try refuse("--input can be given twice: for the picture and for the sound") }
    if (inputs + (microphone.map { [$0] } ?? [])).filter({ $0.url == "-" }).count > 1 {
      try refuse("--input - can be given once")
    }
    if video == .none && audio == .none && (microphone == nil || microphoneMode == .separate) {
      try refuse("--video none and --audio none leave nothing to record")
    }
    if inputs.count == 2 && (video == .none || audio == .none) {
      try refuse("a second --input brings the sound, so neither --video nor --audio can be none")
    }
    if !rendition.isUsableAsRendition { try refuse("\(rendition) cannot name a rendition") }
    if !(90_000...5_400_000).contains(segmentTicks) { try refuse("--segment-duration must be 1 s to 60 s") }
    if !(9_000...segmentTicks).contains(chunkTicks) {
      try refuse("--chunk-duration must be 100 ms to the segment duration")
    }
    if let duration, duration <= .zero { try refuse("--duration must be more than 0") }
    if let refill, refill < .milliseconds(40) { try refuse("--refill must be at least 40 ms") }
    if let rate = maximumFrameRate, !(1...240).contains(rate.value) { try refuse("--max-fps must be 1 to 240") }
    for rate in [videoBitRate] + ladder.map(\.bitRate) {
      if let rate, !(10_000...200_000_000).contains(rate) {
        try refuse("--video-bitrate, and each bit rate of --ladder, must be 10k to 200M")
      }
    }
    if videoBitRate != nil, ladder.first?.bitRate != nil {
      try refuse("--video-bitrate is for the highest rung of --ladder, which has a bit rate of its own")
    }
    if microphone != nil, microphoneMode == .mix, audio == .copy {
      try refuse("--mic needs --audio aac to be mixed in, or --mic-mode separate")
    }
    if !(-60...30).contains(microphoneGain) { try refuse("--mic-gain must be -60 to 30 dB") }
    if pcmTap != nil, audio == .copy || audio == .none && (microphone == nil || microphoneMode == .separate) {
      try refuse("--pcm-tap needs sound that is encoded: --audio aac")
    }
    if push != nil, case .encode(let codec) = video, codec != .h264 {
      try refuse("--push takes H.264, so --video \(codec.rawValue) is impossible with it")
    }
    if !(8_000...512_000).contains(audioBitRate) { try refuse("--audio-bitrate must be 8k to 512k") }
    if let size {
      for side in [size.width, size.height] {
        if let side, !(16...Self.longestSide).contains(side) {
          try refuse("--size must be 16 to \(Self.longestSide) on each side")
        }
      }
      if size.width == nil && size.height == nil { try refuse("--size needs at least one side") }
      if video == .copy { try refuse("--size needs encoding, so --video copy is impossible with it") }
    }
    if !ladder.isEmpty, video == .copy || video == .none {
      try refuse("--ladder needs pictures that are encoded: --video h264, hevc or av1")
    }
    if !watermark.isEmpty && video == .copy {
      try refuse("--watermark needs encoding, so --video copy is impossible with it")
    }
    if maximumFrameRate != nil && video == .copy {
      try refuse("--max-fps needs encoding, so --video copy is impossible with it")
    }
    if let encoder {
      guard case .encode = video else { return try refuse("--encoder \(encoder) needs --video h264, hevc or av1") }
      if !VideoEncoder.isKnown(encoder) { try refuse("--encoder \(encoder): this libav has no such encoder") }
    }
    if case .encode(let codec) = video, encoder == nil, !VideoEncoder.isKnown(codec.softwareEncoder) {
      try refuse("--video \(codec.rawValue): this libav has no encoder \(codec.softwareEncoder)")
    }
  }
}
