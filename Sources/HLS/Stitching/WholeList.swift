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

  var isPlayable: Bool { hasInitSection && !segments.isEmpty }

  /// From the first segment's start to the last one's end, in 90 kHz ticks.
  var ticks: Int64 {
    guard let first = segments.min(), let last = segments.max() else { return 0 }
    return last.start.milliseconds(since: first.start) * 90 + last.ticks
  }
}

extension MediaPlaylist {
  /// The list of everything there is: what came late and what was too long for the live list included, gaps where
  /// nothing came. Nil where no run has both an init section and a segment.
  /// - Parameters:
  ///   - targetDuration: seconds, where the renditions of a recording need the same; at least that of `runs`.
  ///   - others: the runs of the other renditions; one that is missing here is an absence.
  package static func whole(
    _ runs: [RunListing], targetDuration: Int = 1, others: [[RunListing]] = []
  ) -> MediaPlaylist? {
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
      guard listing.isPlayable else { continue }
      stitcher.initSectionArrived(listing.run)
      for name in listing.segments.sorted() { stitcher.segmentArrived(name, in: listing.run, at: now) }
      if let marker = listing.marker { stitcher.markerArrived(marker, in: listing.run, at: now) }
    }
    let own = Set(runs.lazy.filter(\.isPlayable).map(\.run))
    guard !own.isEmpty else { return nil }
    var shared = SharedRuns()
    for other in others where other.contains(where: { $0.isPlayable && own.contains($0.run) }) {
      for listing in other where listing.isPlayable {
        var run = SharedRuns.Run()
        run.ticks = max(shared.runs[listing.run]?.ticks ?? 0, listing.ticks)
        // No number: runs of these names count alike as long as each is there.
        run.number = 0
        run.closed = now
        shared.runs[listing.run] = run
      }
    }
    stitcher.shared = shared
    _ = stitcher.advance(at: now)
    var playlist = stitcher.playlist
    guard playlist.entries.contains(where: { !$0.isAbsence }) else { return nil }
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
