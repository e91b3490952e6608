import Delivery
import HLS
import Platform
import Storage

/// Opens the directory that an option names.
func openTree(_ option: String, _ path: String, create: Bool) throws(Failure) -> Tree {
  do throws(StorageError) {
    return try Tree(root: path, create: create)
  } catch {
    throw Failure(create ? .cannotCreate : exitCode(of: error, reading: true), "\(option): \(error)")
  }
}

/// - Parameter reading: true where the tree was only to be read.
func exitCode(of error: StorageError, reading: Bool) -> ExitCode {
  switch error {
  case .system where reading: .noInput
  case .system(let error) where error.isFull || error.isDiskFailure: .ioError
  case .system(let error) where error.operation == "create": .cannotCreate
  case .system, .notDurable, .noRoom: .ioError
  case .locked: .unavailable
  case .taken: .cannotCreate
  case .damaged: .badData
  case .remote(let failure):
    switch failure.reason {
    case .missing: .noInput
    case .denied: .refused
    case .overtaken: .temporaryFailure
    case .away, .unusable: .unavailable
    }
  case .outOfOrder: .software
  }
}

func exitCode(of error: UploadError) -> ExitCode {
  switch error {
  case .misconfigured: .usage
  case .target: .cannotCreate
  case .spool(let cause): exitCode(of: cause, reading: false)
  }
}

/// Reads a recording's name from the command line; one that would need changing is refused with the safe form, so that
/// two different names never meet in one recording.
func parseRecording(_ option: String, _ text: String) throws(UsageError) -> RecordingName {
  if let name = RecordingName(text) { return name }
  if text.utf8.count > RecordingName.maximumLength {
    throw UsageError(
      option,
      "'\(text)' is too long: a name has at most \(RecordingName.maximumLength) bytes, and this \(text.utf8.count)")
  }
  if let safe = RecordingName(madeSafe: text) {
    throw UsageError(option, "'\(text)' has characters that do not belong in a file name; write \(safe)")
  }
  throw UsageError(option, "'\(text)' is not a name; use letters, digits, dots, dashes and underscores")
}
