package import HLS
import Platform

/// The right to write, recover or remove one recording, held by one process at a time. It ends with this value, or with
/// the process: a lock file that a dead process left is no obstacle.
package struct RecordingLock: ~Copyable, Sendable {
  package let recording: RecordingName
  private let lock: FileLock

  /// The lock file's name in the recording's directory.
  static let fileName = ".lock"

  init(_ recording: RecordingName, _ lock: consuming FileLock) {
    self.recording = recording
    self.lock = lock
  }
}

extension Tree {
  /// Takes the lock of a recording without waiting; its directory is made when there is none.
  ///
  /// - Throws: `locked`, with the owner's process number where it is known, when another owner is at work.
  package func lock(_ recording: RecordingName) throws(StorageError) -> RecordingLock {
    switch try attemptLock(recording) {
    case .acquired(let lock): return RecordingLock(recording, lock)
    case .held(let owner): throw .locked(recording, by: owner)
    }
  }

  /// Takes the lock of a recording if nobody has it; else nil.
  package func tryLock(_ recording: RecordingName) throws(StorageError) -> RecordingLock? {
    switch try attemptLock(recording) {
    case .acquired(let lock): return RecordingLock(recording, lock)
    case .held: return nil
    }
  }

  /// Whether somebody holds the lock of a recording. Only asks: nothing is made, and nobody is kept from taking it.
  package func isLocked(_ recording: RecordingName) throws(StorageError) -> Bool {
    try ifPresent { () throws(SystemError) in
      try FileLock.isHeld(top.subdirectory(recording.text).openForReading(RecordingLock.fileName))
    } ?? false
  }

  private func attemptLock(_ recording: RecordingName) throws(StorageError) -> FileLock.Attempt {
    try storage { () throws(SystemError) in
      while true {
        do throws(SystemError) {
          return try top.subdirectory(recording.text).attemptLock(RecordingLock.fileName)
        } catch {
          guard error.isMissing else { throw error }
          // There is none yet, or somebody has just removed an empty one.
          if try top.makeDirectory(recording.text) { try top.sync() }
        }
      }
    }
  }
}
