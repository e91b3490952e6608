package import HLS
import Platform
package import Storage

/// A directory as stitching sees it.
extension Tree: StitchStore {
  package var directory: Tree? { self }
  package var clock: Int64 { WallClock.now() }

  package func list(_ key: RunKey, _ body: (RunEntry, _ bytes: Int64?) -> Void) throws(StorageError) {
    try entries(of: key) { entry in
      body(entry, nil)
      return true
    }
  }

  package func news(
    of recording: RecordingName, _ rendition: RenditionName, _ outlook: inout Outlook, _ stitcher: Stitcher
  ) throws(StorageError) -> [(run: RunName, files: [FoundFile])] {
    let earliest = stitcher.earliestOpenRun
    var news: [(run: RunName, files: [FoundFile])] = []
    for run in try runs(of: recording, rendition: rendition) {
      news.append((run, []))
      if let earliest, run < earliest, !outlook.pieces.contains(run) { continue }
      let key = RunKey(recording: recording, rendition: rendition, run: run)
      let changed = try modifiedNanoseconds(path(of: key)) ?? 0
      if outlook.changedOnly, outlook.listed[run] == changed { continue }
      var found: [FoundFile] = []
      // A look at each file's time is dear in a directory where most are published already.
      if stitcher.awaits(0, in: run) {
        try files(of: key) { entry, facts in
          found.append(FoundFile(entry: entry, modified: facts.modified, bytes: nil))
          return true
        }
      } else {
        var names: [RunEntry] = []
        try entries(of: key) { entry in
          if case .segment(let name) = entry, !stitcher.awaits(name.sequence, in: run) { return true }
          names.append(entry)
          return true
        }
        for entry in names {
          guard let facts = try facts(of: EntryPath(key: key, entry: entry)) else { continue }
          found.append(FoundFile(entry: entry, modified: facts.modified, bytes: nil))
        }
      }
      news[news.count - 1].files = found
      outlook.listed[run] = changed
    }
    // What was published before is not listed again, and still is what the idle time counts from.
    if !outlook.changedOnly, let end = stitcher.playlist.entries.last(where: { !$0.isGap }), let name = end.name,
      let index = news.firstIndex(where: { $0.run == end.run })
    {
      let key = RunKey(recording: recording, rendition: rendition, run: end.run)
      if let facts = try facts(of: EntryPath(key: key, entry: .segment(name))) {
        news[index].files.append(FoundFile(entry: .segment(name), modified: facts.modified, bytes: nil))
      }
    }
    return news
  }

  package func part(of entry: EntryPath, at offset: Int64, count: Int) throws(StorageError) -> FilePart? {
    do throws(StorageError) {
      let file = try openForReading(entry)
      do throws(SystemError) {
        let size = try file.size()
        var buffer = [UInt8](repeating: 0, count: Int(max(0, min(Int64(count), size - offset))))
        let read = try file.read(into: &buffer, at: offset)
        if read < buffer.count { buffer.removeLast(buffer.count - read) }
        return FilePart(bytes: buffer, size: size)
      } catch {
        throw .system(error)
      }
    } catch {
      if error.isMissing { return nil }
      throw error
    }
  }

  package func read(_ path: String, limit: Int, _ version: inout FileVersion) throws(StorageError) -> [UInt8]? {
    try read(path, limit: limit)
  }

  package func version(of path: String) throws(StorageError) -> FileVersion { .unknown }

  package func replace(
    _ path: String, _ bytes: [UInt8], _ version: inout FileVersion, durable: Bool
  ) throws(StorageError) {
    try writeAtomically(path, bytes, durable: durable)
  }

  package func append(_ bytes: [UInt8], to path: String, size: Int64) throws(StorageError) -> Bool {
    let isUnchanged: Bool
    do throws(SystemError) {
      let whole = "\(root)/\(path)"
      let end = whole.utf8.lastIndex(of: UInt8(ascii: "/")) ?? whole.startIndex
      let file = try Directory(path: String(whole[..<end])).openForWriting(String(whole[whole.index(after: end)...]))
      isUnchanged = try file.size() == size
      if isUnchanged {
        try file.seek(to: size)
        try file.writeAll(bytes)
      }
      try file.close()
    } catch {
      throw .system(error)
    }
    guard isUnchanged else { throw .damaged(path: "\(root)/\(path)", reason: "somebody else changed it") }
    return true
  }

  /// Times of directories tell; a change within the file system's clock tick of the writing may be taken for older.
  package func isSettled(_ recording: RecordingName) throws(StorageError) -> Bool {
    let directory = path(of: recording)
    guard let whole = try modifiedNanoseconds("\(directory)/\(WholeRecording.name)"),
      try modifiedNanoseconds("\(directory)/\(LiveListFile.name)") != nil
    else { return false }
    for key in try runs(of: recording) {
      guard let changed = try modifiedNanoseconds(path(of: key)), changed < whole else { return false }
    }
    return true
  }

  private func modifiedNanoseconds(_ path: String) throws(StorageError) -> Int64? {
    do throws(SystemError) {
      return try FileSystem.status(of: path).modifiedNanoseconds
    } catch {
      if error.isMissing { return nil }
      throw .system(error)
    }
  }
}
