import Testing

@testable import segrec

@Suite struct `Lines of a damaged stream` {
  @Test func `pass until there are many, and what was left out is counted`() {
    let start = ContinuousClock.now
    var gate = BurstGate()
    let burst = (0..<400).map { gate.admit(at: start + .milliseconds($0 * 20)) }
    #expect(burst.prefix(5).allSatisfy { $0 == 0 })
    #expect(burst.dropFirst(5).allSatisfy { $0 == nil })
    #expect(gate.admit(at: start + .seconds(11)) == 395)
    #expect(gate.admit(at: start + .seconds(12)) == 0)
    let calm = (2..<100).map { gate.admit(at: start + .seconds($0 * 11)) }
    #expect(calm.allSatisfy { $0 == 0 })
  }
}
