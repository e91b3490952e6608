import HLS

/// The workers that are alive, and which of them looks after a recording. All who see the same workers come to the same
/// answer, and when one leaves only its own recordings move (rendezvous hashing: each worker has a number for each
/// recording, and the highest wins). Pure.
struct Membership: Equatable, Sendable {
  /// Names of leases, ascending.
  private(set) var workers: [String] = []
  private var hashes: [UInt64] = []

  init(_ workers: [String] = []) {
    self.workers = workers.sorted()
    hashes = self.workers.map { stableHash($0) }
  }

  /// Nil where there is no worker.
  func owner(of recording: RecordingName) -> String? {
    let hash = stableHash(recording.text)
    var best: (score: UInt64, index: Int)?
    for (index, worker) in hashes.enumerated() {
      let score = Membership.mixed(hash ^ worker)
      if best.map({ score > $0.score }) ?? true { best = (score, index) }
    }
    return best.map { workers[$0.index] }
  }

  /// Each bit of the result depends on each of `value` (MurmurHash3's finalizer).
  private static func mixed(_ value: UInt64) -> UInt64 {
    var value = value
    value = (value ^ (value >> 33)) &* 0xFF51_AFD7_ED55_8CCD
    value = (value ^ (value >> 33)) &* 0xC4CE_B9FE_1A85_EC53
    return value ^ (value >> 33)
  }
}
