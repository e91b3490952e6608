/// What has arrived of one run and is not in the playlist yet.
struct RunProgress: Sendable {
  struct Arrival: Sendable {
    let name: SegmentName
    let at: ContinuousClock.Instant
    /// Earliest arrival of this one and all with a higher number.
    var earliestFromHere: ContinuousClock.Instant
  }

  var hasInitSection = false
  private(set) var marker: MarkerName?
  /// Number of the segment that comes next in the playlist.
  var next = 0
  /// When the first segment or marker of the run came, whether it is still here or not.
  private(set) var contentSince: ContinuousClock.Instant?
  /// Ascending by number; those before `head` are gone.
  private var waiting: [Arrival] = []
  private var head = 0

  var first: Arrival? { head < waiting.count ? waiting[head] : nil }
  var isWaitingForNothing: Bool { head == waiting.count }

  /// All that was announced has left, and the run is closed.
  var isComplete: Bool {
    guard let marker, isWaitingForNothing else { return false }
    return next >= marker.count
  }

  mutating func takeFirst() {
    guard head < waiting.count else { return }
    head += 1
    // Moving what is left at every step would make a long backlog quadratic.
    if head == waiting.count {
      waiting.removeAll(keepingCapacity: waiting.count <= 64)
      head = 0
    } else if head >= 1_024, head * 2 >= waiting.count {
      waiting.removeFirst(head)
      head = 0
    }
  }

  /// - Returns: false when one of that number is here already; the first one stays.
  mutating func insert(_ name: SegmentName, at time: ContinuousClock.Instant) -> Bool {
    note(content: time)
    var (low, high) = (head, waiting.count)
    while low < high {
      let middle = (low + high) / 2
      if waiting[middle].name.sequence < name.sequence { low = middle + 1 } else { high = middle }
    }
    if low < waiting.count, waiting[low].name.sequence == name.sequence { return false }
    let earliest = low < waiting.count ? min(time, waiting[low].earliestFromHere) : time
    waiting.insert(Arrival(name: name, at: time, earliestFromHere: earliest), at: low)
    var before = low - 1
    while before >= head, waiting[before].earliestFromHere > earliest {
      waiting[before].earliestFromHere = earliest
      before -= 1
    }
    return true
  }

  /// Of several markers the one that promises more counts, and an end rather than a continuation.
  mutating func insert(_ new: MarkerName, at time: ContinuousClock.Instant) -> Bool {
    note(content: time)
    if let marker, marker.count > new.count || (marker.count == new.count && (marker.kind == .end || new.kind == .next))
    {
      return false
    }
    marker = new
    return true
  }

  private mutating func note(content time: ContinuousClock.Instant) {
    contentSince = contentSince.map { min($0, time) } ?? time
  }
}
