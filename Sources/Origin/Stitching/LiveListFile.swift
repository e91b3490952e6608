import HLS
import Storage

/// The file `<recording>/<rendition>/live.m3u8` and how it is kept current.
///
/// A sliding list is replaced as a whole: it is bounded. Nothing waits for the disk, for a list that a power cut took
/// comes out the same again from the names of the segments; the last one of a recording is made durable. An event list would cost more with every segment that way, so
/// new entries are appended in one `write`: whole lines only, so that a reader sees a valid list at any length, and a
/// line that a power cut tore is repaired from the segments at the next start. A bucket knows no appending: there it is
/// read and written whole.
struct LiveListFile {
  static let name = "live.m3u8"
  /// 100 bytes for each of a month's segments.
  static let sizeLimit = 64 << 20

  let store: any StitchStore
  let path: String
  /// Bytes of an event list that was written whole; nil before the first time.
  private var size: Int64?
  private var format = 0
  private var version = FileVersion.unknown
  private var rendered = RenderedPlaylist()

  init(_ store: any StitchStore, _ recording: RecordingName, _ rendition: RenditionName) {
    self.store = store
    path = "\(recording)/\(rendition)/\(LiveListFile.name)"
  }

  /// What was published last; nil when nothing was.
  mutating func published() throws(StorageError) -> MediaPlaylist? {
    guard let bytes = try store.read(path, limit: LiveListFile.sizeLimit, &version) else { return nil }
    do throws(PlaylistError) {
      return try MediaPlaylist(parsing: bytes)
    } catch {
      throw .damaged(path: "\(store.root)/\(path)", reason: error.description)
    }
  }

  mutating func write(_ stitcher: inout Stitcher, _ changes: Stitcher.Changes) throws(StorageError) {
    guard stitcher.playlist.kind == .event else {
      let text = rendered.text(of: stitcher.playlist, removed: changes.removed)
      try store.replace(path, text, &version, durable: stitcher.playlist.isEnded)
      return
    }
    let added = stitcher.takeAppended(changes)
    let wanted = stitcher.hasGaps ? 8 : 6
    // What was reopened has to lose its end tag, and a first gap changes the version above all entries.
    if let size, format == wanted, !changes.notices.contains(.reopened) {
      var text = MediaPlaylist.rendered(adding: added)
      if changes.notices.contains(.ended) { text += Array(MediaPlaylist.endTag.utf8) }
      if try store.append(text, to: path, size: size) {
        self.size = size + Int64(text.count)
        return
      }
    }
    let known = version
    let before = try published()
    // Somebody else's entries may be in it, of which this process knows nothing.
    if known != .unknown, version != known { throw overtaken(path, in: store.root) }
    var whole = before ?? stitcher.playlist
    whole.entries = (before?.entries ?? []) + added
    whole.isEnded = stitcher.playlist.isEnded
    let text = whole.rendered()
    try store.replace(path, text, &version, durable: true)
    size = Int64(text.count)
    format = wanted
  }
}

/// Another worker wrote a list that this one wanted to write.
func overtaken(_ path: String, in root: String) -> StorageError {
  .remote(RemoteFailure(.overtaken, "\(root)/\(path) has been written by another worker meanwhile"))
}
