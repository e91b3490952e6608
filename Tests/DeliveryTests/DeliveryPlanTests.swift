import HLS
import Testing

@testable import Delivery

private func listing(
  _ key: RunKey, _ range: Range<Int>, total: Int? = nil, marker: MarkerName? = nil, initSection: Bool = true
) -> SpoolListing {
  var listing = SpoolListing()
  listing.hasInitSection = initSection
  listing.window = range.compactMap { sequence in
    if case .segment(let name) = SpoolFixture.segment(sequence, key).entry { name } else { nil }
  }
  listing.waiting = total ?? range.count
  listing.waitingTicks = Int64(listing.waiting) * 450_000
  listing.marker = marker
  return listing
}

@Suite struct `Delivery plan` {
  let now = ContinuousClock.now
  let key = SpoolFixture.key()

  private func take(_ plan: inout DeliveryPlan, at time: ContinuousClock.Instant? = nil) throws -> DeliveryPlan.Job {
    let job = plan.next(now: time ?? now)
    return try #require(job)
  }

  private func expectNext(
    _ plan: inout DeliveryPlan, at time: ContinuousClock.Instant, _ condition: (DeliveryPlan.Job?) -> Bool,
    _ location: SourceLocation = #_sourceLocation
  ) {
    let job = plan.next(now: time)
    #expect(condition(job), "\(String(describing: job))", sourceLocation: location)
  }

  private func drain(_ plan: inout DeliveryPlan, limit: Int = 1000) -> [String] {
    var order: [String] = []
    while order.count < limit, let job = plan.next(now: now) {
      order.append("\(job.path.entry)")
      plan.acknowledged(job.path)
    }
    return order
  }

  @Test func `the init section goes first, then segments in order, then the marker`() {
    var plan = DeliveryPlan(catchUp: .oldest)
    plan.listed(key, listing(key, 0..<3, marker: MarkerName(count: 3, kind: .end)))
    let order = drain(&plan)
    #expect(order.first == "init.mp4")
    #expect(order.last == "3.end")
    #expect(order.dropFirst().dropLast().map { String($0.prefix(8)) } == ["00000000", "00000001", "00000002"])
    #expect(plan.isDrained && plan.backlog.isEmpty && plan.isFinished(key))
  }

  @Test func `nothing of a run goes before its init section is acknowledged`() {
    var plan = DeliveryPlan(catchUp: .oldest)
    plan.listed(key, listing(key, 0..<3))
    expectNext(&plan, at: now) { $0?.path.entry == .initSection }
    expectNext(&plan, at: now) { $0 == nil }
  }

  @Test func `the marker waits for the last segment on its way`() throws {
    var plan = DeliveryPlan(catchUp: .oldest)
    plan.listed(key, listing(key, 0..<2, marker: MarkerName(count: 2, kind: .next)))
    plan.acknowledged(try take(&plan).path)
    let first = try take(&plan)
    let second = try take(&plan)
    plan.acknowledged(second.path)
    expectNext(&plan, at: now) { $0 == nil }
    plan.acknowledged(first.path)
    expectNext(&plan, at: now) { $0?.path.entry == .marker(MarkerName(count: 2, kind: .next)) }
  }

  @Test func `newest sends the live edge first`() {
    var plan = DeliveryPlan(catchUp: .newest)
    plan.listed(key, listing(key, 0..<3))
    #expect(drain(&plan).map { String($0.prefix(8)) } == ["init.mp4", "00000002", "00000001", "00000000"])
  }

  @Test func `a failing segment holds up nobody`() throws {
    var plan = DeliveryPlan(catchUp: .oldest)
    plan.listed(key, listing(key, 0..<3, marker: MarkerName(count: 3, kind: .end)))
    plan.acknowledged(try take(&plan).path)
    let first = try take(&plan)
    plan.failed(first.path, notBefore: now + .seconds(10))
    #expect(drain(&plan).map { String($0.prefix(8)) } == ["00000001", "00000002"])
    #expect(plan.earliestRetry(after: now) == now + .seconds(10))
    let again = try take(&plan, at: now + .seconds(10))
    #expect(again.path == first.path)
    #expect(again.attempt == 2)
  }

  @Test func `a refused segment keeps the marker back, and the queue counts as drained`() throws {
    var plan = DeliveryPlan(catchUp: .oldest)
    plan.listed(key, listing(key, 0..<2, marker: MarkerName(count: 2, kind: .end)))
    plan.acknowledged(try take(&plan).path)
    plan.setAside(try take(&plan).path)
    #expect(drain(&plan).count == 1)
    #expect(plan.isDrained)
    #expect(plan.backlog.refused == 1)
    #expect(plan.backlog.others == 1)
  }

