import HLS
import HTTP
import Platform
import Storage
import Synchronization

/// Answers the requests of an origin.
final class OriginHandler: RequestHandler {
  let configuration: ServeConfiguration
  let tree: Tree
  let log: Log
  let commits: CommitQueue
  let counters: ServeCounters
  let index: RecordingIndex
  let timelines: TimelineShelf
  let waiters: PlaylistWaiters
  let exports: ExportShelf
  let thumbnails: ThumbnailShelf
  /// Whether clients may wait for a playlist's next entry.
  let canWait: Bool
  private let server = Mutex<HTTPServer?>(nil)

  init(
    configuration: ServeConfiguration, tree: Tree, log: Log, commits: CommitQueue, counters: ServeCounters,
    index: RecordingIndex, timelines: TimelineShelf, exports: ExportShelf, thumbnails: ThumbnailShelf, canWait: Bool
  ) {
    self.configuration = configuration
    self.tree = tree
    self.log = log
    self.commits = commits
    self.counters = counters
    self.index = index
    self.timelines = timelines
    self.exports = exports
    self.thumbnails = thumbnails
    self.canWait = canWait
    // Half of what may connect: uploads must find room.
    waiters = PlaylistWaiters(capacity: configuration.limits.connections / 2)
  }

  /// The server whose load `/metrics` shows.
  func observe(_ server: HTTPServer) { self.server.withLock { $0 = server } }

  func answer(_ request: IncomingRequest) -> Answer {
    guard let route = Route(request.target.components) else {
      return .now(unknownPath(request))
    }
    let access = Access(request.headers, configuration: configuration)
    switch request.method {
    case .options: return .now(options(route))
    case .put:
      guard case .entry(let entry) = route else { break }
      return upload(entry, request, access)
    case .post where route == .session: return openSession(request)
    case .delete where route == .session: return .now(closedSession(request))
    case .get, .head:
      if case .playlist(let path) = route, access.mayRead(path.recording) { return playlist(path, request) }
      if case .export(let recording) = route, access.mayRead(recording) { return exports.export(recording, request) }
      if case .thumbnail(let recording) = route, access.mayRead(recording),
        let time = request.target.query("at").flatMap({ Int64($0) }), time >= 0
      {
        return thumbnails.picture(recording, at: time)
      }
      return .now(read(route, request, access))
    case .post, .delete, .other: break
    }
    let allowed = route.methods.joined(separator: ", ")
    return .now(Response.text(405, "allowed here: \(allowed)").adding("Allow", allowed))
  }

  func completed(_ record: ExchangeRecord) {
    counters.answered(status: record.status, bytes: record.bytesAnswered, wasCompleted: record.wasCompleted)
    let status = record.status.map(String.init) ?? "-"
    // What the connection sent as its method and path, cut short: a log line is no place for 8 kB of somebody's bytes.
    let method = String(record.method.prefix(16))
    let path = record.path.prefix(300)
    log.info(
      "request", "\(record.peer) \(method) \(path) \(status)\(record.wasCompleted ? "" : " (broken off)")",
      [
        "peer": .init(record.peer), "method": .text(method), "path": .text(String(path)), "status": .text(status),
        "received": .init(record.bytesReceived), "answered": .init(record.bytesAnswered),
        "milliseconds": .init(
          record.duration.components.seconds * 1_000
            + record.duration.components.attoseconds / 1_000_000_000_000_000),
        "completed": .flag(record.wasCompleted),
      ])
  }

  func notice(_ line: String) {
    log.info("http", String(line.trimmingBlanks().prefix { !$0.isNewline }))
  }

  private func unknownPath(_ request: IncomingRequest) -> Response {
    switch request.method {
    case .put:
      // Not 403, which would send a person to look at credentials: what is wrong is the address.
      .text(
        404,
        "only files named <recording>/<rendition>/<run>/<name> as segrec names them are taken here; the address of this "
          + "server has no path")
    case .get, .head: .text(404, "nothing here")
    case .options: Response(204).adding("Allow", "GET, HEAD, OPTIONS")
    case .post, .delete, .other: Response.text(405, "not allowed").adding("Allow", "GET, HEAD, OPTIONS")
    }
  }

