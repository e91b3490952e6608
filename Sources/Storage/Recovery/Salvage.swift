import HLS
import Platform

/// Makes segments of what a crash left of one run.
struct Salvage {
  let key: RunKey
  let directory: any DiskDirectory

  /// Cuts an unfinished segment after its last whole chunk and commits it.
  ///
  /// - Parameter end: where another rendition of the run ends. The last chunk goes as well where both then end together,
  ///   to within half of it; where they would not, nothing is gained by that.
  /// - Returns: the segment's name; nil when nothing whole is in it. Its temporary file is there still then.
  func finish(_ partial: PartialSegmentName, with end: WallClockTime?) throws(StorageError) -> SegmentName? {
    guard let scan = try scan(partial) else { return nil }
    var (length, ticks) = (scan.wholeLength, scan.tracks.ticks)
    if let end {
      let beyond = partial.start.advanced(byTicks: scan.withoutLast.ticks).milliseconds - end.milliseconds
      if abs(beyond) * 180 < ticks - scan.withoutLast.ticks { (length, ticks) = scan.withoutLast }
    }
    guard length > 0, ticks > 0 else { return nil }
    let name = SegmentName(sequence: partial.sequence, start: partial.start, ticks: ticks)
    // The same steps as for any other segment, on a file that exists already.
    do throws(SystemError) {
      let file = try directory.openForWriting(partial.description)
      try file.truncate(to: Int64(length))
      try file.sync()
      try file.close()
    } catch {
      throw .notDurable(error)
    }
    try storage { () throws(SystemError) in
      try directory.rename(partial.description, to: name.description, in: directory, replacing: false)
    }
    try RunWriter.sync(directory)
    return name
  }

  /// What is whole of an unfinished segment; nil without an init section.
  func scan(_ partial: PartialSegmentName) throws(StorageError) -> ChunkScan? {
    guard let initSection = try initSection() else { return nil }
    let file = try storage { () throws(SystemError) in try directory.openForReading(partial.description) }
    return try scan(file, initSection)
  }

  /// The run's init section; nil when there is none, and then nothing can be decoded.
  private func initSection() throws(StorageError) -> InitSection? {
    let bytes = try ifPresent { () throws(SystemError) in
      try directory.openForReading(RunEntry.initSection.description).readAll(limit: InitSection.maximumSize)
    }
    guard let bytes else { return nil }
    do throws(MediaFormatError) {
      return try InitSection(parsing: bytes)
    } catch {
      throw .damaged(path: "\(directory.path)/\(RunEntry.initSection)", reason: "\(error)")
    }
  }

  /// Where the first block begins that holds zeros only; nil when none does. Coded media have no such blocks.
  private func zeroBlock(in file: borrowing FileDescriptor) throws(SystemError) -> Int64? {
    var block = [UInt8](repeating: 0, count: 4096)
    var offset: Int64 = 0
    while true {
      let count = try file.read(into: &block, at: offset)
      if count == 0 { return nil }
      if block[..<count].allSatisfy({ $0 == 0 }) { return offset }
      offset += Int64(count)
    }
  }

  /// Reads the headers of a file and steps over its payload.
  private func scan(
    _ file: borrowing FileDescriptor, _ initSection: InitSection
  ) throws(StorageError) -> ChunkScan {
    var scan = ChunkScan(initSection)
    do throws(SystemError) {
      let status = try file.status()
      var size = status.size
      // What the kernel still held when the power went may have left its room and nothing in it. After a mere crash of the
      // recorder that cannot be, and silence in plain PCM may well be all zeros.
      if let booted = SystemStart.time(), status.modified < booted { size = try zeroBlock(in: file) ?? size }
      var buffer = [UInt8](repeating: 0, count: 64 * 1024)
      var offset: Int64 = 0
      while offset < size, scan.failure == nil {
        let passed = min(Int64(clamping: scan.skippable), size - offset)
        if passed > 0 {
          scan.skip(UInt64(passed))
          offset += passed
          continue
        }
        let count = min(try file.read(into: &buffer, at: offset), Int(size - offset))
        if count == 0 { break }
        unsafe scan.feed(buffer.span.bytes.extracting(0..<count))
        offset += Int64(count)
      }
    } catch {
      throw .system(error)
    }
    return scan
  }
}
