import Glibc
import HLS
import HTTP
import LibAV
import Platform
import Storage
import Synchronization

/// MP4 files of whole recordings, made when somebody asks for one and kept for those who ask again: a browser that plays
/// or resumes asks for parts.
///
/// A finished file has no name any more, so it is gone with this process, whatever ends it.
final class ExportShelf: Sendable {
  private struct Finished: Sendable {
    let recording: RecordingName
    /// What the recording held when the file was made.
    let content: String
    let file: OpenExport
  }

  /// A finished file.
  private final class OpenExport: Sendable {
    let descriptor: FileDescriptor
    let size: Int64

    init(_ descriptor: consuming FileDescriptor) throws(SystemError) {
      size = try descriptor.size()
      self.descriptor = descriptor
    }
  }

  private struct Job: Sendable {
    let recording: RecordingName
    let fields: HeaderFields
    let pending: PendingResponse
  }

  private let tree: Tree
  private let log: Log
  private let reserve: Int64
  private let queue = HandoffQueue<Job>(capacity: 16)
  private let finished = Mutex<[Finished]>([])
  private let interruption = Interruption()
  private let thread = Mutex<Thread?>(nil)

  /// Files kept; each takes the room of its recording once more.
  private static let capacity = 2
  private static let prefix = ".export-"

  /// - Parameter reserve: bytes of the disk that an export leaves free.
  init(_ tree: Tree, reserve: Int64, log: Log) throws(SystemError) {
    self.tree = tree
    self.log = log
    self.reserve = reserve
    try removeLeftovers()
    let started = try Thread("export", stackSize: 1 << 20) { [self] in
      while let job = queue.take() { job.pending.fulfil(answer(job)) }
    }
    thread.withLock { $0 = started }
  }

  /// Ends what is being made.
  func stop() {
    interruption.stop()
    queue.discard()
    thread.withLock { $0.take() }?.join()
  }

  /// The whole recording as one MP4, or the part of it that is asked for.
  func export(_ recording: RecordingName, _ request: IncomingRequest) -> Answer {
    let pending = PendingResponse(limit: .seconds(1_800), otherwise: .text(503, "the export takes too long"))
    let job = Job(recording: recording, fields: request.headers, pending: pending)
    guard queue.putDroppingOldest(job) == 0 else {
      pending.fulfil(.text(503, "too many exports at once"))
      return .later(pending)
    }
    return .later(pending)
  }

  private func answer(_ job: Job) -> Response {
    do throws(ExportError) {
      let content = try content(of: job.recording)
      let ready = finished.withLock { finished in
        finished.first { $0.recording == job.recording && $0.content == content }?.file
      }
      let file = if let ready { ready } else { try make(job.recording, content) }
      return try response(job, file, tag: EntityTag(content))
    } catch {
      switch error {
      case .nothing: return .text(404, "no such recording")
      case .incompatible(let reason): return .text(409, reason)
      default:
        log.error("export", "cannot export \(job.recording): \(error)", ["recording": .init(job.recording)])
        let isFull = if case .system(let system) = error { system.isFull } else { false }
        return isFull ? .text(507, "the server's disk is full") : .text(500, "the recording cannot be exported")
      }
    }
  }

  /// Changes when a file comes or goes.
  private func content(of recording: RecordingName) throws(ExportError) -> String {
    var files = 0
    var bytes: Int64 = 0
    let free: Int64
    do throws(StorageError) {
      for key in try tree.runs(of: recording) {
        try tree.files(of: key) { _, facts in
          files += 1
          bytes += facts.size
          return true
        }
      }
      free = try tree.space().availableBytes
    } catch {
      throw .storage(error)
    }
    guard files > 0 else { throw .nothing(recording) }
    guard free > bytes + reserve else {
      throw .system(SystemError(operation: "export", subject: recording.text, code: ENOSPC))
    }
    return "\(files)-\(bytes)"
  }

  private func make(_ recording: RecordingName, _ content: String) throws(ExportError) -> OpenExport {
    // The old ones go first: their room may be needed.
    finished.withLock { finished in
      finished.removeAll { $0.recording == recording }
      if finished.count >= ExportShelf.capacity { finished.removeFirst() }
    }
    let name = ExportShelf.prefix + recording.text + ".mp4"
    var configuration = ExportConfiguration(recording: recording, path: "\(tree.root)/\(name)")
    configuration.replacesExisting = true
    _ = try exportRecording(tree, configuration, log: log, interruption: interruption)
    do throws(SystemError) {
      let directory = try Directory(path: tree.root)
      let file = try OpenExport(try directory.openForReading(name))
      try directory.remove(name)
      finished.withLock { $0.append(Finished(recording: recording, content: content, file: file)) }
      return file
    } catch {
      throw .system(error)
    }
  }

  private func response(_ job: Job, _ file: OpenExport, tag: EntityTag) throws(ExportError) -> Response {
    var headers = HeaderFields([
      .init("Content-Type", "video/mp4"), .init("ETag", "\(tag)"), .init("Accept-Ranges", "bytes"),
      .init("Cache-Control", "private, no-cache"),
      .init("Content-Disposition", "attachment; filename=\"\(job.recording).mp4\""),
    ])
    if tag.isListed(in: job.fields.list("If-None-Match")) { return Response(304, headers: headers) }
    let opened: OpenFile
    do throws(SystemError) {
      // sendfile and pread take the place to read from as an argument, so that answers do not disturb each other.
      opened = OpenFile(takingOver: try file.descriptor.duplicate().release())
    } catch {
      throw .system(error)
    }
    switch ByteRange(job.fields["Range"], ifRange: job.fields["If-Range"], tag: tag, size: file.size) {
    case .whole: return Response(200, headers: headers, body: .file(opened, offset: 0, length: file.size))
    case .part(let offset, let length):
      headers.append("Content-Range", "bytes \(offset)-\(offset + length - 1)/\(file.size)")
      return Response(206, headers: headers, body: .file(opened, offset: offset, length: length))
    case .unsatisfiable: return Response.text(416, "no such bytes").adding("Content-Range", "bytes */\(file.size)")
    }
  }

  /// What an earlier process left when it was killed in the middle.
  private func removeLeftovers() throws(SystemError) {
    let directory = try Directory(path: tree.root)
    var names: [String] = []
    try directory.list { name, kind in
      if kind == .regular, name.hasPrefix(ExportShelf.prefix) || name.hasPrefix("." + ExportShelf.prefix) {
        names.append(name)
      }
      return true
    }
    for name in names { try directory.remove(name) }
  }
}
