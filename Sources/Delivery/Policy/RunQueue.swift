package import HLS

/// What one look at a run's directory says about sending it. The window is bounded: a run may hold 100,000 segments.
package struct SpoolListing: Equatable, Sendable {
  package var hasInitSection = false
  /// The server has refused the init section for good.
  package var isInitSectionRefused = false
  /// The segments to send first, by number; the rest is only counted.
  package var window: [SegmentName] = []
  /// Segments waiting in all, and their duration.
  package var waiting = 0
  package var waitingTicks: Int64 = 0
  package var marker: MarkerName?
  /// The marker has been acknowledged.
  package var isMarkerSent = false
  package var hasSent = false
  /// Segments that the server refused for good.
  package var refused = 0

  package init() {}
}

/// Which segments of one run may be sent, in what order. Pure.
struct RunQueue: Sendable {
  typealias Instant = ContinuousClock.Instant

  /// One file and what became of it so far.
  struct Item: Sendable {
    enum State: Equatable, Sendable { case waiting, inFlight, done, refused }
    let entry: RunEntry
    var state = State.waiting
    var attempts = 0
    /// Not before this; nil for at once.
    var notBefore: Instant?

    func isReady(_ now: Instant) -> Bool { state == .waiting && (notBefore.map { $0 <= now } ?? true) }
  }

  let key: RunKey
  private(set) var initSection: Item?
  /// By number. What is done leaves it.
  private(set) var segments: [Item] = []
  /// Waiting segments that are not in `segments`.
  private(set) var beyond = 0
  private(set) var beyondTicks: Int64 = 0
  private(set) var marker: Item?
  private(set) var refused = 0
  private var hasSent = false

  init(_ key: RunKey) {
    self.key = key
  }

  /// Takes a new listing, keeping what is known about the files that are still there.
  mutating func update(_ listing: SpoolListing) {
    hasSent = hasSent || listing.hasSent
    refused = max(refused, listing.refused)
    if listing.hasInitSection, initSection == nil {
      initSection = Item(entry: .initSection, state: listing.isInitSectionRefused ? .refused : .waiting)
    }
    if let name = listing.marker, marker == nil {
      marker = Item(entry: .marker(name), state: listing.isMarkerSent ? .done : .waiting)
    }
    var known: [SegmentName: Item] = [:]
    for item in segments {
      if case .segment(let name) = item.entry { known[name] = item }
    }
    var merged = listing.window.map { known.removeValue(forKey: $0) ?? Item(entry: .segment($0)) }
    // What is on its way stays until its outcome is known, wherever the window is now.
    let flying = known.values.filter { $0.state == .inFlight }
    merged += flying
    merged.sort { RunQueue.sequence($0) < RunQueue.sequence($1) }
    segments = merged
    let ticksInWindow = merged.reduce(0) { $0 + RunQueue.ticks($1) }
    beyond = max(0, listing.waiting - merged.count)
    beyondTicks = max(0, listing.waitingTicks - ticksInWindow)
  }

  /// A new file, told by the recorder. False when the next listing must tell about it.
  mutating func arrived(_ entry: RunEntry, newestFirst: Bool) -> Bool {
    switch entry {
    case .initSection:
      if initSection == nil { initSection = Item(entry: entry) }
    case .marker:
      if marker == nil { marker = Item(entry: entry) }
    case .segment(let name):
      // Where the window does not reach the newest, a newer one would leave a hole in it.
      guard beyond == 0 || newestFirst else {
        beyond += 1
        beyondTicks += name.ticks
        return true
      }
      guard !segments.contains(where: { $0.entry == entry }) else { return true }
      if let last = segments.last, RunQueue.sequence(last) > name.sequence { return false }
      segments.append(Item(entry: entry))
    case .piece: return false
    }
    return true
  }

