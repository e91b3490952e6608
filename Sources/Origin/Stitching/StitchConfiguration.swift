package import HLS

/// How `stitch` and `serve` make playlists. The defaults are those of the command line.
package struct StitchConfiguration: Sendable {
  package var policy = StitchingPolicy()
  /// Looks after one part of the recordings, so that several processes can share a root.
  package var shard = Shard()
  /// Threads that look after recordings. Each writes the playlists of its recordings and waits for the disk meanwhile.
  package var threads = 4
  /// How often the directories are looked at without a notice: the net below lost notices.
  package var rescanInterval: Duration = .seconds(30)

  package init() {}

  /// For a bucket: each thread waits for one answer at a time, 10 to 60 ms away, and what makes new recordings known is
  /// asking for their names.
  package mutating func lookAtRequests() {
    threads = 32
    rescanInterval = .seconds(10)
  }

  package struct Shard: Equatable, Sendable {
    /// 0 to `count` - 1.
    package var index = 0
    package var count = 1

    package init(index: Int = 0, count: Int = 1) {
      self.index = index
      self.count = count
    }

    func contains(_ recording: RecordingName) -> Bool {
      stableHash(recording.text) % UInt64(max(1, count)) == UInt64(index)
    }
  }

  /// Refuses what cannot work; the text names the option.
  package func validate() throws(StitchConfigurationError) {
    if case .last(let ticks) = policy.window, ticks <= 0 {
      throw StitchConfigurationError(option: "--window", reason: "must be more than 0 s, or all")
    }
    if let target = policy.targetDuration, !(1...3_600).contains(target) {
      throw StitchConfigurationError(option: "--target-duration", reason: "must be 1 s to 3600 s")
    }
    if let patience = policy.gapAfter, patience < .zero {
      throw StitchConfigurationError(option: "--gap-after", reason: "must not be negative")
    }
    if let idle = policy.idleEnd, idle < .zero {
      throw StitchConfigurationError(option: "--idle-end", reason: "must not be negative")
    }
    guard shard.count >= 1, (0..<shard.count).contains(shard.index) else {
      throw StitchConfigurationError(option: "--shard", reason: "must be i/n with i from 0 to n - 1")
    }
    guard threads >= 1 else { throw StitchConfigurationError(option: "threads", reason: "must be at least 1") }
  }
}

package struct StitchConfigurationError: Error, Equatable, Sendable, CustomStringConvertible {
  package let option: String
  package let reason: String
  package var description: String { "\(option) \(reason)" }
}

/// The same for a text in every process and on every machine (FNV-1a), which Swift's own hash is not.
func stableHash(_ text: String) -> UInt64 {
  text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
}
