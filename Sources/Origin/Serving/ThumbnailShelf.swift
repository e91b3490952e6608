import HLS
import HTTP
import LibAV
import Platform
import Storage
import Synchronization

/// Small pictures of a recording, for the page: the first key frame of a minute, made when somebody asks for it on one
/// thread, and kept in memory.
final class ThumbnailShelf: Sendable {
  private struct Key: Hashable, Sendable {
    let recording: RecordingName
    /// Since 1970.
    let minute: Int64
  }

  private struct Job: Sendable {
    let key: Key
    let pending: PendingResponse
  }

  private struct Kept: Sendable {
    var pictures: [Key: [UInt8]] = [:]
    var order: [Key] = []
  }

  private let tree: Tree
  private let log: Log
  private let queue = HandoffQueue<Job>(capacity: 512)
  private let kept = Mutex(Kept())
  private let thread = Mutex<Thread?>(nil)

  /// Pictures in memory, of about 10 kB each.
  private static let capacity = 512
  private static let width = 320

  init(_ tree: Tree, log: Log) throws(SystemError) {
    self.tree = tree
    self.log = log
    let started = try Thread("thumbnails", stackSize: 1 << 20) { [self] in
      while let job = queue.take() { job.pending.fulfil(answer(job.key)) }
    }
    thread.withLock { $0 = started }
  }

  func stop() {
    queue.discard()
    thread.withLock { $0.take() }?.join()
  }

  /// - Parameter time: milliseconds since 1970.
  func picture(_ recording: RecordingName, at time: Int64) -> Answer {
    let key = Key(recording: recording, minute: time / 60_000)
    if let bytes = kept.withLock({ $0.pictures[key] }) { return .now(response(bytes)) }
    let pending = PendingResponse(limit: .seconds(20), otherwise: .text(503, "too many pictures at once"))
    if queue.putDroppingOldest(Job(key: key, pending: pending)) != 0 {
      pending.fulfil(.text(503, "too many pictures at once"))
    }
    return .later(pending)
  }

  private func response(_ bytes: [UInt8]) -> Response {
    // A minute may still get an earlier picture, from a segment that comes late.
    let headers = HeaderFields([
      .init("Content-Type", "image/jpeg"), .init("Cache-Control", "private, max-age=3600"),
    ])
    return Response(200, headers: headers, body: .bytes(bytes))
  }

  private func answer(_ key: Key) -> Response {
    do throws(ExportError) {
      guard let (run, segment) = try find(key), let bytes = try decode(run, segment) else {
        return .text(404, "no picture of that minute")
      }
      kept.withLock { kept in
        kept.pictures[key] = bytes
        kept.order.append(key)
        if kept.order.count > ThumbnailShelf.capacity { kept.pictures[kept.order.removeFirst()] = nil }
      }
      return response(bytes)
    } catch {
      log.info("thumbnail", "no picture of \(key.recording): \(error)", ["recording": .init(key.recording)])
      return .text(404, "no picture of that minute")
    }
  }

  /// The first segment of the minute, or the last one before it.
  private func find(_ key: Key) throws(ExportError) -> (RunKey, SegmentName)? {
    let minute = key.minute * 60_000
    do throws(StorageError) {
      let renditions = try tree.renditions(of: key.recording)
      guard let rendition = renditions.contains(.main) ? .main : renditions.first else { return nil }
      let runs = try tree.runs(of: key.recording, rendition: rendition)
      var before: (RunKey, SegmentName)?
      for run in runs.reversed() where run.start.milliseconds < minute + 60_000 {
        let path = RunKey(recording: key.recording, rendition: rendition, run: run)
        let names = try tree.segments(of: path)
        if let name = names.first(where: { $0.start.milliseconds >= minute }), name.start.milliseconds < minute + 60_000
        {
          before = (path, name)
        } else if let last = names.last(where: { $0.start.milliseconds < minute }) {
          return before ?? (path, last)
        }
        if run.start.milliseconds < minute, before != nil { break }
      }
      return before
    } catch {
      throw .storage(error)
    }
  }

  private func decode(_ run: RunKey, _ segment: SegmentName) throws(ExportError) -> [UInt8]? {
    do throws(AVError) {
      var input = try MediaInput(
        InputRequest(url: tree.path(of: run), format: "mp4"), source: RunBytes(tree, run, [segment]),
        interruption: Interruption())
      guard let stream = input.bestVideo else { return nil }
      var decoder = try Decoder(stream: stream)
      var packet = try Packet()
      var frame = try Frame()
      var isThere = false
      while !isThere, try input.read(into: &packet) {
        guard packet.streamIndex == stream.index else { continue }
        try decoder.send(packet)
        isThere = try decoder.receive(into: &frame) == .produced
      }
      if !isThere {
        try decoder.drain()
        isThere = try decoder.receive(into: &frame) == .produced
      }
      return isThere ? try encode(&frame) : nil
    } catch {
      throw .media(error)
    }
  }

  private func encode(_ frame: inout Frame) throws(AVError) -> [UInt8]? {
    guard let format = PixelFormat(name: "yuvj420p") else { return nil }
    var graph = try FilterGraph(
      input: FilterInput(of: frame, kind: .video),
      description: "scale=w='min(\(ThumbnailShelf.width),iw)':h=-2:flags=area,format=yuvj420p")
    try graph.send(&frame)
    guard try graph.receive(into: &frame) == .produced else { return nil }
    var settings = VideoEncoderSettings(
      encoder: "mjpeg", width: frame.width, height: frame.height, frameRate: RationalTime(25, 1), bitRate: 2_000_000,
      maximumGOP: 1)
    settings.pixelFormat = format
    // A constant quality (5, in lambda units) in place of a bit rate and of the closed GOP that films get.
    settings.options = [
      MediaOption("flags", "qscale"), MediaOption("global_quality", "590"), MediaOption("maxrate", "0"),
      MediaOption("bufsize", "0"),
    ]
    var encoder = try VideoEncoder(settings)
    var packet = try Packet()
    frame.pts = 0
    try encoder.send(frame)
    try encoder.drain()
    guard try encoder.receive(into: &packet) == .produced else { return nil }
    return packet.withBytes { bytes in unsafe bytes.withUnsafeBytes { unsafe Array($0) } }
  }
}
