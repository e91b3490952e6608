import HLS
import HTTP

/// A place that files are sent to. Completions are called once, on any thread, and soon where the place is gone.
protocol DeliveryTarget: Sendable {
  /// For people; secrets are masked.
  var name: String { get }
  /// Bytes taken so far, partly sent files included.
  var bytesTaken: Int64 { get }

  /// - Parameter attempt: attempts before this one.
  func send(
    _ path: EntryPath, _ file: UploadFile, attempt: Int, answerLimit: Duration,
    completion: @escaping @Sendable (TransferOutcome) -> Void)
  /// Whether the place has the same bytes under that name; nil when it cannot be told now.
  func compare(_ path: EntryPath, _ file: UploadFile, completion: @escaping @Sendable (Bool?) -> Void)
  /// Reads credentials again. True when they have changed.
  func refreshCredentials() -> Bool
  /// What was on its way may never arrive.
  func networkChanged()
  /// Ends what is on its way; returns when all completions have been called.
  func stop()
}
