package import HLS
package import HTTP
package import Platform
package import Storage
import Synchronization

/// The origin over HTTP: takes uploads into a tree, serves segments, playlists and a page for people.
package final class OriginServer: Sendable {
  private let configuration: ServeConfiguration
  private let tree: Tree
  private let log: Log
  private let news: PlaylistNews?
  private let onArrival: @Sendable (EntryPath) -> Void
  private let parts: Mutex<Parts?>

  private struct Parts {
    let server: HTTPServer
    let commits: CommitQueue
    let exports: ExportShelf
    let thumbnails: ThumbnailShelf
  }

  /// - Parameters:
  ///   - news: where stitching publishes its updates; without it no client is promised that it may wait for one.
  ///   - onArrival: called for each new file once it is durable, before the uploader hears of it; must return at once.
  package init(
    _ configuration: ServeConfiguration, tree: Tree, log: Log, news: PlaylistNews? = nil,
    onArrival: @escaping @Sendable (EntryPath) -> Void
  ) {
    self.configuration = configuration
    self.tree = tree
    self.log = log
    self.news = news
    self.onArrival = onArrival
    parts = Mutex(nil)
  }

  /// Starts to listen. Returns the address with its real port.
  @discardableResult
  package func start() throws(ServeError) -> ListenAddress {
    try configuration.validate()
    let counters = ServeCounters()
    let index = RecordingIndex(tree)
    let timelines = TimelineShelf(tree)
    let onArrival = onArrival
    let commits: CommitQueue
    let exports: ExportShelf
    let thumbnails: ThumbnailShelf
    do throws(SystemError) {
      exports = try ExportShelf(tree, reserve: configuration.reserve, log: log)
      thumbnails = try ThumbnailShelf(tree, log: log)
      commits = try CommitQueue(
        threads: configuration.commitThreads, capacity: configuration.limits.connections, log: log, counters: counters
      ) { entry, bytes in
        let now = WallClock.now()
        index.arrived(entry, bytes: bytes, at: now)
        timelines.arrived(entry, at: now)
        onArrival(entry)
      }
    } catch {
      throw .system("\(error)")
    }
    let handler = OriginHandler(
      configuration: configuration, tree: tree, log: log, commits: commits, counters: counters, index: index,
      timelines: timelines, exports: exports, thumbnails: thumbnails, canWait: news != nil)
    do throws(HTTPServerError) {
      let server = try HTTPServer(
        listeningOn: configuration.address, identity: configuration.identity, threads: configuration.threads,
        limits: configuration.limits, handler: handler)
      handler.observe(server)
      news?.subscribe { update in handler.playlistChanged(update) }
      parts.withLock { $0 = Parts(server: server, commits: commits, exports: exports, thumbnails: thumbnails) }
      return server.address
    } catch {
      commits.stop()
      exports.stop()
      thumbnails.stop()
      throw .server(error)
    }
  }

  /// Lets requests under way finish, makes durable what has been received, and stops. Later calls do nothing.
  package func stop() {
    guard let parts = parts.withLock({ $0.take() }) else { return }
    news?.subscribe(nil)
    parts.server.stop(grace: configuration.grace)
    parts.exports.stop()
    parts.thumbnails.stop()
    parts.commits.stop()
  }
}
