import HLS
import Platform
import Synchronization
import Testing

@testable import Origin

@Suite struct `Playlist news` {
  /// On little stack, so that a call that grows deeper each time ends the test.
  @Test func `reach the server the ten-thousandth time as the first`() throws {
    let update = StitchUpdate(
      recording: try #require(RecordingName("camera")), rendition: .main, nextSequence: 1, isEnded: false)
    let heard = Atomic(0)
    let news = PlaylistNews()
    news.subscribe { _ in heard.wrappingAdd(1, ordering: .relaxed) }
    try withExtendedLifetime(news) {
      let thread = try Platform.Thread("news", stackSize: 64 * 1_024) { for _ in 0..<10_000 { news.publish(update) } }
      thread.join()
    }
    #expect(heard.load(ordering: .relaxed) == 10_000)
  }
}
