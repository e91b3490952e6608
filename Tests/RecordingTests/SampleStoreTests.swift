import Platform
import Testing

@testable import Recording

@Suite struct `Sound that waits` {
  private func stereo(_ samples: [Float]) -> SampleStore.Stereo { (samples, samples.map { -$0 }) }

  @Test func `is laid where it belongs, holes and what is gone are silent`() {
    let store = SampleStore(capacity: 8, waits: false)
    store.put(stereo([1, 2, 3]), at: 100)
    store.put(stereo([9, 9, 4]), at: 101)
    store.put(stereo([6]), at: 105)
    let sound = store.take(8, at: 99, isLate: true)
    #expect(sound?.left == [0, 1, 2, 3, 4, 0, 6, 0])
    #expect(sound?.right == [0, -1, -2, -3, -4, 0, -6, 0])
    store.put(stereo([7, 8, 9, 10]), at: 106)
    #expect(store.take(4, at: 100, isLate: true)?.left == [0, 0, 3, 4], "the oldest went")
    store.put(stereo([1]), at: 1000)
    #expect(store.take(4, at: 106, isLate: true)?.left == [0, 0, 0, 0])
  }

  @Test func `is waited for as long as it may still come`() {
    let store = SampleStore(capacity: 8, waits: false)
    #expect(store.take(2, at: 0, isLate: false) == nil)
    store.put(stereo([1]), at: 0)
    #expect(store.take(2, at: 0, isLate: false) == nil)
    store.put(stereo([2]), at: 1)
    #expect(store.take(2, at: 0, isLate: false)?.left == [1, 2])
    store.close()
    #expect(store.take(2, at: 1, isLate: false)?.left == [2, 0])
  }

  @Test func `tells by how much it comes too late`() {
    let store = SampleStore(capacity: 8, waits: false)
    #expect(store.put(stereo([1, 2]), at: 0) == 0)
    #expect(store.take(2, at: 0, isLate: false) != nil)
    #expect(store.put(stereo([3]), at: 2) == 0)
    _ = store.take(4, at: 2, isLate: true)
    #expect(store.put(stereo([4, 5, 6, 7]), at: 3) == 3)
    #expect(store.put(stereo([8]), at: 7) == 0)
  }

  @Test func `from a file, comes whole whoever is faster`() throws {
    let store = SampleStore(capacity: 8, waits: true)
    let writer = try Thread("put") {
      for place in 0..<Int64(100) { store.put(([Float(place)], [0]), at: place) }
      store.close()
    }
    var samples: [Float] = []
    for place in stride(from: Int64(0), to: 104, by: 4) {
      samples += store.take(4, at: place, isLate: false)?.left ?? []
    }
    writer.join()
    #expect(samples == (0..<100).map(Float.init) + [0, 0, 0, 0])
  }
}
