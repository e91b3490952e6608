import TestKit
import Testing

@testable import HLS

@Suite struct `Retention` {
  let now = Scene.start

  private func ago(hours: Double) -> WallClockTime {
    WallClockTime(milliseconds: now.milliseconds - Int64(hours * 3_600_000))
  }

  @Test(arguments: [(24.001, true), (24, false), (23.9, false), (-5, false), (48, true)])
  func `what is older than the age may go, what ends in the future never`(hours: Double, goes: Bool) {
    let reason = RetentionPolicy().reason(.free, end: ago(hours: hours), at: now)
    #expect(reason == (goes ? .age : nil))
  }

  @Test func `what is in use never goes`() {
    let policy = RetentionPolicy(maximumAge: .zero, maximumSize: 0, unsentAge: .zero)
    #expect(policy.reason(.inUse, end: ago(hours: 99), at: now) == nil)
  }

  @Test func `what no server has goes only by an age of its own`() {
    #expect(RetentionPolicy(maximumAge: .zero).reason(.unsent, end: ago(hours: 99), at: now) == nil)
    let policy = RetentionPolicy(maximumAge: .zero, unsentAge: .seconds(7_200))
    #expect(policy.reason(.unsent, end: ago(hours: 3), at: now) == .unsent)
    #expect(policy.reason(.unsent, end: ago(hours: 1), at: now) == nil)
  }

  @Test func `without an age nothing is too old`() {
    #expect(RetentionPolicy(maximumAge: nil).reason(.free, end: ago(hours: 999_999), at: now) == nil)
  }

  @Test(
    arguments: [(nil, 500, 0), (400, 500, 100), (500, 500, 0), (600, 500, 0), (0, 500, 500)] as [(Int64?, Int64, Int64)]
  )
  func `what is more than the size is in excess`(limit: Int64?, total: Int64, excess: Int64) {
    #expect(RetentionPolicy(maximumSize: limit).excess(over: total) == excess)
  }

  @Test func `a name from a clock that was not set does not make a file old`() {
    let unset = WallClockTime(milliseconds: 60_000)
    #expect(RetentionPolicy.end(named: unset, modified: now.milliseconds) == now)
    let real = ago(hours: 5)
    #expect(RetentionPolicy.end(named: real, modified: now.milliseconds) == real)
  }
}

@Suite struct `Oldest selection` {
  @Test(arguments: [1, 2, 7, 100, 1000])
  func `it keeps the smallest in order and says whether there were more`(limit: Int) {
    var random = SeededRandom(7)
    let all = (0..<500).map { _ in Int(random.next() % 10_000) }
    var selection = OldestSelection<Int>(limit: limit)
    for element in all { selection.offer(element) }
    #expect(selection.sorted() == Array(all.sorted().prefix(limit)))
    #expect(selection.isCut == (all.count > limit))
  }
}
