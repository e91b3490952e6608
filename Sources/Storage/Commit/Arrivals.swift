import HLS
import Platform

/// Which numbers of a run are taken, and whose turn it is to take one: the guard of "one number, one file" while several
/// files arrive at once.
///
/// A listing per arrival would make a day of segments cost 150 million names. So each run that something arrives for is
/// listed once, and from then on a bit per number says whether the directory needs another look. The bits are only a
/// filter: a set one sends the question to the disk. Memory: about 10 kB for a day of segments, and at most
/// `maximumRuns` runs.
final class Arrivals: Sendable {
  static let maximumRuns = 4096

  private let runs = Monitor([RunKey: Run]())

  struct Run: Sendable {
    var isBusy = false
    /// The numbers are known, and the directories above are durable.
    var isKnown = false
    /// By number / 64.
    var segments: [Int: UInt64] = [:]
    var pieces: [Int: UInt64] = [:]
    /// What the marker says how many there are; nil where there is none.
    var count: Int?

    /// True when something of the kind may have the number already, or the run may be closed before it.
    func mayHold(_ entry: RunEntry) -> Bool {
      switch entry {
      case .segment(let name): has(name.sequence, segments) || name.sequence >= count ?? .max
      case .piece(let sequence): has(sequence, pieces) || sequence >= count ?? .max
      case .marker: count != nil
      // There is one name for it, and the rename tells whether it is taken.
      case .initSection: false
      }
    }

    mutating func add(_ entry: RunEntry) {
      switch entry {
      case .segment(let name): segments[name.sequence / 64, default: 0] |= 1 << UInt64(name.sequence % 64)
      case .piece(let sequence): pieces[sequence / 64, default: 0] |= 1 << UInt64(sequence % 64)
      case .marker(let name): count = max(count ?? 0, name.count)
      case .initSection: break
      }
    }

    private func has(_ number: Int, _ words: [Int: UInt64]) -> Bool {
      words[number / 64, default: 0] & 1 << UInt64(number % 64) != 0
    }
  }

  /// Calls `body` with what is known of a run, while no other thread has its turn with the same run. What `body` leaves
  /// is remembered.
  func withTurn<R>(
    _ key: RunKey, _ body: (inout Run) throws(StorageError) -> R
  ) throws(StorageError) -> R {
    var run = take(key)
    defer {
      run.isBusy = false
      let settled = run
      runs.withLock { $0[key] = settled }
    }
    return try body(&run)
  }

  /// Forgets what is known of a run: something else than arrivals changed it.
  func forget(_ key: RunKey) {
    runs.withLock { runs in
      if let run = runs[key], !run.isBusy { runs[key] = nil }
    }
  }

  private func take(_ key: RunKey) -> Run {
    runs.wait { runs -> Run? in
      var run = runs[key] ?? Run()
      if run.isBusy { return nil }
      if runs[key] == nil, runs.count >= Arrivals.maximumRuns, let idle = runs.first(where: { !$0.value.isBusy }) {
        runs[idle.key] = nil
      }
      run.isBusy = true
      runs[key] = run
      return run
    } ?? Run()
  }
}
