import Synchronization

/// Carries word of new live playlists from stitching to the server, so that neither has to be made before the other.
package final class PlaylistNews: Sendable {
  /// In a struct, since a bare closure is wrapped once more each time a `Mutex` lends it: after six thousand times its
  /// call overflowed the stack.
  private struct Listener {
    var body: (@Sendable (StitchUpdate) -> Void)?
  }
  private let listener = Mutex(Listener())

  package init() {}

  /// For `StitchService`'s `onUpdate`.
  package func publish(_ update: StitchUpdate) { listener.withLock(\.body)?(update) }

  /// From now on `body` hears of updates; nil: nobody.
  func subscribe(_ body: (@Sendable (StitchUpdate) -> Void)?) { listener.withLock { $0.body = body } }
}
