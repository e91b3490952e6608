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
  private let onArrival: @Sendable (EntryPath) -> Void
  private let parts: Mutex<Parts?>

  private struct Parts {
    let server: HTTPServer
    let handler: OriginHandler
    let commits: CommitQueue
  }

  /// - Parameter onArrival: called for each new file once it is durable, before the uploader hears of it; must return
  ///   at once.
  package init(
    _ configuration: ServeConfiguration, tree: Tree, log: Log, onArrival: @escaping @Sendable (EntryPath) -> Void
  ) {
    self.configuration = configuration
    self.tree = tree
    self.log = log
    self.onArrival = onArrival
    parts = Mutex(nil)
  }

  /// Starts to listen. Returns the address with its real port.
  @discardableResult
  package func start() throws(ServeError) -> ListenAddress {
    try configuration.validate()
    let counters = ServeCounters()
    let index = RecordingIndex(tree)
    let onArrival = onArrival
    let commits: CommitQueue
    do throws(SystemError) {
      commits = try CommitQueue(
        threads: configuration.commitThreads, capacity: configuration.limits.connections, log: log, counters: counters
      ) { entry, bytes in
        index.arrived(entry, bytes: bytes, at: WallClock.now())
        onArrival(entry)
      }
    } catch {
      throw .system("\(error)")
    }
    let handler = OriginHandler(
      configuration: configuration, tree: tree, log: log, commits: commits, counters: counters, index: index)
    do throws(HTTPServerError) {
      let server = try HTTPServer(
        listeningOn: configuration.address, identity: configuration.identity, threads: configuration.threads,
        limits: configuration.limits, handler: handler)
      handler.observe(server)
      parts.withLock { $0 = Parts(server: server, handler: handler, commits: commits) }
      return server.address
    } catch {
      commits.stop()
      throw .server(error)
    }
  }

  /// A live playlist has been written: clients that waited for its next entry are answered. For `StitchService`'s
  /// `onUpdate`.
  package func playlistChanged(_ update: StitchUpdate) {
    let handler = parts.withLock { $0?.handler }
    handler?.playlistChanged(
      PlaylistPath(recording: update.recording, rendition: update.rendition, kind: .live),
      nextSequence: update.nextSequence, isEnded: update.isEnded)
  }

  /// Lets requests under way finish, makes durable what has been received, and stops. Later calls do nothing.
  package func stop() {
    guard let parts = parts.withLock({ $0.take() }) else { return }
    parts.server.stop(grace: configuration.grace)
    parts.commits.stop()
  }
}
