package import Platform

/// How much of a disk a spool may take, and what gives way when that is reached. Pure.
package struct SpoolLimits: Equatable, Sendable {
  package enum WhenFull: String, Sendable, CaseIterable {
    /// The oldest segments that a server has acknowledged go. When none is left, new ones wait for room.
    case dropSent = "drop-sent"
    /// Recording ends.
    case stop
    /// As `dropSent`, and then the oldest that nobody has acknowledged.
    case dropOldest = "drop-oldest"
  }

  /// Bytes of the file system that stay free; nil is a twentieth of it, 100 MB at most. The markers that close runs, and
  /// others who need the disk, find room there.
  package var minimumFree: Int64?
  /// Bytes that all files of the spool may have together; nil is no limit.
  package var maximumSize: Int64?
  package var whenFull: WhenFull = .dropSent

  /// Files that can still be made, below which a file system counts as full.
  static let minimumFiles: Int64 = 8

  package init() {}

  /// Bytes that have to go before `need` more may come; 0 when there is room.
  ///
  /// - Parameter used: bytes of the spool's files; where they are not known nil, which is no reason to refuse.
  package func excess(_ space: FileSystem.Space, used: Int64?, need: Int64) -> Int64 {
    let reserve = minimumFree ?? min(100 << 20, space.totalBytes / 20)
    let disk = reserve + need - space.availableBytes
    let size = maximumSize.flatMap { limit in used.map { $0 + need - limit } } ?? 0
    let files: Int64 = space.availableFiles < SpoolLimits.minimumFiles ? 1 : 0
    return max(0, disk, size, files)
  }
}
