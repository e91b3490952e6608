import Foundation
import Platform
import Synchronization
import TestKit
import Testing

/// An element that can only be moved, and counts how many of its kind live.
private struct Token: ~Copyable, Sendable {
  let number: Int
  let living: Counter

  init(_ number: Int, _ living: Counter) {
    self.number = number
    self.living = living
    living.value.add(1, ordering: .relaxed)
  }

  deinit { living.value.subtract(1, ordering: .relaxed) }
}

final class Counter: Sendable {
  let value = Atomic(0)
  var now: Int { value.load(ordering: .sequentiallyConsistent) }
}

@Suite struct `Handoff queue` {
  @Test func `elements come out in order, all of them, with any number of threads putting`() throws {
    let queue = HandoffQueue<Int>(capacity: 3)
    let writers = try (0..<3).map { writer in
      try Platform.Thread("writer") { for index in 0..<1_000 { _ = queue.put(writer * 1_000 + index) } }
    }
    var last = [-1, 999, 1_999]
    for _ in 0..<3_000 {
      let element = try #require(queue.take())
      #expect(element == last[element / 1_000] + 1)
      last[element / 1_000] = element
      #expect(queue.count <= 3)
    }
    for writer in writers { writer.join() }
    #expect(queue.count == 0)
  }

  @Test func `what is put patiently comes out in batches, in order, all of it`() throws {
    let queue = HandoffQueue<Int>(capacity: 8)
    let writer = try Platform.Thread("writer") {
      for index in 0..<1_001 { _ = queue.put(index, isPatient: true) }
      queue.close()
    }
    var batch = queue.emptyBatch()
    var next = 0
    var batches = 0
    while queue.take(into: &batch, timeout: .seconds(60)) == .elements {
      batches += 1
      while let element = batch.next() {
        #expect(element == next)
        next += 1
      }
    }
    writer.join()
    #expect(next == 1_001)
    // A quarter of the queue each time, but for the last.
    #expect(batches <= 501)
    #expect(queue.take(into: &batch, timeout: .zero) == .closed)
    #expect(HandoffQueue<Int>(capacity: 1).take(into: &batch, timeout: .zero) == .timedOut)
  }

  @Test func `a full queue lets go of its oldest when asked to, and says so`() {
    let living = Counter()
    let queue = HandoffQueue<Token>(capacity: 2)
    #expect(queue.putDroppingOldest(Token(0, living)) == 0)
    #expect(queue.putDroppingOldest(Token(1, living)) == 0)
    #expect(queue.putDroppingOldest(Token(2, living)) == 1)
    #expect(living.now == 2)
    #expect(number(queue.take()) == 1)
    #expect(number(queue.take()) == 2)
    #expect(living.now == 0)
  }

  @Test func `a closed queue gives what it has, then ends, and takes nothing more`() {
    let living = Counter()
    let queue = HandoffQueue<Token>(capacity: 2)
    _ = queue.put(Token(0, living))
    queue.close()
    let isTaken = queue.put(Token(1, living))
    #expect(!isTaken)
    #expect(queue.putDroppingOldest(Token(2, living)) == nil)
    #expect(living.now == 1)
    #expect(number(queue.take()) == 0)
    #expect(number(queue.take()) == nil)
  }

  @Test func `discarding lets go of all at once, and so does the end of the queue`() {
    let living = Counter()
    var queue: HandoffQueue<Token>? = HandoffQueue(capacity: 4)
    for index in 0..<3 { _ = queue?.put(Token(index, living)) }
    queue?.discard()
    #expect(living.now == 0)
    queue = HandoffQueue(capacity: 2)
    _ = queue?.put(Token(0, living))
    _ = number(queue?.take())
    for index in 0..<2 { _ = queue?.put(Token(index, living)) }
    #expect(living.now == 2)
    queue = nil
    #expect(living.now == 0)
  }

  @Test func `waiting ends in time, with an element, or with the queue`() throws {
    let queue = HandoffQueue<Int>(capacity: 1)
    let began = ContinuousClock.now
    #expect(taken(queue.take(timeout: .milliseconds(20))) == "timed out")
    #expect(began.duration(to: .now) >= .milliseconds(20))
    let waiting = Counter()
    let reader = try Platform.Thread("reader") {
      if queue.take() == 7 { waiting.value.add(1, ordering: .relaxed) }
      if queue.take() == nil { waiting.value.add(1, ordering: .relaxed) }
    }
    _ = queue.put(7)
    queue.close()
    reader.join()
    #expect(waiting.now == 2)
    #expect(taken(queue.take(timeout: .seconds(60))) == "closed")
    // A writer that waits for room is released as well.
    let full = HandoffQueue<Int>(capacity: 1)
    _ = full.put(1)
    let writer = try Platform.Thread("writer") { if !full.put(2) { waiting.value.add(1, ordering: .relaxed) } }
    full.close()
    writer.join()
    #expect(waiting.now == 3)
  }

  private func number(_ token: consuming Token?) -> Int? {
    switch token {
    case .some(let token): token.number
    case .none: nil
    }
  }

  private func taken(_ taken: consuming HandoffQueue<Int>.Taken) -> String {
    switch taken {
    case .element: "element"
    case .timedOut: "timed out"
    case .closed: "closed"
    }
  }
}

@Suite struct `Thread of the system` {
  @Test func `it has its name and ends before join returns`() throws {
    let name = Mutex("")
    let shared = Box(name: name)
    let thread = try Platform.Thread("a-long-thread-name") {
      let comm = (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) ?? ""
      shared.name.withLock { $0 = comm }
    }
    thread.join()
    thread.join()
    #expect(shared.name.withLock { $0 } == "a-long-thread-n\n")
  }

  @Test func `a wake-up before the wait counts, once`() throws {
    let wakeup = try Wakeup()
    for _ in 0..<100_000 { wakeup.signal() }
    #expect(try wakeup.wait(timeout: .seconds(60)))
    #expect(try !wakeup.wait(timeout: .zero))
    let thread = try Platform.Thread("waker") { wakeup.signal() }
    #expect(try wakeup.wait(timeout: .seconds(60)))
    thread.join()
  }

  @Test func `a request to stop is made once`() {
    let flag = StopFlag()
    #expect(!flag.isRequested)
    #expect(flag.request())
    #expect(!flag.request())
    #expect(flag.isRequested)
  }

  @Test func `signals become calls, on a thread of their own`() throws {
    let signals = HandoffQueue<SignalWatcher.Signal>(capacity: 8)
    let right = Counter()
    // On its own thread: what is blocked there must not be blocked for the tests' other threads.
    let thread = try Platform.Thread("main") {
      guard let watcher = try? SignalWatcher({ _ = signals.put($0) }) else { return }
      for sent in SignalWatcher.Signal.allCases {
        watcher.send(sent)
        if case .element(let seen) = signals.take(timeout: .seconds(60)), seen == sent {
          right.value.add(1, ordering: .relaxed)
        }
      }
    }
    // The end of the watcher ends its thread; a signal that ends it is not passed on.
    thread.join()
    #expect(right.now == 3)
    #expect(signals.count == 0)
  }

  private final class Box: Sendable {
    let name: Mutex<String>
    init(name: consuming Mutex<String>) { self.name = name }
  }
}
