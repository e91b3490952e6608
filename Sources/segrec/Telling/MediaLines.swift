import LibAV
import Platform

/// Tells libav's error lines as warnings of segrec: what fails for good is told by the command itself.
///
/// - Parameter isWanted: false while a line would only repeat what the command says.
func tellMediaLog(_ log: Log, where isWanted: @escaping @Sendable () -> Bool = { true }) {
  MediaLog.register(.error) { line in
    guard isWanted() else { return }
    log.warning("libav", "\(line.source): \(line.text)", ["source": .text(line.source)])
  }
}
