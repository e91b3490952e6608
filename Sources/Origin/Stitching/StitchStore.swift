package import HLS
package import Storage

/// Where segments are and playlists go: a directory (`Tree`) or a bucket (`BucketStore`). Whatever stitching asks of the
/// outside it asks here.
package protocol StitchStore: Sendable {
  /// For messages.
  var root: String { get }
  /// The directory, where it is one: what is locked, and where phone pieces can be made into segments.
  var directory: Tree? { get }
  /// Milliseconds since the epoch by the clock that files are dated by.
  var clock: Int64 { get }

  /// In the order of their names.
  func recordings() throws(StorageError) -> [RecordingName]
  /// In the order of their names.
  func renditions(of recording: RecordingName) throws(StorageError) -> [RenditionName]
  /// Oldest first.
  func runs(of recording: RecordingName, rendition: RenditionName) throws(StorageError) -> [RunName]
  /// All files of a run, in no particular order.
  func list(_ key: RunKey, _ body: (RunEntry, _ bytes: Int64?) -> Void) throws(StorageError)
  /// What a rendition has that may be news, by run, oldest first; runs without news may be in it or not.
  func news(
    of recording: RecordingName, _ rendition: RenditionName, _ outlook: inout Outlook, _ stitcher: Stitcher
  ) throws(StorageError) -> [(run: RunName, files: [FoundFile])]

  /// Part of a file, `count` bytes or up to its end; nil where there is no such file.
  func part(of entry: EntryPath, at offset: Int64, count: Int) throws(StorageError) -> FilePart?

  /// Reads a playlist; nil where there is none.
  /// - Parameters:
  ///   - path: from the root: `<recording>/[<rendition>/]<name>`.
  ///   - limit: bytes; a longer one is refused.
  ///   - version: becomes that of what was read.
  func read(_ path: String, limit: Int, _ version: inout FileVersion) throws(StorageError) -> [UInt8]?
  /// The version of a playlist that is not going to be read.
  func version(of path: String) throws(StorageError) -> FileVersion
  /// Writes a playlist in place of the one that has this version, as a whole.
  /// - Parameter durable: it survives a power cut once this returns.
  func replace(
    _ path: String, _ bytes: [UInt8], _ version: inout FileVersion, durable: Bool
  ) throws(StorageError)
  /// Appends to a playlist that has `size` bytes. False where files can only be written whole.
  func append(_ bytes: [UInt8], to path: String, size: Int64) throws(StorageError) -> Bool

  /// Whether an ended recording has all its playlists and nothing has come since.
  func isSettled(_ recording: RecordingName) throws(StorageError) -> Bool
}

extension StitchStore {
  /// Every look is a request to a server: a list of what is there takes more of them than a look at what is new.
  var isRemote: Bool { directory == nil }
}

/// Which of several writers' playlists stands there. A directory has one writer (`StitchLock`) and needs none.
package enum FileVersion: Equatable, Sendable {
  /// Not known: whoever writes has to ask first.
  case unknown
  case absent
  case tagged(String)
}

/// What is known of a rendition before a look at its files.
package struct Outlook {
  /// Only what has changed since the last look, and only where it is cheap to tell.
  package var changedOnly = false
  /// When each run's directory was last changed as of its last listing, in nanoseconds.
  package var listed: [RunName: Int64] = [:]
  /// Runs that are of interest whatever has been published.
  package var pieces: Set<RunName> = []

  package init() {}
}

package struct FoundFile: Sendable {
  package let entry: RunEntry
  /// When it came: milliseconds since the epoch by the store's clock.
  package let modified: Int64
  /// Its length, where that is known.
  package let bytes: Int64?
}

package struct FilePart: Sendable {
  package let bytes: [UInt8]
  /// Bytes of the whole file.
  package let size: Int64
}
