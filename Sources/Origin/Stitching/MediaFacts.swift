import HLS
import Storage

/// What a playlist has to know of a segment and its name does not say.
struct SegmentFacts {
  var bytes: Int64
  /// Durations of the pictures in the first chunk that has any.
  var frames = FrameDurations()
  /// Whether its pictures start with one that needs none before it; true where there are no pictures.
  var isIndependent = true
}

extension StitchStore {
  /// The init section of a run; nil when it is not there.
  /// - Throws: `damaged` when it is not one, besides what reading throws.
  func initSection(of key: RunKey) throws(StorageError) -> InitSection? {
    let entry = EntryPath(key: key, entry: .initSection)
    // Init sections are small; anything larger is none.
    guard let part = try part(of: entry, at: 0, count: InitSection.maximumSize) else { return nil }
    do throws(MediaFormatError) {
      return try InitSection(parsing: part.bytes)
    } catch {
      throw .damaged(path: "\(root)/\(entry)", reason: error.description)
    }
  }

  /// Reads the head of a segment, up to the first pictures; nil when it is not there.
  func facts(of name: SegmentName, in key: RunKey, _ initSection: InitSection) throws(StorageError) -> SegmentFacts? {
    let entry = EntryPath(key: key, entry: .segment(name))
    guard let head = try part(of: entry, at: 0, count: SegmentFacts.readSize) else { return nil }
    return try SegmentFacts(head, initSection) { position throws(StorageError) in
      try part(of: entry, at: position, count: SegmentFacts.readSize)?.bytes ?? []
    }
  }
}

extension SegmentFacts {
  /// A second of samples takes 1 to 2 kB of `moof`, so that one read is enough as a rule.
  fileprivate static let readSize = 8_192
  /// A head longer than this is nobody's; a file of nothing but boxes must not be read whole.
  private static let longestHead = 1 << 20

  /// - Parameter more: reads on from a position.
  fileprivate init(
    _ head: FilePart, _ initSection: InitSection, more: (Int64) throws(StorageError) -> [UInt8]
  ) throws(StorageError) {
    bytes = head.size
    guard initSection.videoTrack != nil else { return }
    var scan = ChunkScan(initSection)
    var read = 0
    var part = head.bytes
    var hasPictures = false
    while !part.isEmpty {
      read += part.count
      // Up to the first whole chunk with pictures enough to tell their rate (the first may be shown for long) and no
      // further: what follows is read only when it is needed.
      scan.feed(part)
      scan.skip(scan.skippable)
      if let pictures = scan.tracks.first(where: { $0.kind == .video }) {
        frames = pictures.frames
        isIndependent = pictures.startsWithSync
        hasPictures = true
        if frames.count > 4 { return }
      }
      guard scan.failure == nil, read < SegmentFacts.longestHead, scan.position < UInt64(bytes) else { break }
      part = try more(Int64(scan.position))
    }
    // Without pictures where the init section promises some, nobody can start here.
    if !hasPictures { isIndependent = false }
  }
}
