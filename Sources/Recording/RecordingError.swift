package import LibAV
package import Storage

/// Why a recording ended before its time, and what became of it. What was captured until then is committed.
package struct RecordingError: Error, Equatable, Sendable, CustomStringConvertible {
  /// Decides the exit code.
  package enum Kind: Equatable, Sendable {
    /// Options that do not fit together (64).
    case usage
    /// The input is damaged, or holds nothing that can be recorded (65).
    case badInput
    /// There is no such input (66).
    case noInput
    /// A device, host or encoder is not there or does not answer (69).
    case unavailable
    /// The spool cannot be written (73 or 74).
    case storage
    /// The process lacks something: memory, threads (71).
    case system
    /// Access to the input is denied (77).
    case denied
  }

  package let kind: Kind
  /// One line without a full stop: operation, subject, cause.
  package let message: String
  /// Where the spool failed.
  package var storage: StorageError?
  /// Segments committed before.
  package var segments = 0

  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }

  /// An encoder takes frames or time, and gives nothing.
  static func silentEncoder(_ name: String) -> RecordingError {
    let seconds = PictureEncoder.patience.components.seconds
    return RecordingError(.unavailable, "the encoder \(name) has not answered for \(seconds) s")
  }

  /// Another attempt may succeed: the source was away, not wrong.
  var isPassing: Bool { kind == .unavailable || kind == .noInput || kind == .badInput }

  package init(_ error: StorageError) {
    kind = .storage
    message = error.description
    storage = error
  }

  package init(_ error: AVError) {
    message = error.description
    kind =
      switch (error.kind, error.operation) {
      case (.outOfMemory, _): .system
      case (.unknownOption, _), (.unsupported, .openEncoder), (.invalidData, .openEncoder): .usage
      case (.notFound, .open), (.notFound, .read): .noInput
      case (.permissionDenied, .open), (.permissionDenied, .read): .denied
      case (.invalidData, _), (.noStreams, _): .badInput
      case (.unsupported, .open): .usage
      case (.unsupported, _): .badInput
      default: .unavailable
      }
  }

  package var description: String {
    segments == 0 ? message : "\(message); \(segments) segment\(segments == 1 ? " is" : "s are") recorded"
  }
}

/// Runs `body` with libav's errors turned into this module's.
func media<R: ~Copyable>(_ body: () throws(AVError) -> R) throws(RecordingError) -> R {
  do throws(AVError) {
    return try body()
  } catch {
    throw RecordingError(error)
  }
}

/// Runs `body` with the spool's errors turned into this module's.
func spool<R: ~Copyable>(_ body: () throws(StorageError) -> R) throws(RecordingError) -> R {
  do throws(StorageError) {
    return try body()
  } catch {
    throw RecordingError(error)
  }
}
