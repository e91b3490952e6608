/// A bounded queue between threads. Elements are moved in and out, never copied, in order.
package final class HandoffQueue<Element: ~Copyable & Sendable>: Sendable {
  private let state: Monitor<State>
  /// Elements it holds at most.
  package let capacity: Int

  package enum Taken: ~Copyable {
    case element(Element)
    /// Nothing came in time.
    case timedOut
    /// The queue is closed and empty.
    case closed
  }

  private struct State: ~Copyable {
    var ring: Ring<Element>
    var isClosed = false
  }

  /// Elements taken together.
  package struct Batch: ~Copyable {
    fileprivate var ring: Ring<Element>

    /// The next of them, in order.
    package mutating func next() -> Element? { ring.removeFirst() }
  }

  package enum Arrival: Equatable, Sendable { case elements, timedOut, closed }

  /// - Parameter capacity: elements it holds at most, at least 1.
  package init(capacity: Int) {
    self.capacity = max(1, capacity)
    state = Monitor(State(ring: Ring(capacity: self.capacity)))
  }

  package var count: Int { state.withLock { $0.ring.count } }
  package var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Puts an element at the end, waiting while the queue is full. False when the queue is closed; the element is gone
  /// then.
  ///
  /// - Parameter isPatient: whoever waits for elements sleeps on until a quarter of the queue is full or its time is up.
  ///   Waking it for every element can cost more than what it does with it.
  /// - Parameter limit: elements with which it counts as full, where those are fewer than it can hold.
  package func put(_ element: consuming Element, isPatient: Bool = false, limit: Int = .max) -> Bool {
    var offered: Element? = consume element
    let capacity = min(limit, self.capacity)
    return state.wait { state -> Bool? in
      if state.isClosed { return false }
      guard state.ring.count < capacity, let element = offered.take() else { return nil }
      state.ring.append(element)
      return true
    } isNews: {
      !isPatient || $0.ring.count * 4 >= capacity
    } ?? false
  }

  /// Puts an element at the end at once; when the queue is full its oldest element goes. Returns what went: 0 or 1
  /// elements, or nil when the queue is closed and the new element is gone.
  package func putDroppingOldest(_ element: consuming Element) -> Int? {
    var offered: Element? = consume element
    return state.withLock { state -> Int? in
      guard !state.isClosed, let element = offered.take() else { return nil }
      var dropped = 0
      if state.ring.isFull {
        _ = state.ring.removeFirst()
        dropped = 1
      }
      state.ring.append(element)
      return dropped
    }
  }

  /// Takes the first element, waiting up to `timeout` for one.
  package func take(timeout: Duration) -> Taken {
    state.wait(timeout: timeout) { state -> Taken? in HandoffQueue.next(&state) } ?? .timedOut
  }

  package func emptyBatch() -> Batch { Batch(ring: Ring(capacity: capacity)) }

  /// Takes all there is, waiting up to `timeout` for something. `batch` must be an empty one of this queue.
  package func take(into batch: inout Batch, timeout: Duration) -> Arrival {
    state.wait(timeout: timeout) { state -> Arrival? in
      guard state.ring.count > 0 else { return state.isClosed ? .closed : nil }
      swap(&state.ring, &batch.ring)
      return .elements
    } ?? .timedOut
  }

  /// Takes the first element, waiting for one; nil when the queue is closed and empty.
  package func take() -> Element? {
    switch state.wait(until: { state -> Taken? in HandoffQueue.next(&state) }) ?? .closed {
    case .element(let element): element
    case .timedOut: nil
    case .closed: nil
    }
  }

  /// Takes the first element if there is one.
  package func takeAtOnce() -> Element? { state.withLock { state in state.ring.removeFirst() } }

  /// Waits until everything has been taken, or the queue is closed.
  package func waitUntilEmpty() { _ = state.wait { $0.ring.count == 0 || $0.isClosed ? true : nil } }

  /// Nothing is put any more; what is in the queue can still be taken.
  package func close() { state.withLock { $0.isClosed = true } }

  /// Closes the queue and lets go of what is in it.
  package func discard() {
    state.withLock { state in
      state.isClosed = true
      while let element = state.ring.removeFirst() { _ = consume element }
    }
  }

  private static func next(_ state: inout State) -> Taken? {
    if let element = state.ring.removeFirst() { return .element(element) }
    return state.isClosed ? .closed : nil
  }
}

/// A ring of slots that owns what is in them.
@safe private struct Ring<Element: ~Copyable>: ~Copyable {
  private let slots: UnsafeMutablePointer<Element>
  private let capacity: Int
  private var first = 0
  private(set) var count = 0

  init(capacity: Int) {
    unsafe slots = .allocate(capacity: capacity)
    self.capacity = capacity
  }

  deinit {
    for offset in 0..<count { unsafe (slots + (first + offset) % capacity).deinitialize(count: 1) }
    unsafe slots.deallocate()
  }

  var isFull: Bool { count == capacity }

  /// There must be room.
  mutating func append(_ element: consuming Element) {
    precondition(!isFull)
    unsafe (slots + (first + count) % capacity).initialize(to: element)
    count += 1
  }

  mutating func removeFirst() -> Element? {
    guard count > 0 else { return nil }
    let slot = unsafe slots + first
    first = (first + 1) % capacity
    count -= 1
    return unsafe slot.move()
  }
}
