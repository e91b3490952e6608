package import Platform
package import Storage

/// Why playlists cannot be made.
package enum StitchError: Error, Equatable, Sendable, CustomStringConvertible {
  /// Another process (its number, where known) keeps the playlists of this root, or of this shard of it, current.
  case busy(root: String, owner: Int32?)
  case system(SystemError)
  /// Nobody can post here.
  case events(String)
  case storage(StorageError)

  package var description: String {
    switch self {
    case .busy(let root, let owner):
      "the playlists of \(root) are kept current by \(owner.map { "process \($0)" } ?? "another process") already; stop "
        + "that one first, or leave them to it"
    case .system(let error): error.description
    case .events(let text): text
    case .storage(let error): error.description
    }
  }
}
