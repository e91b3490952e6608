import Platform
import Storage

/// The right to write the playlists of a root, or of one shard of it. Two processes that wrote the same lists could put
/// an older one in place of a newer one, and a published list must never go back.
///
/// It is not the lock of a recording: a recorder may write into a root while its playlists are made.
struct StitchLock: ~Copyable {
  private let lock: FileLock

  /// - Throws: `busy` when another process has it.
  init(_ tree: Tree, _ shard: StitchConfiguration.Shard) throws(StitchError) {
    let name = shard.count > 1 ? ".stitch-\(shard.index)-of-\(shard.count).lock" : ".stitch.lock"
    let attempt: FileLock.Attempt
    do throws(SystemError) {
      attempt = try FileLock.attempt(in: Directory(path: tree.root), name: name)
    } catch {
      throw .system(error)
    }
    switch consume attempt {
    case .acquired(let lock): self.lock = lock
    case .held(let owner): throw .busy(root: tree.root, owner: owner)
    }
  }

  /// Gives the right back; it is held at least until here.
  consuming func release() {}
}
