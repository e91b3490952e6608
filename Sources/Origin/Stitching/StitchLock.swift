import Glibc
import Platform
import Storage

/// The right to write the playlists of a root, or of one shard of it. Two processes that wrote the same lists could put
/// an older one in place of a newer one, and a published list must never go back.
///
/// It is not the lock of a recording: a recorder may write into a root while its playlists are made.
struct StitchLock: ~Copyable {
  private let lock: FileLock

  /// - Throws: with `EWOULDBLOCK` when another process has it.
  init(_ tree: Tree, _ shard: StitchConfiguration.Shard) throws(SystemError) {
    let name = shard.count > 1 ? ".stitch-\(shard.index)-of-\(shard.count).lock" : ".stitch.lock"
    switch try FileLock.attempt(in: Directory(path: tree.root), name: name) {
    case .acquired(let lock):
      self.lock = lock
    case .held(let owner):
      let who = owner.map { "process \($0)" } ?? "another process"
      throw SystemError(
        operation: "stitch", subject: "\(tree.root), whose playlists \(who) keeps current", code: EWOULDBLOCK)
    }
  }

  /// Gives the right back; it is held at least until here.
  consuming func release() {}
}
