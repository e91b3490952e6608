import Testing

@testable import Delivery

@Suite struct `Weak network ladder` {
  let start = ContinuousClock.now

  /// A recorder and a link, second by second: what is produced and does not fit waits.
  private func simulate(_ link: [(seconds: Int, bitsPerSecond: Double)]) -> [(second: Int, level: Ladder.Level)] {
    var ladder = Ladder(fullRate: 2_628_000, fallbackRate: 1_128_000)
    var goodput = Goodput()
    var moves: [(Int, Ladder.Level)] = []
    var waiting = 0.0
    var waitingSeconds = 0.0
    var taken = 0.0
    var second = 0
    for part in link {
      for _ in 0..<part.seconds {
        let produced = ladder.level.usesFallback ? 1_128_000.0 : 2_628_000.0
        waiting += produced
        waitingSeconds += 1
        let sent = min(waiting, part.bitsPerSecond)
        waitingSeconds *= waiting > 0 ? 1 - sent / waiting : 0
        waiting -= sent
        taken += sent / 8
        let busy = part.bitsPerSecond == 0 || waiting > 0
        let now = start + .seconds(second)
        // Idle parts of a second do not count, so busy time is what sending took.
        if busy {
          goodput.observe(taken: Int64(taken), isBusy: true, now: now)
        } else {
          goodput.observe(taken: Int64(taken) - Int64(sent / 8), isBusy: false, now: now - .milliseconds(1))
          let share = Int(1000 * sent / max(1, part.bitsPerSecond))
          goodput.observe(taken: Int64(taken) - Int64(sent / 8), isBusy: false, now: now - .milliseconds(share))
          goodput.observe(taken: Int64(taken), isBusy: true, now: now)
        }
        let measurement = Ladder.Measurement(
          goodput: goodput.bitsPerSecond, backlog: waitingSeconds, isUnreachable: part.bitsPerSecond == 0)
        if let level = ladder.observe(measurement, now: now) { moves.append((second, level)) }
        second += 1
      }
    }
    return moves.map { (second: $0.0, level: $0.1) }
  }

  @Test func `goes down and up again one step at a time`() {
    let moves = simulate([(60, 10_000_000), (120, 800_000), (60, 0), (600, 10_000_000)])
    #expect(moves.map(\.level) == [.reduced, .spoolOnly, .catchUp, .full], "\(moves)")
    // Down before a quarter of the weak time has passed; back at sending at once.
    #expect(moves[0].second < 90)
    #expect((180..<200).contains(moves[1].second))
    #expect((240..<250).contains(moves[2].second))
  }

  @Test func `a good link leaves it alone`() {
    #expect(simulate([(600, 10_000_000)]).isEmpty)
  }

  @Test func `one bad second does not move it`() {
    #expect(simulate([(60, 10_000_000), (2, 0), (60, 10_000_000), (2, 0), (60, 10_000_000)]).isEmpty)
  }

  @Test func `a link between the rates does not make it swing`() {
    let moves = simulate([(1800, 2_000_000)])
    #expect(moves.map(\.level) == [.reduced], "\(moves)")
  }
}

@Suite struct `Goodput meter` {
  let start = ContinuousClock.now

  @Test func `counts busy time only`() throws {
    var meter = Goodput()
    meter.observe(taken: 0, isBusy: false, now: start)
    meter.observe(taken: 1_000_000, isBusy: true, now: start + .seconds(2))
    meter.observe(taken: 1_000_000, isBusy: false, now: start + .seconds(100))
    #expect(try #require(meter.bitsPerSecond) == 4_000_000)
  }

  @Test func `forgets what is older than its window`() throws {
    var meter = Goodput(window: .seconds(10))
    meter.observe(taken: 0, isBusy: false, now: start)
    for second in 1...20 { meter.observe(taken: Int64(second) * 1000, isBusy: true, now: start + .seconds(second)) }
    for second in 21...40 { meter.observe(taken: 20_000, isBusy: true, now: start + .seconds(second)) }
    #expect(try #require(meter.bitsPerSecond) == 0)
  }

  @Test func `says nothing before it knows`() {
    var meter = Goodput(window: .seconds(10))
    meter.observe(taken: 0, isBusy: false, now: start)
    meter.observe(taken: 500_000, isBusy: true, now: start + .milliseconds(500))
    #expect(meter.bitsPerSecond == nil)
  }
}
