package import HLS
import Platform

/// Writes one run: its init section, its segments one after the other, its marker.
///
/// Each file goes through the same steps: create under a temporary name, write, sync the file, rename without replacing,
/// sync the directory. When a call returns, what it committed survives a crash and a power cut. After a call that threw,
/// the open segment can be committed at a shorter length or abandoned, and the run can be closed.
///
/// A writer that goes away without `close` leaves a run without a marker, as a crash does; recovery closes it.
package struct RunWriter: ~Copyable {
  package let key: RunKey
  /// Segments committed so far, which is the number of the one that is open or comes next.
  package private(set) var count = 0
  private let directory: any DiskDirectory
  /// For segments, where they are not to be written at once.
  private let buffer: BlockBuffer?
  private var hasInitSection = false
  private var isClosed = false
  private var segment: PendingFile?
  private var start = WallClockTime(milliseconds: 0)

  /// Makes the run's directory, and those above it that are missing.
  ///
  /// - Parameters:
  ///   - lock: of the key's recording, held for as long as the writer is used.
  ///   - isBulk: segments come as fast as they are taken. They are written in large pieces, past the page cache.
  /// - Throws: `taken` when the run is there already: a run is never reopened.
  package init(tree: Tree, key: RunKey, lock: borrowing RecordingLock, isBulk: Bool = false) throws(StorageError) {
    // In one expression: a throw between the fields of a `~Copyable` value does not compile.
    directory = try tree.makeRun(key, lock)
    self.key = key
    buffer = isBulk ? BlockBuffer() : nil
  }

  /// Commits `init.mp4`.
  package mutating func writeInitSection(_ bytes: RawSpan) throws(StorageError) {
    try requireOpen()
    if hasInitSection { throw .outOfOrder("\(key) has its init section already") }
    let file = try PendingFile(in: directory, temporaryName: RunWriter.initTemporaryName)
    try file.append(bytes)
    hasInitSection = true
    try RunWriter.commit(file, as: .initSection)
  }

  /// Bytes in the open segment.
  package var openLength: Int64 { segment?.length ?? 0 }
  package var hasOpenSegment: Bool { segment != nil }

  /// Starts the next segment.
  ///
  /// - Parameter start: wall-clock time of its first sample.
  package mutating func openSegment(start: WallClockTime) throws(StorageError) {
    try requireOpen()
    if !hasInitSection { throw .outOfOrder("\(key) needs its init section before its first segment") }
    if segment != nil { throw .outOfOrder("segment \(count) of \(key) is open already") }
    if count > SegmentName.maximumSequence { throw .outOfOrder("\(key) has all the segments it can have") }
    segment = try PendingFile(
      in: directory, temporaryName: PartialSegmentName(sequence: count, start: start).description,
      gatheringIn: buffer)
    self.start = start
  }

  /// Adds bytes to the open segment.
  package mutating func append(_ bytes: RawSpan) throws(StorageError) {
    guard let segment else { throw .outOfOrder("\(key) has no open segment to write to") }
    try segment.append(bytes)
  }

  /// Has all bytes of the open segment in its file. Recovery can save what is whole of them.
  package mutating func flush() throws(StorageError) { try segment?.flush() }

  /// Commits the open segment.
  ///
  /// - Parameters:
  ///   - ticks: duration in 90 kHz ticks, more than 0.
  ///   - length: bytes to keep from the front, nil for all: what is whole after an append failed.
  /// - Throws: a refusal to write its end or to give it its name, with the segment as it is, so that the call can be
  ///   repeated.
  ///   `notDurable` with the segment given up when its content could not be synced. When only the directory could
  ///   not be synced the segment stays and counts, though its name may not survive a power cut.
  package mutating func commitSegment(ticks: Int64, length: Int64? = nil) throws(StorageError) -> SegmentName {
    guard let file = segment else { throw .outOfOrder("\(key) has no open segment to commit") }
    if ticks <= 0 { throw .outOfOrder("segment \(count) of \(key) has no duration") }
    if let length, length < file.length { try file.truncate(to: length) }
    try file.flush()
    segment = nil
    let name = SegmentName(sequence: count, start: start, ticks: ticks)
    try file.seal()
    do throws(StorageError) {
      guard try file.publish(as: name.description) else { throw .taken(path: "\(directory.path)/\(name)") }
    } catch {
      segment = file
      throw error
    }
    count += 1
    try RunWriter.sync(directory)
    return name
  }

  /// Removes the open segment, if there is one.
  package mutating func abandonSegment() { segment = nil }

  /// Leaves the open segment to recovery, when the run cannot be closed.
  package mutating func leaveSegment() {
    segment?.leave()
    segment = nil
  }

  /// Commits the marker that closes the run; a segment that is still open is abandoned.
  @discardableResult
  package mutating func close(_ kind: MarkerName.Kind) throws(StorageError) -> MarkerName {
    try requireOpen()
    abandonSegment()
    let marker = MarkerName(count: count, kind: kind)
    let file = try PendingFile(in: directory, temporaryName: RunWriter.markerTemporaryName)
    try RunWriter.commit(file, as: .marker(marker))
    isClosed = true
    return marker
  }

  static let initTemporaryName = ".init.part"
  static let markerTemporaryName = ".marker.part"
  /// All temporary names of a recorder but those of segments.
  static let otherTemporaryNames = [initTemporaryName, markerTemporaryName]

  private func requireOpen() throws(StorageError) {
    if isClosed { throw .outOfOrder("\(key) is closed") }
  }

  static func commit(_ file: PendingFile, as entry: RunEntry) throws(StorageError) {
    try file.seal()
    guard try file.publish(as: entry.description) else { throw .taken(path: "\(file.directory.path)/\(entry)") }
    try sync(file.directory)
  }

  static func sync(_ directory: any DiskDirectory) throws(StorageError) {
    do throws(SystemError) {
      try directory.sync()
    } catch {
      throw .notDurable(error)
    }
  }
}