  private func options(_ route: Route) -> Response {
    var response = Response(204).adding("Allow", route.methods.joined(separator: ", "))
    if route.isForOtherSites {
      for field in crossOriginFields { response.headers.append(field.name, field.value) }
      // Reading only: no page of another site is to upload with what a browser knows.
      response.headers.append("Access-Control-Allow-Methods", "GET, HEAD")
      response.headers.append("Access-Control-Allow-Headers", "Authorization, Range, If-None-Match, If-Range")
      response.headers.append("Access-Control-Max-Age", "86400")
    }
    return response
  }

  private func read(_ route: Route, _ request: IncomingRequest, _ access: Access) -> Response {
    switch route {
    case .page: return page(request.headers)
    case .health: return Response.text(200, "ok").adding("Cache-Control", "no-store")
    case .metrics:
      guard access.mayReadAll else { return unauthorized(offersBasic: true) }
      return metrics()
    case .recordings:
      guard access.mayReadSomething else { return unauthorized(offersBasic: false) }
      return recordings(access, request.headers)
    case .recording(let name):
      guard access.mayRead(name) else { return unauthorized(offersBasic: false) }
      return timeline(name, request.headers)
    case .session: return Response.text(405, "POST a token here").adding("Allow", "POST, DELETE, OPTIONS")
    case .export: return unauthorized(offersBasic: true)
    case .gap(let run):
      guard access.mayRead(run.recording) else { return forOtherSites(unauthorized(offersBasic: true)) }
      return forOtherSites(gap(run, request))
    case .thumbnail(let name):
      return access.mayRead(name) ? .text(400, "at= is missing") : unauthorized(offersBasic: false)
    case .playlist: return forOtherSites(unauthorized(offersBasic: true))
    case .entry(let entry):
      guard access.mayRead(entry.key.recording) else { return forOtherSites(unauthorized(offersBasic: true)) }
      return forOtherSites(file(entry, request))
    }
  }

  /// - Parameter offersBasic: whether a browser may ask for a password itself. Not for what the page fetches: it has its
  ///   own form.
  func unauthorized(offersBasic: Bool) -> Response {
    var response = Response.text(401, "a token is needed: Authorization: Bearer …, or as a password with any user name")
    if offersBasic { response.headers.append("WWW-Authenticate", "Basic realm=\"segrec\", charset=\"UTF-8\"") }
    response.headers.append("WWW-Authenticate", "Bearer realm=\"segrec\"")
    response.headers.append("Cache-Control", "no-store")
    return response
  }

  private func metrics() -> Response {
    let load = server.withLock { $0 }?.load ?? (0, 0, 0)
    do throws(StorageError) {
      let summaries = try index.summaries()
      let text = counters.rendered(
        connections: load.0, requests: load.1, expired: load.2, recordings: summaries.count,
        live: summaries.count { $0.state == .live }, bytes: index.bytes)
      return Response(
        200,
        headers: HeaderFields([
          .init("Content-Type", "text/plain; version=0.0.4; charset=utf-8"), .init("Cache-Control", "no-store"),
        ]), body: .bytes(Array(text.utf8)))
    } catch {
      return failure("cannot list the recordings", error)
    }
  }

  func failure(_ what: String, _ error: StorageError) -> Response {
    log.error("read", "\(what): \(error)", ["error": .init(error)])
    return .text(500, "the server cannot read this now")
  }
}

let crossOriginFields: [HeaderFields.Field] = [
  .init("Access-Control-Allow-Origin", "*"),
  .init("Access-Control-Expose-Headers", "Content-Length, Content-Range, Date, ETag"),
]

func forOtherSites(_ response: Response) -> Response {
  var copy = response
  for field in crossOriginFields { copy.headers.append(field.name, field.value) }
  return copy
}
