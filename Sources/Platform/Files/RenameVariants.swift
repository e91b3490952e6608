import Glibc

// Swift's Glibc module is built without _GNU_SOURCE, which hides renameat2(2). The C library has it (glibc 2.28 and
// later), so it is found by name once.

private typealias RenameAt2 =
  @convention(c) (
    Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32
  ) -> Int32

private let renameat2: RenameAt2? = unsafe dlsym(nil, "renameat2").map {
  unsafe unsafeBitCast($0, to: RenameAt2.self)
}

/// RENAME_NOREPLACE of linux/fs.h.
private let noReplace: UInt32 = 1
/// RENAME_EXCHANGE of linux/fs.h.
private let exchange: UInt32 = 2

/// Renames like `renameat`, but fails with `EEXIST` where the new name is taken. Returns 0, or -1 with `errno` set.
///
/// File systems that cannot do this in one step (NFS, some FUSE ones answer `EINVAL`) get `link` and `unlink`: the new
/// name still appears at once and never replaces, but both names exist for a moment.
func renameWithoutReplacing(
  _ oldDirectory: Int32, _ oldName: String, _ newDirectory: Int32, _ newName: String
) -> Int32 {
  if let renameat2 = unsafe renameat2 {
    let result = unsafe renameat2(oldDirectory, oldName, newDirectory, newName, noReplace)
    if result == 0 || (errno != EINVAL && errno != ENOSYS) { return result }
  }
  return linkWithoutReplacing(oldDirectory, oldName, newDirectory, newName)
}

/// The two-step form.
func linkWithoutReplacing(
  _ oldDirectory: Int32, _ oldName: String, _ newDirectory: Int32, _ newName: String
) -> Int32 {
  if unsafe linkat(oldDirectory, oldName, newDirectory, newName, 0) == -1 { return -1 }
  return unsafe unlinkat(oldDirectory, oldName, 0)
}

/// Gives two files of one directory each other's name, at once for everybody who looks. Returns 0, or -1 with `errno` set:
/// `EINVAL` or `ENOSYS` where the file system or the kernel cannot do this.
func exchangeNames(_ directory: Int32, _ name: String, _ other: String) -> Int32 {
  guard let renameat2 = unsafe renameat2 else {
    errno = ENOSYS
    return -1
  }
  return unsafe renameat2(directory, name, directory, other, exchange)
}
