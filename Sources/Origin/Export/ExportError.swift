package import HLS
package import LibAV
package import Platform
package import Storage

/// Why a recording could not be exported.
package enum ExportError: Error, Equatable, Sendable, CustomStringConvertible {
  /// There is no such recording, or none of its segments.
  case nothing(RecordingName)
  /// A run that was asked for is not one of the recording's.
  case noSuchRun(RunName, RecordingName)
  /// One MP4 track cannot hold what these runs have; the text tells the groups and how to choose one.
  case incompatible(String)
  /// The file to be written is there already.
  case exists(path: String)
  case media(AVError)
  case storage(StorageError)
  /// The file cannot be made, or not be written to its end.
  case system(SystemError)
  /// `Interruption.stop()` was called.
  case stopped

  package var description: String {
    switch self {
    case .nothing(let recording): "there are no segments of a recording \(recording)"
    case .noSuchRun(let run, let recording): "the recording \(recording) has no run \(run)"
    case .incompatible(let text): text
    case .exists(let path): "\(path) exists already; choose another name, or replace it with --replace"
    case .media(let error): error.description
    case .storage(let error): error.description
    case .system(let error): error.description
    case .stopped: "stopped; nothing was written"
    }
  }
}
