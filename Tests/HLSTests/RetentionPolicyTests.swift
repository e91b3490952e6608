import Testing

@testable import HLS

@Suite struct `Retention` {
  let now = Scene.start
  private func item(
    hours: Int64, bytes: Int64 = 100, _ standing: RetentionPolicy.Item.Standing = .free
  ) -> RetentionPolicy.Item {
    .init(end: WallClockTime(milliseconds: now.milliseconds - hours * 3_600_000), bytes: bytes, standing: standing)
  }

  @Test func `what is older than the age goes, oldest first`() {
    let items = [item(hours: 25), item(hours: 23), item(hours: 48), item(hours: 24)]
    #expect(RetentionPolicy().expired(items, at: now) == [2, 0])
  }

  @Test func `unsent files go only when told so, files in use never`() {
    let items = [item(hours: 99, .unsent), item(hours: 99, .inUse), item(hours: 30)]
    #expect(RetentionPolicy().expired(items, at: now) == [2])
    #expect(RetentionPolicy(expiresUnsent: true).expired(items, at: now) == [0, 2])
  }

  @Test func `size takes the oldest until the rest fits, and counts what has to stay`() {
    let items = [item(hours: 5), item(hours: 4, .unsent), item(hours: 3), item(hours: 2)]
    let policy = RetentionPolicy(maximumAge: nil, maximumSize: 250)
    #expect(policy.expired(items, at: now) == [0, 2])
    #expect(RetentionPolicy(maximumAge: nil, maximumSize: 400).expired(items, at: now) == [])
    #expect(RetentionPolicy(maximumAge: nil, maximumSize: 0).expired(items, at: now) == [0, 2, 3])
  }

  @Test func `a clock that was set back expires nothing`() {
    #expect(RetentionPolicy(maximumAge: .zero).expired([item(hours: -5)], at: now) == [])
  }
}
