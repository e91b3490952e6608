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
  /// Takes the lock of a recording; its directory is made when there is none.
  ///
  /// - Parameter patience: how long an owner may take to let go. Cleaning and recovery hold a lock for moments, and a
  ///   recorder that starts in such a moment must not give up.
  /// - Throws: `locked`, with the owner's process number where it is known, when another owner is at work.
  package func lock(
    _ recording: RecordingName, patience: Duration = .seconds(1)
  ) throws(StorageError) -> RecordingLock {
    let deadline = ContinuousClock.now + patience
    while true {
      switch try attemptLock(recording) {
      case .acquired(let lock): return RecordingLock(recording, lock)
      case .held(let owner):
        if .now >= deadline { throw .locked(recording, by: owner) }
        Thread.pause(.milliseconds(5))
      }
    }
  }

  /// Takes the lock of a recording if nobody has it; else nil.
  package func tryLock(_ recording: RecordingName) throws(StorageError) -> RecordingLock? {
    switch try attemptLock(recording) {
    case .acquired(let lock): return RecordingLock(recording, lock)
    case .held: return nil
    }
  }

  /// Like `tryLock`, but makes no directory: nil, too, when there is no such recording any more.
  package func tryLockPresent(_ recording: RecordingName) throws(StorageError) -> RecordingLock? {
    let attempt = try ifPresent { () throws(SystemError) in
      try top.subdirectory(recording.text).attemptLock(RecordingLock.fileName)
    }
    guard let attempt else { return nil }
    switch consume attempt {
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
      var isNew = false
      while true {
        do throws(SystemError) {
          let attempt = try top.subdirectory(recording.text).attemptLock(RecordingLock.fileName)
          // Synced once it is locked: a sync takes long enough for a cleaner to remove the empty directory again, and
          // again after the next.
          if isNew { try top.sync() }
          return attempt
        } catch {
          guard error.isMissing else { throw error }
          // There is none yet, or somebody has just removed an empty one.
          if try top.makeDirectory(recording.text) { isNew = true }
        }
      }
    }
  }
}
