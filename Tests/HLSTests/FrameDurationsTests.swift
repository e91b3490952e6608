import Testing

@testable import HLS

@Suite struct `Frame durations` {
  @Test(
    arguments: [(3_600, 90_000, 25.0), (3_003, 90_000, 29.97003), (1_001, 60_000, 59.94006), (512, 12_800, 25)]
      as [(UInt32, UInt32, Double)])
  func `a constant rate is exact`(duration: UInt32, timescale: UInt32, rate: Double) throws {
    var frames = FrameDurations()
    for _ in 0..<100 { frames.add(duration, timescale: timescale) }
    #expect(abs(try #require(frames.rate) - rate) < 0.0001)
  }

  @Test func `timestamps rounded to milliseconds still are a constant rate`() throws {
    var frames = FrameDurations()
    for index in 0..<300 { frames.add(index % 3 == 0 ? 34 : 33, timescale: 1_000) }
    #expect(abs(try #require(frames.rate) - 30) < 0.001)
  }

  @Test(arguments: [(60_000, 1_001), (30_000, 1_001), (24_000, 1_001), (25, 1), (7, 1)] as [(UInt32, UInt32)])
  func `a rate whose frames are no whole units long is told to three decimals`(number: UInt32, of: UInt32) throws {
    for timescale: UInt32 in [90_000, 1_000] {
      for frames in [60, 61, 67] {
        var durations = FrameDurations()
        func place(_ frame: Int) -> Int { (frame * Int(of) * Int(timescale) * 2 / Int(number) + 1) / 2 }
        for frame in 0..<frames { durations.add(UInt32(place(frame + 1) - place(frame)), timescale: timescale) }
        let rate = Double(number) / Double(of)
        #expect(abs(try #require(durations.rate) - rate) < 0.0001, "\(frames) in units of 1/\(timescale) s")
      }
    }
  }

  @Test func `a rate that is none of the usual ones stays as it is measured`() throws {
    var frames = FrameDurations()
    frames.add(6_171, timescale: 90_000, count: 100)
    #expect(abs(try #require(frames.rate) - 14.5843) < 0.0001)
  }

  @Test func `a few quick frames do not make a rate`() throws {
    var frames = FrameDurations()
    frames.add(3_600, timescale: 90_000, count: 980)
    frames.add(90, timescale: 90_000, count: 20)
    #expect(abs(try #require(frames.rate) - 25) < 0.25)
  }

  @Test func `one short frame of a few does not make a rate`() throws {
    var frames = FrameDurations()
    frames.add(9_000, timescale: 90_000, count: 18)
    frames.add(3_003, timescale: 90_000)
    #expect(abs(try #require(frames.rate) - 10) < 0.1)
  }

  @Test func `parts add up to the whole`() throws {
    var (whole, first, second) = (FrameDurations(), FrameDurations(), FrameDurations())
    for index in 0..<100 {
      let duration = UInt32(3_000 + index * 10)
      whole.add(duration, timescale: 90_000)
      if index < 50 { first.add(duration, timescale: 90_000) } else { second.add(duration, timescale: 90_000) }
    }
    first.add(second)
    #expect(abs(try #require(first.rate) - (try #require(whole.rate))) < 1e-9)
    #expect(first.count == 100)
  }

  @Test func `no frames have no rate`() {
    var frames = FrameDurations()
    frames.add(0, timescale: 90_000)
    #expect(frames.rate == nil)
  }
}
