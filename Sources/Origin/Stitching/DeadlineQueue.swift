/// When each of many keys wants to be looked at. A key may stand in it several times; the owner knows its true time and
/// puts it back when it was asked too early. A binary heap: both steps cost the logarithm of the number of keys.
struct DeadlineQueue<Key> {
  private var heap: [(at: ContinuousClock.Instant, key: Key)] = []

  var earliest: ContinuousClock.Instant? { heap.first?.at }
  var count: Int { heap.count }

  mutating func insert(_ key: Key, at time: ContinuousClock.Instant) {
    heap.append((time, key))
    var child = heap.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard heap[child].at < heap[parent].at else { return }
      heap.swapAt(child, parent)
      child = parent
    }
  }

  /// The key that is due at `now` longest; nil when none is.
  mutating func takeDue(at now: ContinuousClock.Instant) -> Key? {
    guard let first = heap.first, first.at <= now else { return nil }
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    var parent = 0
    while true {
      let left = 2 * parent + 1
      guard left < heap.count else { break }
      let right = left + 1
      let child = right < heap.count && heap[right].at < heap[left].at ? right : left
      guard heap[child].at < heap[parent].at else { break }
      heap.swapAt(child, parent)
      parent = child
    }
    return first.key
  }
}
