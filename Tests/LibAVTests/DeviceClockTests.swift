import Testing

@testable import LibAV

@Suite struct `Clock of a device` {
  @Test(arguments: [Int64(800_000), -800_000, 86_400_000_000, -3_600_000_000])
  func `what the wall clock is set by is taken out of stamps, of those after it only`(set: Int64) {
    var clock = DeviceClock()
    let epoch: Int64 = 1_796_000_000_000_000
    for n in 0..<Int64(100) {
      // Read 20 ms after it was stamped; the clock is set just before the 51st is read.
      let now = n * 40_000
      let stamp = epoch + now - 20_000 + (n > 50 ? set : 0)
      let error = clock.error(of: stamp, wall: epoch + now + (n >= 50 ? set : 0), monotonic: now)
      #expect(stamp - error == epoch + now - 20_000)
    }
    #expect(clock.shift == set)
  }

  @Test func `stamps of another clock stay, and so do those of a clock that is disciplined`() {
    var clock = DeviceClock()
    for n in 0..<Int64(1000) {
      let now = n * 40_000
      #expect(clock.error(of: now, wall: 1_796_000_000_000_000 + now + n * 40, monotonic: now) == 0)
    }
    #expect(clock.shift == 0)
  }
}
