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
    let disk = reserve(space) + need - space.availableBytes
    let files: Int64 = space.availableFiles < SpoolLimits.minimumFiles ? 1 : 0
    return max(0, disk, sizeExcess(used, need), files)
  }

  /// Why there is no room for `need` bytes more, as the rest of a sentence.
  package func shortage(_ space: FileSystem.Space, used: Int64?, need: Int64) -> String {
    if let used, let maximumSize, sizeExcess(used, need) > 0 {
      return "its files have \(byteText(used)), --max-spool is \(byteText(maximumSize)), and none of them may go"
    }
    if space.availableFiles < SpoolLimits.minimumFiles { return "its file system takes no more files" }
    let left = "\(byteText(space.availableBytes)) are left on its disk, --min-free keeps \(byteText(reserve(space)))"
    return left + (need > 0 ? " and \(byteText(need)) are needed" : "")
  }

  private func reserve(_ space: FileSystem.Space) -> Int64 { minimumFree ?? min(100 << 20, space.totalBytes / 20) }

  private func sizeExcess(_ used: Int64?, _ need: Int64) -> Int64 {
    maximumSize.flatMap { limit in used.map { $0 + need - limit } } ?? 0
  }
}
