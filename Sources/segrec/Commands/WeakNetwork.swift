import Delivery
import Recording

/// Makes the recorder follow what the uploader finds the network to bear.
struct WeakNetwork: Sendable {
  private let recorder: Recorder
  /// Bits per second of the picture and of the sound.
  private let fallback: Int64
  private let sound: Int64
  /// Seconds.
  private let segment: Double
  private let canChange: Bool

  init(_ configuration: RecordingConfiguration, fallback: Int64, _ recorder: Recorder) {
    self.recorder = recorder
    self.fallback = fallback
    sound = configuration.audio == .none ? 0 : configuration.audioBitRate
    segment = Double(configuration.segmentTicks) / 90_000
    if case .encode = configuration.video { canChange = true } else { canChange = false }
  }

  /// With a ladder, where the picture's bitrate can be changed.
  func laddered(_ configuration: UploadConfiguration) -> UploadConfiguration {
    guard canChange else { return configuration }
    var configuration = configuration
    let (recorder, fallback, sound) = (recorder, fallback, sound)
    configuration.ladder = LadderSettings(segment: segment) {
      let sound = sound * Int64(recorder.rungCount)
      return recorder.fullVideoBitRate.map { (Double($0 + sound), Double(fallback + sound)) }
    }
    return configuration
  }

  @Sendable func follow(_ level: Ladder.Level) {
    guard let full = recorder.fullVideoBitRate else { return }
    recorder.setVideoBitRate(level.usesFallback ? min(fallback, full) : full)
  }
}
