import HLS
import Platform
import Storage

/// The file `<recording>/<rendition>/live.m3u8` and how it is kept current.
///
/// A sliding list is replaced as a whole: it is bounded. Nothing waits for the disk, for a list that a power cut took
/// comes out the same again from the names of the segments; the last one of a recording is made durable. An event list would cost more with every segment that way, so
/// new entries are appended in one `write`: whole lines only, so that a reader sees a valid list at any length, and a
/// line that a power cut tore is repaired from the segments at the next start.
struct LiveListFile {
  static let name = "live.m3u8"
  /// 100 bytes for each of a month's segments.
  static let sizeLimit = 64 << 20

  let tree: Tree
  let path: String
  private let directory: String
  /// Bytes of an event list that was written whole; nil before the first time.
  private var size: Int64?
  private var version = 0
  private var rendered = RenderedPlaylist()

  init(_ tree: Tree, _ recording: RecordingName, _ rendition: RenditionName) {
    self.tree = tree
    path = "\(recording)/\(rendition)/\(LiveListFile.name)"
    directory = "\(tree.path(of: recording))/\(rendition)"
  }

  /// What was published last; nil when nothing was.
  func published() throws(StorageError) -> MediaPlaylist? {
    guard let bytes = try tree.read(path, limit: LiveListFile.sizeLimit) else { return nil }
    do throws(PlaylistError) {
      return try MediaPlaylist(parsing: bytes)
    } catch {
      throw .damaged(path: "\(tree.root)/\(path)", reason: error.description)
    }
  }

  mutating func write(_ stitcher: inout Stitcher, _ changes: Stitcher.Changes) throws(StorageError) {
    guard stitcher.playlist.kind == .event else {
      let text = rendered.text(of: stitcher.playlist, removed: changes.removed)
      try tree.writeAtomically(path, text, durable: stitcher.playlist.isEnded)
      return
    }
    let added = stitcher.takeAppended(changes)
    let wanted = stitcher.hasGaps ? 8 : 6
    // What was reopened has to lose its end tag, and a first gap changes the version above all entries.
    if let size, version == wanted, !changes.notices.contains(.reopened) {
      var text = MediaPlaylist.rendered(adding: added)
      if changes.notices.contains(.ended) { text += Array(MediaPlaylist.endTag.utf8) }
      self.size = try append(text, at: size)
      return
    }
    let before = try published()
    var whole = before ?? stitcher.playlist
    whole.entries = (before?.entries ?? []) + added
    whole.isEnded = stitcher.playlist.isEnded
    let text = whole.rendered()
    try tree.writeAtomically(path, text)
    size = Int64(text.count)
    version = wanted
  }

  private func append(_ text: [UInt8], at size: Int64) throws(StorageError) -> Int64 {
    let isUnchanged: Bool
    do throws(SystemError) {
      let file = try Directory(path: directory).openForWriting(LiveListFile.name)
      isUnchanged = try file.size() == size
      if isUnchanged {
        try file.seek(to: size)
        try file.writeAll(text)
      }
      try file.close()
    } catch {
      throw .system(error)
    }
    guard isUnchanged else {
      throw .damaged(path: "\(tree.root)/\(path)", reason: "somebody else changed it")
    }
    return size + Int64(text.count)
  }
}
