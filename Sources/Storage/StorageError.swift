package import HLS
package import Platform

/// Why something could not be done in a tree of segments. Each case names the file or recording concerned.
package enum StorageError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The system refused an operation: disk full, no permission, no such file.
  case system(SystemError)
  /// What was written may not be on the disk: syncing failed. A file is given up then, because a second attempt could
  /// report success without having written anything.
  case notDurable(SystemError)
  /// Another process, or another part of this one, is at work on the recording.
  case locked(RecordingName, by: Int32?)
  /// The name, or the number in it, belongs to something else already.
  case taken(path: String)
  /// A file of the contract does not hold what it must.
  case damaged(path: String, reason: String)
  /// A store of objects refused, or cannot be asked.
  case remote(RemoteFailure)
  /// A spool's limits leave no room for more.
  case noRoom(root: String, reason: String)
  /// Calls came in an order that would break the contract, which is a mistake in the program.
  case outOfOrder(String)

  package var description: String {
    switch self {
    case .system(let error): error.description
    case .notDurable(let error): "\(error); what was written there is given up"
    case .locked(let recording, let owner):
      "recording \(recording) is in use" + (owner.map { " by process \($0)" } ?? "")
    case .taken(let path): "\(path) exists already"
    case .damaged(let path, let reason): "\(path) is damaged: \(reason)"
    case .remote(let failure): failure.text
    case .noRoom(let root, let reason): "there is no room in \(root): \(reason)"
    case .outOfOrder(let what): what
    }
  }

  /// What the system said, if it was the system.
  package var systemError: SystemError? {
    switch self {
    case .system(let error), .notDurable(let error): error
    case .locked, .taken, .damaged, .remote, .noRoom, .outOfOrder: nil
    }
  }

  /// The disk, the user's share of it, or the spool by its limits is full.
  package var isFull: Bool {
    if case .noRoom = self { return true }
    return systemError?.isFull ?? false
  }
  /// There is no such file or directory.
  package var isMissing: Bool { systemError?.isMissing ?? false }

  /// Why a store of objects did not do it, if it was one.
  package var remoteReason: RemoteFailure.Reason? {
    if case .remote(let failure) = self { failure.reason } else { nil }
  }
}

/// What a store of objects said, or that it said nothing.
package struct RemoteFailure: Error, Equatable, Sendable {
  package enum Reason: Equatable, Sendable {
    /// There is no such bucket.
    case missing
    /// The credentials do not do.
    case denied
    /// Somebody else wrote the object first.
    case overtaken
    /// It does not answer, or not now.
    case away
    /// What came back makes no sense.
    case unusable
  }

  package let reason: Reason
  /// For people: the place, what is wrong and what to do.
  package let text: String

  package init(_ reason: Reason, _ text: String) {
    self.reason = reason
    self.text = text
  }
}

/// Runs `body` with the system's errors turned into this module's.
func storage<R: ~Copyable>(_ body: () throws(SystemError) -> R) throws(StorageError) -> R {
  do throws(SystemError) {
    return try body()
  } catch {
    throw .system(error)
  }
}

/// Like `storage`, but nil where there is no such file or directory.
func ifPresent<R: ~Copyable>(_ body: () throws(SystemError) -> R) throws(StorageError) -> R? {
  do throws(SystemError) {
    return try body()
  } catch {
    if error.isMissing { return nil }
    throw .system(error)
  }
}