  mutating func change(_ entry: RunEntry, _ body: (inout Item) -> Void) {
    switch entry {
    case .initSection:
      if var item = initSection {
        body(&item)
        initSection = item
      }
    case .marker:
      if var item = marker {
        body(&item)
        marker = item
      }
    case .segment, .piece:
      guard let index = segments.firstIndex(where: { $0.entry == entry }) else { return }
      body(&segments[index])
      switch segments[index].state {
      case .done:
        hasSent = true
        segments.remove(at: index)
      case .refused:
        refused += 1
        segments.remove(at: index)
      case .waiting, .inFlight: break
      }
    }
  }

  /// The file is not where it was: sent or removed by somebody else.
  mutating func forget(_ entry: RunEntry) {
    if case .segment = entry { segments.removeAll { $0.entry == entry } }
    if entry == .initSection { initSection = nil }
  }

  mutating func forEachWaiting(_ body: (inout Item) -> Void) {
    if var item = initSection, item.state == .waiting {
      body(&item)
      initSection = item
    }
    for index in segments.indices where segments[index].state == .waiting { body(&segments[index]) }
    if var item = marker, item.state == .waiting {
      body(&item)
      marker = item
    }
  }

  // MARK: What may go

  /// Segments that are not acknowledged; refused ones do not count.
  var waiting: Int { segments.count + beyond }
  var waitingTicks: Int64 { segments.reduce(beyondTicks) { $0 + RunQueue.ticks($1) } }

  /// The init section goes before everything else, unless it is known to be there: a segment was acknowledged, and none
  /// is left to send.
  private var needsInitSection: Bool {
    guard let initSection, initSection.state != .done else { return false }
    return waiting > 0 || !hasSent
  }

  /// The server refuses the init section for good: without it none of the run's segments is of use there.
  var isRefusedWhole: Bool { initSection?.state == .refused && needsInitSection }

  private var maySendSegments: Bool {
    // Nothing else can be done for a closed run that has lost its init section.
    guard let initSection else { return marker != nil }
    return initSection.state == .done
  }

  /// All segments before the marker have been acknowledged; a refused one keeps it back.
  var isComplete: Bool { waiting == 0 && refused == 0 && !needsInitSection }
  var isMarkerDone: Bool { marker?.state == .done }
  /// Nothing to do until the directory changes.
  var isIdle: Bool {
    if isRefusedWhole { return !segments.contains { $0.state == .inFlight } }
    return waiting == 0 && !needsInitSection && (marker == nil || marker?.state != .waiting || refused > 0)
      && marker?.state != .inFlight
  }

  var hasOnlyMarkerLeft: Bool { isComplete && marker?.state == .waiting }
  /// The run ends the recording.
  var isEnding: Bool {
    if case .marker(let name) = marker?.entry { name.kind == .end } else { false }
  }

  /// The file of this run that should go next.
  func next(now: Instant, newestFirst: Bool, mayEnd: Bool) -> Item? {
    if needsInitSection, let initSection, initSection.isReady(now) { return initSection }
    if maySendSegments {
      let ready = newestFirst ? segments.last { $0.isReady(now) } : segments.first { $0.isReady(now) }
      if let ready { return ready }
    }
    guard isComplete, let marker, marker.isReady(now), mayEnd || !isEnding else { return nil }
    return marker
  }

  /// When the earliest of those that wait may go; nil when none waits for time.
  func earliest(after now: Instant) -> Instant? {
    var items = segments
    if let initSection { items.append(initSection) }
    if let marker { items.append(marker) }
    return items.compactMap { item in item.state == .waiting ? item.notBefore : nil }.filter { $0 > now }.min()
  }

  /// The window has room, and there is more on the disk.
  func needsListing(windowSize: Int) -> Bool { beyond > 0 && segments.count <= windowSize / 4 }

  private static func sequence(_ item: Item) -> Int {
    if case .segment(let name) = item.entry { name.sequence } else { 0 }
  }

  private static func ticks(_ item: Item) -> Int64 {
    if case .segment(let name) = item.entry { name.ticks } else { 0 }
  }
}
