import Glibc

/// What the file system says about a file.
package struct FileStatus: Equatable, Sendable {
  /// Size in bytes.
  package let size: Int64
  /// Time of the last change of content, in nanoseconds since the epoch.
  package let modifiedNanoseconds: Int64
  package let kind: FileKind
  package let identity: FileIdentity
  /// Count of names the file has.
  package let links: Int

  /// Time of the last change of content, in milliseconds since the epoch.
  package var modified: Int64 { modifiedNanoseconds / 1_000_000 }

  package init(
    size: Int64, modifiedNanoseconds: Int64, kind: FileKind, identity: FileIdentity, links: Int = 1
  ) {
    self.size = size
    self.modifiedNanoseconds = modifiedNanoseconds
    self.kind = kind
    self.identity = identity
    self.links = links
  }

  init(_ raw: stat) {
    size = Int64(raw.st_size)
    modifiedNanoseconds = Int64(raw.st_mtim.tv_sec) * 1_000_000_000 + Int64(raw.st_mtim.tv_nsec)
    identity = FileIdentity(device: UInt64(raw.st_dev), inode: UInt64(raw.st_ino))
    links = Int(raw.st_nlink)
    kind =
      switch raw.st_mode & S_IFMT {
      case S_IFREG: .regular
      case S_IFDIR: .directory
      case S_IFLNK: .symbolicLink
      default: .other
      }
  }
}

/// Two names with one identity are the same file.
package struct FileIdentity: Hashable, Sendable {
  package let device: UInt64
  package let inode: UInt64

  package init(device: UInt64, inode: UInt64) {
    self.device = device
    self.inode = inode
  }
}

package enum FileKind: Equatable, Sendable {
  case regular, directory, symbolicLink, other
}
