import Testing

@testable import Recording

/// What becomes of dates and media time when clocks are wrong, or are set.
@Suite struct Clocks {
  @Test(arguments: [
    (Int64(2_001), true), (-2_001, true), (86_400_000, true), (1_999, false), (-800, false), (0, false),
  ])
  func `a wall clock that was set far begins a run, once`(milliseconds: Int64, expected: Bool) {
    var watch = ClockWatch()
    let epoch: Int64 = 1_796_000_000_000
    var steps: [Bool] = []
    for second in 0..<Int64(10) {
      let set = second < 5 ? 0 : milliseconds
      steps.append(watch.hasStepped(wall: epoch + second * 1000 + set, monotonic: .seconds(second)))
    }
    #expect(steps == (0..<10).map { $0 == 5 && expected })
  }

  @Test(arguments: [(Int64(5_000), Int64(40)), (1_000, 8)], [Int64(800), -800, 1_990])
  func `dates come to a clock that was set by small steps, and stay there`(
    segment: (length: Int64, step: Int64), set: Int64
  ) {
    var slew = ClockSlew(tolerance: 50)
    var given: [Int64] = [0]
    for number in 0..<400 {
      // Packets come 0 to 30 ms late.
      for packet in 0..<25 { slew.note(ahead: (number < 20 ? 0 : set) + Int64(packet * 7 % 31)) }
      given.append(slew.step(after: segment.length))
    }
    #expect(given.prefix(21).allSatisfy { $0 == 0 })
    #expect(zip(given, given.dropFirst()).allSatisfy { abs($1 - $0) <= segment.step })
    #expect(abs((given.last ?? 0) - set) <= 50)
    #expect(given.suffix(10).allSatisfy { $0 == given.last })
  }

  @Test func `dates stay with the wall clock for two hours of a camera whose clock is 0,3 percent wrong`() {
    var slew = ClockSlew(tolerance: 50)
    var worst: Int64 = 0
    for second in stride(from: Int64(0), to: 7_200, by: 5) {
      // What the camera calls 5 s takes 5.015.
      slew.note(ahead: second * 3)
      worst = max(worst, abs(second * 3 - slew.step(after: 5_000)))
    }
    #expect(worst <= 80)
  }

  @Test func `what is far away is reached in one step where that was asked for`() {
    var slew = ClockSlew(tolerance: 15)
    slew.note(ahead: -881)
    #expect(slew.step(after: 5_000, orAtOnceBeyond: 200) == -881)
    slew.note(ahead: -900)
    #expect(slew.step(after: 5_000, orAtOnceBeyond: 200) == -900 && slew.latest == -900)
    slew.note(ahead: -1_000)
    #expect(slew.step(after: 5_000, orAtOnceBeyond: 200) == -940)
  }

  @Test func `where no packet came the date stays as it was`() {
    var slew = ClockSlew(tolerance: 50)
    slew.note(ahead: 500)
    #expect(slew.step(after: 5_000) == 40 && slew.step(after: 5_000) == 40)
  }
}
