/// What a listing shows of one run.
package struct RunListing: Equatable, Sendable {
  package var run: RunName
  package var hasInitSection = false
  package var segments: [SegmentName] = []
  package var marker: MarkerName?

  package init(run: RunName) {
    self.run = run
  }

  /// Whether the run is closed and holds every number its marker promises.
  package var isComplete: Bool {
    guard let marker else { return false }
    return Set(segments.map(\.sequence)).count >= marker.count
  }
}

extension MediaPlaylist {
  /// The list of everything there is: what came late and what was too long for the live list included, gaps where
  /// nothing came. Nil where no run has both an init section and a segment.
  /// - Parameter targetDuration: seconds, where the renditions of a recording need the same; at least that of `runs`.
  package static func whole(_ runs: [RunListing], targetDuration: Int = 1) -> MediaPlaylist? {
    var policy = StitchingPolicy()
    policy.window = .last(ticks: .max)
    policy.gapAfter = .zero
    policy.idleEnd = nil
    var stitcher = Stitcher(
      policy: policy, targetDuration: max(targetDuration, wholeTargetDuration(runs)))
    // One instant for all: nothing is waited for.
    let now = ContinuousClock.now
    for listing in runs {
      // A run without either would only be waited for.
      guard listing.hasInitSection, !listing.segments.isEmpty else { continue }
      stitcher.initSectionArrived(listing.run)
      for name in listing.segments.sorted() { stitcher.segmentArrived(name, in: listing.run, at: now) }
      if let marker = listing.marker { stitcher.markerArrived(marker, in: listing.run, at: now) }
    }
    _ = stitcher.advance(at: now)
    var playlist = stitcher.playlist
    guard !playlist.entries.isEmpty else { return nil }
    playlist.kind = .vod
    playlist.isEnded = true
    return playlist
  }

  /// The target duration a whole list of `runs` needs, in seconds. A name that claims more than the longest gap is not
  /// in the list and does not count.
  package static func wholeTargetDuration(_ runs: [RunListing]) -> Int {
    let longest = runs.lazy.filter(\.hasInitSection).flatMap(\.segments).map(\.ticks)
      .filter { $0 <= StitchingPolicy().longestGap }.max()
    return roundedSeconds(longest ?? 0)
  }
}
