import HLS
import Platform
import Storage

/// What a playlist has to know of a segment and its name does not say.
struct SegmentFacts {
  var bytes: Int64
  /// Durations of the pictures in the first chunk that has any.
  var frames = FrameDurations()
  /// Whether its pictures start with one that needs none before it; true where there are no pictures.
  var isIndependent = true
}

extension Tree {
  /// Init sections are small; anything larger is none.
  private static let initSectionLimit = InitSection.maximumSize

  /// The init section of a run; nil when it is not there.
  /// - Throws: `damaged` when it is not one, besides what reading throws.
  func initSection(of key: RunKey) throws(StorageError) -> InitSection? {
    let entry = EntryPath(key: key, entry: .initSection)
    do throws(StorageError) {
      let file = try openForReading(entry)
      let bytes = try readAll(file, limit: Tree.initSectionLimit)
      do throws(MediaFormatError) {
        return try InitSection(parsing: bytes)
      } catch {
        throw .damaged(path: path(of: entry), reason: error.description)
      }
    } catch {
      if error.isMissing { return nil }
      throw error
    }
  }

  private func readAll(_ file: borrowing FileDescriptor, limit: Int) throws(StorageError) -> [UInt8] {
    do throws(SystemError) {
      return try file.readAll(limit: limit)
    } catch {
      throw .system(error)
    }
  }

  /// Reads the head of a segment, up to the first pictures; nil when it is not there.
  func facts(of name: SegmentName, in key: RunKey, _ initSection: InitSection) throws(StorageError) -> SegmentFacts? {
    do throws(StorageError) {
      let file = try openForReading(EntryPath(key: key, entry: .segment(name)))
      do throws(SystemError) {
        return try SegmentFacts(file, initSection)
      } catch {
        throw .system(error)
      }
    } catch {
      if error.isMissing { return nil }
      throw error
    }
  }
}

extension SegmentFacts {
  /// A second of samples takes 1 to 2 kB of `moof`, so that one read is enough as a rule.
  private static let readSize = 8_192
  /// A head longer than this is nobody's; a file of nothing but boxes must not be read whole.
  private static let longestHead: Int64 = 1 << 20

  init(_ file: borrowing FileDescriptor, _ initSection: InitSection) throws(SystemError) {
    bytes = try file.size()
    guard initSection.videoTrack != nil else { return }
    var scan = ChunkScan(initSection)
    var read: Int64 = 0
    var buffer = [UInt8](repeating: 0, count: SegmentFacts.readSize)
    while scan.failure == nil, read < SegmentFacts.longestHead, scan.position < UInt64(bytes) {
      let count = try file.read(into: &buffer, at: Int64(scan.position))
      guard count > 0 else { break }
      read += Int64(count)
      feed(buffer, count, to: &scan)
      scan.skip(scan.skippable)
      if let pictures = scan.tracks.first(where: { $0.kind == .video }) {
        frames = pictures.frames
        isIndependent = pictures.startsWithSync
        return
      }
    }
    // Without pictures where the init section promises some, nobody can start here.
    isIndependent = false
  }

  /// Feeds up to the first whole chunk with pictures and no further: what follows is read only when it is needed.
  private func feed(_ buffer: [UInt8], _ count: Int, to scan: inout ChunkScan) {
    if count == buffer.count { scan.feed(buffer) } else { scan.feed(Array(buffer[..<count])) }
  }
}
