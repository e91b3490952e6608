package import HLS
import Platform

/// The right to send one recording, held by one process at a time, so that two uploaders on one spool do not send
/// everything twice. It ends with this value, or with the process.
package struct UploadLock: ~Copyable, Sendable {
  package let recording: RecordingName
  private let lock: FileLock

  /// The lock file's name in the recording's directory.
  static let fileName = ".upload.lock"

  init(_ recording: RecordingName, _ lock: consuming FileLock) {
    self.recording = recording
    self.lock = lock
  }
}

extension Tree {
  /// Takes the right to send a recording if nobody has it; else nil, and nil when there is no such recording.
  package func tryUploadLock(_ recording: RecordingName) throws(StorageError) -> UploadLock? {
    let attempt = try ifPresent { () throws(SystemError) in
      try top.subdirectory(recording.text).attemptLock(UploadLock.fileName)
    }
    guard let attempt else { return nil }
    switch consume attempt {
    case .acquired(let lock): return UploadLock(recording, lock)
    case .held: return nil
    }
  }

  /// Notes that a server has acknowledged a run's marker, by an empty file of the same name in `sent`: the marker itself
  /// stays where it is. Not synced: when a power cut undoes it, the marker is sent once more.
  package func noteAcknowledged(_ marker: MarkerName, of key: RunKey) throws(StorageError) {
    try note(.marker(marker), of: key, in: .sent)
  }

  /// Notes that a server has refused a run's init section for good, by an empty file of the same name in `refused`: the
  /// init section itself stays where it is, since the run cannot be played without it.
  package func noteRefusedInitSection(of key: RunKey) throws(StorageError) {
    try note(.initSection, of: key, in: .refused)
  }

  private func note(_ entry: RunEntry, of key: RunKey, in area: Area) throws(StorageError) {
    try storage { () throws(SystemError) in
      let run = try directory(of: key)
      if try run.makeDirectory(area.rawValue) { try run.sync() }
      let place = try run.subdirectory(area.rawValue)
      do throws(SystemError) {
        try place.create(entry.description).close()
      } catch {
        guard error.isTaken else { throw error }
      }
    }
  }
}