  @Test func `an end marker waits for all runs of the recording`() throws {
    var plan = DeliveryPlan(catchUp: .newest)
    let later = SpoolFixture.key(run: 1)
    plan.listed(key, listing(key, 0..<2, marker: MarkerName(count: 2, kind: .next)))
    plan.listed(later, listing(later, 0..<1, marker: MarkerName(count: 1, kind: .end)))
    let order = drain(&plan)
    #expect(order.last == "1.end")
    #expect(order.count == 7)
  }

  @Test func `renditions that end together do not wait for each other for ever`() {
    var plan = DeliveryPlan(catchUp: .oldest)
    let mic = SpoolFixture.key(rendition: "mic")
    plan.listed(key, listing(key, 0..<1, marker: MarkerName(count: 1, kind: .end)))
    plan.listed(mic, listing(mic, 0..<1, marker: MarkerName(count: 1, kind: .end)))
    #expect(drain(&plan).count == 6)
    #expect(plan.isDrained && plan.backlog.isEmpty)
  }

  @Test func `an end marker behind a refusal in another run does not keep the drain waiting`() throws {
    var plan = DeliveryPlan(catchUp: .oldest)
    let later = SpoolFixture.key(run: 1)
    plan.listed(key, listing(key, 0..<1, marker: MarkerName(count: 1, kind: .next)))
    plan.listed(later, listing(later, 0..<1, marker: MarkerName(count: 1, kind: .end)))
    plan.acknowledged(try take(&plan).path)
    plan.setAside(try take(&plan).path)
    #expect(drain(&plan).filter { $0.hasSuffix(".end") }.isEmpty)
    #expect(plan.isDrained)
  }

  @Test func `only a window of a long run is held, and all of it is sent`() {
    var plan = DeliveryPlan(catchUp: .oldest, windowSize: 64)
    var sent = 0
    let total = 1000
    plan.listed(key, listing(key, 0..<64, total: total))
    #expect(plan.backlog.segments == total)
    while true {
      while let job = plan.next(now: now) {
        if case .segment(let name) = job.path.entry {
          #expect(name.sequence == sent)
          sent += 1
        }
        plan.acknowledged(job.path)
        if !plan.runsToList.isEmpty { break }
      }
      guard !plan.runsToList.isEmpty else { break }
      plan.listed(key, listing(key, sent..<min(total, sent + 64), total: total - sent))
      #expect(plan.backlog.segments == total - sent)
    }
    #expect(sent == total)
    #expect(plan.backlog.segments == 0)
  }

  @Test func `hints and listings do not double anything`() throws {
    var plan = DeliveryPlan(catchUp: .oldest)
    for entry in [EntryPath(key: key, entry: .initSection), SpoolFixture.segment(0), SpoolFixture.segment(0)] {
      let isKnown = plan.arrived(entry)
      #expect(isKnown)
    }
    let first = try take(&plan)
    plan.listed(key, listing(key, 0..<1))
    expectNext(&plan, at: now) { $0 == nil }
    plan.acknowledged(first.path)
    #expect(drain(&plan).count == 1)
  }

  @Test func `a listing keeps what is on its way and what is known of failures`() throws {
    var plan = DeliveryPlan(catchUp: .oldest)
    plan.listed(key, listing(key, 0..<2))
    plan.acknowledged(try take(&plan).path)
    let flying = try take(&plan)
    let failing = try take(&plan)
    plan.failed(failing.path, notBefore: now + .seconds(5))
    plan.listed(key, listing(key, 0..<2))
    expectNext(&plan, at: now) { $0 == nil }
    expectNext(&plan, at: now + .seconds(5)) { $0?.attempt == 2 }
    plan.acknowledged(flying.path)
  }

  @Test func `an empty recording is its init section and its marker`() {
    var plan = DeliveryPlan(catchUp: .oldest)
    plan.listed(key, listing(key, 0..<0, marker: MarkerName(count: 0, kind: .end)))
    #expect(drain(&plan) == ["init.mp4", "0.end"])
    let bare = SpoolFixture.key("bare")
    plan.listed(bare, listing(bare, 0..<0, marker: MarkerName(count: 0, kind: .end), initSection: false))
    #expect(drain(&plan) == ["0.end"])
  }

  @Test func `a run that was sent needs only its marker`() {
    var plan = DeliveryPlan(catchUp: .oldest)
    var rest = listing(key, 0..<0, marker: MarkerName(count: 5, kind: .end))
    rest.hasSent = true
    plan.listed(key, rest)
    #expect(drain(&plan) == ["5.end"])
  }
}
