import HLS
import Platform
import Storage

extension Tree {
  /// Puts a whole file in its place.
  /// - Throws: `taken` where another file has the number, or the run was closed before it.
  func store(_ path: EntryPath, _ bytes: [UInt8]) throws(StorageError) {
    var file = try receive(path)
    try unsafe file.append(bytes.span.bytes)
    switch try file.commit() {
    case .stored, .same: return
    case .conflict, .closed: throw .taken(path: self.path(of: path))
    }
  }

  /// A small file of a run; nil when it is not there.
  func bytes(of path: EntryPath) throws(StorageError) -> [UInt8]? {
    guard try facts(of: path) != nil else { return nil }
    let file = try openForReading(path)
    do throws(SystemError) {
      return try file.readAll(limit: InitSection.maximumSize)
    } catch {
      throw .system(error)
    }
  }

  /// What a segment holds of each track, from the heads of all its chunks.
  func spans(
    of name: SegmentName, in key: RunKey, _ initSection: InitSection
  ) throws(StorageError) -> [TrackSpan] {
    let file = try openForReading(EntryPath(key: key, entry: .segment(name)))
    var scan = ChunkScan(initSection)
    var buffer = [UInt8](repeating: 0, count: 65_536)
    do throws(SystemError) {
      let size = UInt64(try file.size())
      while scan.failure == nil, scan.position < size {
        let count = try file.read(into: &buffer, at: Int64(scan.position))
        guard count > 0 else { break }
        scan.feed(count == buffer.count ? buffer : Array(buffer[..<count]))
        scan.skip(min(scan.skippable, size - min(size, scan.position)))
      }
    } catch {
      throw .system(error)
    }
    return scan.tracks
  }
}

/// An init section without what differs from piece to piece and says nothing of the codec: bit rates (`btrt`, ISO
/// 14496-12 §8.5.2, and the same three numbers in `esds`, ISO 14496-1 §7.2.6.6, as libav's muxer lays it out).
func withoutBitRates(_ initSection: [UInt8]) -> [UInt8] {
  var bytes = initSection
  for (type, offset, count) in [(Array("btrt".utf8), 4, 12), (Array("esds".utf8), 23, 11)] {
    var at = 0
    while at + offset + count <= bytes.count {
      if bytes[at..<at + 4].elementsEqual(type) {
        for index in at + offset..<at + offset + count { bytes[index] = 0 }
      }
      at += 1
    }
  }
  return bytes
}

extension RunEntry {
  var isPiece: Bool { if case .piece = self { true } else { false } }
}
