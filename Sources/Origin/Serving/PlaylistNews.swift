import Synchronization

/// Carries word of new live playlists from stitching to the server, so that neither has to be made before the other.
package final class PlaylistNews: Sendable {
  private let listener = Mutex<(@Sendable (StitchUpdate) -> Void)?>(nil)

  package init() {}

  /// For `StitchService`'s `onUpdate`.
  package func publish(_ update: StitchUpdate) { listener.withLock { $0 }?(update) }

  /// From now on `body` hears of updates; nil: nobody.
  func subscribe(_ body: (@Sendable (StitchUpdate) -> Void)?) { listener.withLock { $0 = body } }
}
