import LibAV
import Platform
import Synchronization

/// Lets speech recognition listen: what is recorded as sound goes to a file, FIFO or Unix socket as 16 kHz mono s16le. A
/// reader that is slow or gone loses sound and disturbs nobody.
// Sendable: the filter is used by the thread that encodes the sound, all else is behind locks or constant.
final class SpeechTap: @unchecked Sendable {
  static let rate = 16_000
  /// About 21 ms each: a reader may be behind by 5 s.
  private static let capacity = 256

  private let path: String
  private let log: Log
  private let blocks = HandoffQueue<[UInt8]>(capacity: SpeechTap.capacity)
  private var filter: FilterGraph
  private var heard: Frame
  private let lost = Atomic<Int>(0)
  private let moment = Monitor(false)

  init(path: String, log: Log) throws(RecordingError) {
    self.path = path
    self.log = log
    let input = FilterInput.audio(
      sampleRate: Int(StudioSound.rate), format: StudioSound.format, channelLayout: StudioSound.layout,
      timeBase: StudioSound.timeBase)
    filter = try media { () throws(AVError) in
      try FilterGraph(
        input: input, description: "aresample=\(SpeechTap.rate),aformat=sample_fmts=s16:channel_layouts=mono")
    }
    heard = try media { () throws(AVError) in try Frame() }
  }

  /// Takes the next sound of a track, in its studio form.
  func hear(_ sound: borrowing Frame) throws(RecordingError) {
    try media { () throws(AVError) in
      var copy = try sound.shared()
      try filter.send(&copy)
      while try filter.receive(into: &heard) == .produced {
        let bytes = heard.withPlane(0) { (bytes, _) -> [UInt8] in
          unsafe bytes.withUnsafeBytes { unsafe Array($0) }
        }
        if let bytes { lost.add(blocks.putDroppingOldest(bytes) ?? 0, ordering: .relaxed) }
      }
    }
  }

  /// Nothing more is heard; `work` writes what goes at once and ends.
  func close() { blocks.close() }

  // MARK: The thread

  func work() {
    var outlet: Outlet?
    var rest: ArraySlice<UInt8> = []
    var hasFailed = false
    var deadline: ContinuousClock.Instant?
    while true {
      do throws(SystemError) {
        if outlet == nil {
          rest = []
          outlet = try Outlet.open(path)
          if outlet != nil { hasFailed = false }
        }
        if let written = try outlet?.write(rest) { rest = rest.dropFirst(written) }
      } catch {
        outlet = nil
        if !hasFailed { log.warning("tap", "--pcm-tap: \(error); trying again") }
        hasFailed = true
      }
      if outlet != nil && rest.isEmpty {
        guard let next = blocks.take() else { break }
        rest = next[...]
        continue
      }
      // Nobody reads, or not fast enough. At the end there is a moment left to do so.
      if blocks.isClosed, ContinuousClock.now > deadline ?? .now { break }
      if blocks.isClosed && deadline == nil { deadline = .now + .milliseconds(300) }
      if outlet == nil {
        while blocks.count > 2, blocks.takeAtOnce() != nil { lost.add(1, ordering: .relaxed) }
        if blocks.isClosed { break }
      }
      _ = moment.wait(timeout: .milliseconds(outlet == nil ? 100 : 20)) { (_) -> Bool? in nil }
    }
    let lost = lost.load(ordering: .relaxed)
    if lost > 0 { log.warning("tap", "--pcm-tap: \(lost * 1024 / 48) ms of sound were not read in time") }
  }
}
