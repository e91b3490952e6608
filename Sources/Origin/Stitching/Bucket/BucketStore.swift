package import HLS
package import HTTP
package import Platform
package import Storage

/// A bucket as stitching sees it. Nothing is remembered that the bucket does not hold, but for when it is asked again;
/// each playlist is written under the condition that nobody else has written it since it was read, so that several of
/// these may be at work on the same recordings.
package final class BucketStore: StitchStore {
  package let root: String
  let access: BucketAccess
  private let memory = Monitor(Memory())

  private struct Memory {
    var recordings: [RecordingName]?
    var listed: ContinuousClock.Instant?
    /// Requests the last listing took.
    var pages = 1
    var isListing = false
    /// Ended recordings that need no look before this time by the store's clock, milliseconds.
    var settled: [RecordingName: Int64] = [:]
  }

  /// - Parameter log: where it is said that the store is away and back.
  package init(_ client: S3Client, root: String, log: Log) {
    self.root = root
    access = BucketAccess(client, root, log)
  }

  package var directory: Tree? { nil }
  package var clock: Int64 { access.clock }

  // MARK: Listing

  /// All recordings' names are asked for as often as that takes no more than a request a second.
  package func recordings() throws(StorageError) -> [RecordingName] {
    let known = memory.wait { memory -> [RecordingName]?? in
      if memory.isListing { return nil }
      if let names = memory.recordings, let listed = memory.listed,
        .now - listed < .seconds(max(5, memory.pages))
      {
        return .some(names)
      }
      memory.isListing = true
      return .some(nil)
    }
    if let names = known ?? nil { return names }
    do throws(StorageError) {
      var names: [RecordingName] = []
      let pages = try access.list("", isFlat: false) { page in
        names += page.prefixes.compactMap { RecordingName($0.dropLast()) }
      }
      memory.withLock { memory in
        memory.recordings = names
        memory.listed = .now
        memory.pages = pages
        memory.isListing = false
        // What a rule of the bucket has removed since.
        if memory.settled.count > names.count {
          let there = Set(names)
          memory.settled = memory.settled.filter { there.contains($0.key) }
        }
      }
      return names
    } catch {
      memory.withLock { $0.isListing = false }
      throw error
    }
  }

  package func renditions(of recording: RecordingName) throws(StorageError) -> [RenditionName] {
    try level("\(recording)/").prefixes.compactMap { prefix in
      RenditionName(prefix.dropLast()).flatMap { $0.isUsableAsRendition ? $0 : nil }
    }
  }

  package func runs(of recording: RecordingName, rendition: RenditionName) throws(StorageError) -> [RunName] {
    try level("\(recording)/\(rendition)/").prefixes.compactMap { RunName($0.dropLast()) }.sorted()
  }

  package func list(_ key: RunKey, _ body: (RunEntry, _ bytes: Int64?) -> Void) throws(StorageError) {
    _ = try access.list("\(key)/", isFlat: true) { page in
      for object in page.objects {
        if let path = EntryPath(object.key), path.key == key { body(path.entry, object.size) }
      }
    }
  }

  /// One request as a rule: keys are in the order of runs and numbers, and all that can be news lies behind the segment
  /// that was published last.
  package func news(
    of recording: RecordingName, _ rendition: RenditionName, _ outlook: inout Outlook, _ stitcher: Stitcher
  ) throws(StorageError) -> [(run: RunName, files: [FoundFile])] {
    var after: String?
    if let run = stitcher.earliestOpenRun {
      let next = stitcher.next(in: run)
      // "0.end", of a run without a segment, comes before all numbers.
      after = "\(recording)/\(rendition)/\(run)/" + (next > 0 ? eightDigits(next - 1) : "")
    }
    var news: [(run: RunName, files: [FoundFile])] = []
    _ = try access.list("\(recording)/\(rendition)/", isFlat: true, after: after) { page in
      for object in page.objects {
        guard let path = EntryPath(object.key), path.key.recording == recording, path.key.rendition == rendition else {
          continue
        }
        if news.last?.run != path.key.run { news.append((path.key.run, [])) }
        news[news.count - 1].files.append(
          FoundFile(entry: path.entry, modified: object.modified, bytes: object.size))
      }
    }
    return news
  }

  /// Whether a recording has both its whole and its live list, and behind the end of each rendition's live list nothing
  /// has come since. Asked again after a quarter of the time it has been so, a minute at least and a week at most.
  package func isSettled(_ recording: RecordingName) throws(StorageError) -> Bool {
    let now = clock
    if memory.withLock({ $0.settled[recording].map { now < $0 } }) == true { return true }
    let (objects, prefixes) = try level("\(recording)/")
    guard let whole = objects.first(where: { $0.key == WholeRecording.name })?.modified,
      objects.contains(where: { $0.key == LiveListFile.name })
    else { return false }
    for name in prefixes.compactMap({ RenditionName($0.dropLast()) }) where name.isUsableAsRendition {
      var list = LiveListFile(self, recording, name)
      var stitcher = Stitcher(policy: StitchingPolicy())
      if let published = try list.published() { stitcher = Stitcher(policy: stitcher.policy, resuming: published) }
      var outlook = Outlook()
      let news = try news(of: recording, name, &outlook, stitcher)
      if news.contains(where: { $0.files.contains { $0.modified >= whole } }) { return false }
    }
    let pause = min(max((now - whole) / 4, 60_000), 7 * 86_400_000)
    memory.withLock { $0.settled[recording] = now + pause }
    return true
  }

  /// What stands directly below a prefix, names without it.
  private func level(_ prefix: String) throws(StorageError) -> (objects: [S3Listing.Object], prefixes: [String]) {
    var objects: [S3Listing.Object] = []
    var prefixes: [String] = []
    _ = try access.list(prefix, isFlat: false) { page in
      for var object in page.objects where object.key.hasPrefix(prefix) {
        object.key.removeFirst(prefix.count)
        objects.append(object)
      }
      prefixes += page.prefixes.lazy.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    }
    return (objects, prefixes)
  }

  // MARK: Reading and writing

  package func part(of entry: EntryPath, at offset: Int64, count: Int) throws(StorageError) -> FilePart? {
    let answer = try access.ask("read", entry.description) { client in
      client.get(entry.description, range: offset..<offset + Int64(count), limit: count)
    }
    switch answer.status {
    case 404: return nil
    // Nothing lies behind the offset: the object is empty, or the end was the last thing read.
    case 416: return FilePart(bytes: [], size: offset)
    default: return FilePart(bytes: answer.body, size: answer.wholeLength ?? Int64(answer.body.count))
    }
  }

  package func read(_ path: String, limit: Int, _ version: inout FileVersion) throws(StorageError) -> [UInt8]? {
    let answer = try access.ask("read", path) { $0.get(path, limit: limit) }
    if answer.status == 404 {
      version = .absent
      return nil
    }
    guard answer.contentLength.map({ $0 == answer.body.count }) ?? (answer.body.count < limit) else {
      throw .damaged(path: "\(root)/\(path)", reason: "longer than \(limit) bytes")
    }
    version = answer.etag.map { .tagged($0) } ?? .unknown
    return answer.body
  }

  package func version(of path: String) throws(StorageError) -> FileVersion {
    let answer = try access.ask("read", path) { $0.head(path) }
    if answer.status == 404 { return .absent }
    return answer.etag.map { .tagged($0) } ?? .unknown
  }

  package func replace(
    _ path: String, _ bytes: [UInt8], _ version: inout FileVersion, durable: Bool
  ) throws(StorageError) {
    if version == .unknown { version = try self.version(of: path) }
    let condition: S3Client.Condition
    switch version {
    case .tagged(let etag): condition = .matches(etag)
    case .absent: condition = .isAbsent
    case .unknown: throw .remote(RemoteFailure(.unusable, "\(root): the store gives \(path) no entity tag"))
    }
    let answer = try access.ask("write", path) { client in
      client.put(path, bytes, headers: BucketStore.fields(isFinal: durable), if: condition)
    }
    guard answer.isSuccess else { throw overtaken(path, in: root) }
    version = answer.etag.map { .tagged($0) } ?? .unknown
  }

  /// For caches in front of the bucket: a list that grows is old after a second.
  private static func fields(isFinal: Bool) -> [Request.Header] {
    [
      .init("Content-Type", "application/vnd.apple.mpegurl"),
      .init("Cache-Control", isFinal ? "max-age=60" : "max-age=1"),
    ]
  }

  package func append(_ bytes: [UInt8], to path: String, size: Int64) throws(StorageError) -> Bool { false }
}
