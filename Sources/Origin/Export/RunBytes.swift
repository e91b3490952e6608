import Glibc
import HLS
import LibAV
import Platform
import Storage

/// The init section of a run and its segments, one behind the other: a whole fragmented MP4 to libav. Segments are opened
/// one at a time and looked for where they lie by then, since an uploader may move them meanwhile.
final class RunBytes: ByteSource {
  /// Why reading ended early.
  private(set) var failure: StorageError?
  private let tree: Tree
  private let entries: [EntryPath]
  private var next = 0
  private var file: FileDescriptor?

  init(_ tree: Tree, _ key: RunKey, _ segments: [SegmentName]) {
    self.tree = tree
    entries = [EntryPath(key: key, entry: .initSection)] + segments.map { EntryPath(key: key, entry: .segment($0)) }
  }

  func read(into buffer: inout MutableRawSpan) -> Int {
    do throws(StorageError) {
      while true {
        if file == nil {
          guard next < entries.count else { return 0 }
          file = try open(entries[next])
          next += 1
        }
        let got = try readFile(&buffer)
        if got > 0 { return got }
        file = nil
      }
    } catch {
      failure = error
      return -Int(error.systemError?.code ?? EIO)
    }
  }

  private func readFile(_ buffer: inout MutableRawSpan) throws(StorageError) -> Int {
    do throws(SystemError) {
      return try file?.read(into: &buffer) ?? 0
    } catch {
      throw .system(error)
    }
  }

  private func open(_ entry: EntryPath) throws(StorageError) -> FileDescriptor {
    for area in [Tree.Area.run, .sent, .refused] {
      do throws(StorageError) {
        return try tree.openForReading(entry, area: area)
      } catch {
        guard error.isMissing else { throw error }
      }
    }
    // Between two looks it can only have moved from the run to one of the others.
    return try tree.openForReading(entry, area: .sent)
  }
}
