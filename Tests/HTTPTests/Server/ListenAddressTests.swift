import Testing

@testable import HTTP

@Suite struct `Listen address` {
  @Test(arguments: [
    ("127.0.0.1:8080", "127.0.0.1:8080", true), ("localhost:0", "127.0.0.1:0", true), ("[::1]:80", "[::1]:80", true),
    ("0.0.0.0:80", "0.0.0.0:80", false), (":8080", "*:8080", false), ("*:8080", "*:8080", false),
    ("[::]:1", "[::]:1", false), ("192.168.1.2:65535", "192.168.1.2:65535", false),
    ("127.8.8.8:1", "127.8.8.8:1", true),
    ("[fe80::1]:1", "[fe80::1]:1", false),
  ])
  func `is read with its port`(text: String, written: String, isLoopback: Bool) {
    let address = ListenAddress(text)
    #expect(address?.description == written)
    #expect(address?.isLoopback == isLoopback)
  }

  @Test(arguments: [
    "", "8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:+1", "127.0.0.1:80x",
    "256.0.0.1:80", "::1:80", "[::1:80", "[::g]:80", "example.org:80", "127.0.0.1:8 0", "[127.0.0.1]:80",
  ])
  func `is refused in any other form`(text: String) {
    #expect(ListenAddress(text) == nil)
  }
}

@Suite struct `Peer address` {
  @Test(
    arguments: [
      ([127, 0, 0, 1], "127.0.0.1", true), ([10, 0, 0, 255], "10.0.0.255", false),
      ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 127, 1, 2, 3], "127.1.2.3", true),
      ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], "::1", true),
      ([0x20, 1, 0xD, 0xB8, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1], "2001:db8::1:0:0:1", false),
      ([0x20, 1, 0xD, 0xB8, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1], "2001:db8:0:1:1:1:1:1", false), ([], "unknown", false),
    ] as [([UInt8], String, Bool)])
  func `is written as RFC 5952 says`(bytes: [UInt8], text: String, isLoopback: Bool) {
    #expect(PeerAddress(bytes: bytes).description == text)
    #expect(PeerAddress(bytes: bytes).isLoopback == isLoopback)
  }
}

@Suite struct `Connection table` {
  private let now = ContinuousClock.now
  private var limits: HTTPServerLimits {
    var limits = HTTPServerLimits()
    limits.connectionsPerAddress = 2
    limits.headTime = .seconds(10)
    limits.bodyGrace = .seconds(20)
    limits.minimumRate = 100
    return limits
  }

  @Test func `limits one address but not loopback, and counts an IPv6 network as one`() {
    var table = ConnectionTable(limits: limits)
    let peer = PeerAddress(bytes: [10, 0, 0, 1])
    let network = (1...3).map { PeerAddress(bytes: [0x20, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, $0]) }
    table.opened(1, peer: peer, now: now)
    #expect(table.admits(peer))
    table.opened(2, peer: peer, now: now)
    #expect(!table.admits(peer))
    #expect(table.admits(PeerAddress(bytes: [10, 0, 0, 2])))
    table.closed(1)
    #expect(table.admits(peer))
    table.opened(3, peer: network[0], now: now)
    table.opened(4, peer: network[1], now: now)
    #expect(!table.admits(network[2]))
    let loopback = PeerAddress(bytes: [127, 0, 0, 1])
    for socket in 10..<20 { table.opened(Int32(socket), peer: loopback, now: now) }
    #expect(table.admits(loopback))
    #expect(table.count == 13)
  }

  @Test func `gives each phase its time, and a body what it takes at the slowest rate allowed`() {
    var table = ConnectionTable(limits: limits)
    table.opened(1, peer: PeerAddress(bytes: []), now: now)
    #expect(table.takeExpired(now: now + .seconds(9)) == [])
    table.began(1, bodyLength: 1_000, now: now + .seconds(9))
    #expect(table.activeRequests == 1)
    #expect(table.takeExpired(now: now + .seconds(9 + 29)) == [])
    table.working(1)
    #expect(table.takeExpired(now: now + .seconds(1_000)) == [])
    table.answering(1, length: 5_000, now: now + .seconds(1_000))
    #expect(table.takeExpired(now: now + .seconds(1_069)) == [])
    table.completed(1, now: now + .seconds(1_069))
    #expect(table.activeRequests == 0)
    #expect(table.takeExpired(now: now + .seconds(1_078)) == [])
    #expect(table.takeExpired(now: now + .seconds(1_079)) == [1])
    #expect(table.takeExpired(now: now + .seconds(1_080)) == [])
    #expect(table.expired == 1)
  }
}
