import LibAV
import Platform
import Synchronization

/// Tells libav's error lines as warnings of segrec: what fails for good is told by the command itself.
///
/// - Parameter isWanted: false while a line would only repeat what the command says.
func tellMediaLog(_ log: Log, where isWanted: @escaping @Sendable () -> Bool = { true }) {
  let bursts = Mutex(BurstGate())
  MediaLog.register(.error) { line in
    guard isWanted(), let withheld = bursts.withLock({ $0.admit(at: .now) }) else { return }
    if withheld > 0 { log.warning("libav", "libav: \(withheld) lines like these are left out") }
    log.warning("libav", "\(line.source): \(line.text)", ["source": .text(line.source)])
  }
}

/// Lets the first lines of a burst pass and counts the others: of a damaged stream libav says something for every picture.
struct BurstGate {
  /// Lines that pass in `pause`.
  static let most = 5
  static let pause = Duration.seconds(10)

  private var opened: ContinuousClock.Instant?
  private var passed = 0
  private var withheld = 0

  /// - Returns: nil for a line that is left out, else how many were before it.
  mutating func admit(at now: ContinuousClock.Instant) -> Int? {
    if let opened, now - opened < Self.pause {
      guard passed < Self.most else {
        withheld += 1
        return nil
      }
    } else {
      opened = now
      passed = 0
    }
    passed += 1
    defer { withheld = 0 }
    return withheld
  }
}
