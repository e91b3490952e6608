import HLS
import Storage
import Synchronization

/// Time lines of the runs that somebody looks at: listed once, then kept up by what arrives here. What others put into a
/// run shows when the listing is older than `lifetime`; then only names are listed, and only what is new is looked at.
final class TimelineShelf: Sendable {
  struct Run: Sendable {
    fileprivate(set) var timeline = Timeline()
    /// The one with the highest count.
    fileprivate(set) var marker: MarkerName?
    /// Milliseconds since the epoch; 0 before anything came.
    fileprivate(set) var lastArrival: Int64 = 0
    /// Names of segments that are in the time line or lost to another of their number.
    fileprivate var names = 0
    fileprivate var listed = ContinuousClock.now
    /// Something came that the time line cannot take.
    fileprivate var isStale = false
    fileprivate var arrivals = 0

    fileprivate mutating func take(_ segment: Timeline.Segment) {
      lastArrival = max(lastArrival, segment.arrival)
      timeline.add(segment)
      names += 1
    }

    /// Anything but a segment.
    fileprivate mutating func take(_ entry: RunEntry, arrival: Int64) {
      lastArrival = max(lastArrival, arrival)
      if case .marker(let name) = entry, name.count >= (marker?.count ?? 0) { marker = name }
    }
  }

  private let tree: Tree
  private let runs = Mutex<[RunKey: Run]>([:])
  private let lifetime: Duration
  /// Runs that are kept. One that was looked at while its upload was bad may have a span for every segment: 0.7 MB a day.
  private static let capacity = 64

  init(_ tree: Tree, lifetime: Duration = .seconds(30)) {
    self.tree = tree
    self.lifetime = lifetime
  }

  /// Takes note of a new file, at the time it came in milliseconds since the epoch.
  func arrived(_ entry: EntryPath, at milliseconds: Int64) {
    runs.withLock { runs in
      guard let next = runs[entry.key]?.timeline.next else { return }
      runs[entry.key]?.arrivals += 1
      guard case .segment(let name) = entry.entry else {
        runs[entry.key]?.take(entry.entry, arrival: milliseconds)
        return
      }
      if name.sequence == next {
        runs[entry.key]?.take(Timeline.Segment(name: name, arrival: milliseconds))
      } else {
        runs[entry.key]?.isStale = true
      }
    }
  }

  func run(_ key: RunKey) throws(StorageError) -> Run {
    let known = runs.withLock { runs in
      if runs[key] == nil {
        if runs.count >= TimelineShelf.capacity { runs.removeAll() }
        runs[key] = Run()
        runs[key]?.isStale = true
      }
      return runs[key] ?? Run()
    }
    if !known.isStale, known.listed + lifetime > .now { return known }
    let listed = try list(key, known)
    runs.withLock { runs in
      guard let now = runs[key] else { return }
      runs[key] = listed
      // Whatever came meanwhile may be in the listing or not.
      runs[key]?.arrivals = now.arrivals
      runs[key]?.isStale = now.arrivals != known.arrivals
    }
    return listed
  }

  /// Brings `known` up to date, or begins anew where it lacks one that is there.
  private func list(_ key: RunKey, _ known: Run) throws(StorageError) -> Run {
    var fresh: [RunEntry] = []
    var names = 0
    try tree.entries(of: key) { entry in
      if case .segment(let name) = entry, name.sequence < known.timeline.next {
        names += 1
      } else {
        fresh.append(entry)
      }
      return true
    }
    var run = known
    var segments: [Timeline.Segment] = []
    func found(_ entry: RunEntry, _ facts: EntryFacts) {
      if case .segment(let name) = entry {
        segments.append(Timeline.Segment(name: name, arrival: facts.modified))
      } else {
        run.take(entry, arrival: facts.modified)
      }
    }
    if known.names > 0, names == known.names {
      for entry in fresh {
        if let facts = try tree.facts(of: EntryPath(key: key, entry: entry)) { found(entry, facts) }
      }
    } else {
      run = Run()
      try tree.files(of: key) { entry, facts in
        found(entry, facts)
        return true
      }
    }
    for segment in segments.sorted(by: { $0.name < $1.name }) { run.take(segment) }
    run.listed = .now
    run.isStale = false
    return run
  }
}
