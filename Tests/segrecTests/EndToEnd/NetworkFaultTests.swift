import Foundation
import TestKit
import Testing

/// What networks and servers do, one by one, to the built binary that drains a spool.
@Suite struct `Uploading over a bad network` {
  private func expectFinished(_ result: Program.Result, _ spool: PreparedSpool, _ server: FaultServer) {
    #expect(result.status == 0, "\(result.errors)")
    let last = result.errors.split(separator: "\n").last ?? ""
    #expect(last.contains("sent \(spool.segments) segments") && last.contains("; 0 in the spool"), "\(result.errors)")
    #expect(spool.problems(server) == [])
    #expect(!server.hasHotLoop, "\(server.exchanges.map(\.startedAt))")
    #expect(server.exchanges.allSatisfy { $0.request.headers["expect"] == nil })
  }

  @Test(arguments: [
    FaultServer.Behaviour.resetInBody(after: 30_000),
    .resetAfterBody,
    .storeThenReset,
    .closeAfterBody,
    .storeThenClose,
    .answerEarly(507),
    .answer(500),
    .answer(408),
    .raw(""),
    .raw("HTTP/1.1 200 OK\r\nContent-Le"),
    .raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"),
    .raw("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"),
    .raw("HTTP/1.1 100 Continue\r\n\r\n"),
    .raw("no such protocol\r\n\r\n"),
    .answer(307, headers: ["Location: /elsewhere/x"]),
  ])
  func `each first attempt goes wrong, and all arrives once`(behaviour: FaultServer.Behaviour) throws {
    let spool = try PreparedSpool()
    // What is redirected arrives at one other place; that is for the server to know.
    let server = try FaultServer { request in
      request.attemptsBefore == 0 && request.name.hasSuffix(".m4s") ? behaviour : .store
    }
    let result = try spool.upload(server.url).waitDiscreetly()
    if case .answer(307, _, _) = behaviour {
      #expect(result.status == 0, "\(result.errors)")
      #expect(server.files["/elsewhere/x"] != nil)
      return
    }
    expectFinished(result, spool, server)
  }

  @Test(arguments: ["Retry-After: 2", "Retry-After: DATE"], [429, 503])
  func `Retry-After is kept by all`(field: String, status: Int) throws {
    let spool = try PreparedSpool()
    let server = try FaultServer { request in
      guard request.name.hasPrefix("00000001"), request.attemptsBefore == 0 else { return .store }
      return .answer(status, headers: [field.replacingOccurrences(of: "DATE", with: httpDate(after: 3))])
    }
    let result = try spool.upload(server.url, ["--parallel", "1"]).waitDiscreetly()
    expectFinished(result, spool, server)
    let refused = try #require(server.exchanges.first { !$0.isStored })
    let next = try #require(server.exchanges.first { $0.startedAt > refused.startedAt })
    #expect(next.startedAt - refused.startedAt >= .milliseconds(1900))
  }

  @Test func `a server that is away is found again when it is back`() throws {
    let spool = try PreparedSpool()
    let server = try FaultServer()
    server.goDown()
    let program = try spool.upload(server.url)
    try program.wait(for: "next attempt")
    try server.comeBack()
    expectFinished(try program.waitDiscreetly(), spool, server)
  }

  /// Who is not there is told within the drain timeout, with the command that sends the rest, and nothing is lost.
  @Test(arguments: ["refused", "black hole", "no such name", "proxy away"])
  func `nobody there is 75 with the command that finishes`(kind: String) throws {
    let spool = try PreparedSpool()
    let server = try FaultServer()
    let hole = try BlackHole()
    var environment: [String: String?] = [:]
    var address = server.url
    switch kind {
    case "refused": server.goDown()
    case "black hole": address = hole.url
    case "no such name": address = "http://nothing.invalid"
    default: environment["http_proxy"] = hole.url
    }
    let start = ContinuousClock.now
    let result = try spool.upload(address, ["--drain-timeout", "2s"], environment: environment).waitDiscreetly()
    #expect(result.status == 75, "\(result.errors)")
    #expect(.now - start < .seconds(40))
    // The attempt that hangs is cut short, not waited for: it has not failed yet.
    if kind == "black hole" || kind == "proxy away" { #expect(!result.errors.contains("next attempt")) }
    let last = String(result.errors.split(separator: "\n").last ?? "")
    #expect(last.contains("4 segments not uploaded"), "\(last)")
    #expect(last.contains("segrec upload --spool \(spool.path) --upload \(address)"), "\(last)")
    #expect(spool.unsent.count == 4)
    let other = try FaultServer()
    expectFinished(try spool.upload(other.url).waitDiscreetly(), spool, other)
  }

  /// These take the stall limit of 10 s, so they go together.
  @Test func `who takes nothing for 10 s is left, and who is slow is not`() throws {
    let behaviours: [FaultServer.Behaviour] = [
      .neverAnswer, .stopReading(after: 65_536), .storeSlowly(bytesPerSecond: 60_000),
    ]
    var runs: [(spool: PreparedSpool, server: FaultServer, program: Program)] = []
    for behaviour in behaviours {
      let spool = try PreparedSpool(segments: 1, size: 800_000)
      let server = try FaultServer { request in
        request.attemptsBefore == 0 && request.name.hasSuffix(".m4s") ? behaviour : .store
      }
      runs.append((spool, server, try spool.upload(server.url)))
    }
    for (spool, server, program) in runs {
      let result = try program.waitDiscreetly(seconds: 90)
      #expect(result.status == 0, "\(result.errors)")
      #expect(spool.problems(server) == [])
    }
    let attempts = runs.map { run in run.server.exchanges.count { $0.request.name.hasSuffix(".m4s") } }
    #expect(attempts == [2, 2, 1])
  }

  @Test func `IPv6 and a proxy are ways like any other`() throws {
    let spool = try PreparedSpool()
    let six = try FaultServer(ipv6: true)
    expectFinished(try spool.upload(six.url).waitDiscreetly(), spool, six)
    let behindProxy = try PreparedSpool()
    let proxy = try FaultServer()
    let result = try behindProxy.upload("http://segrec.invalid/up", environment: ["http_proxy": proxy.url])
      .waitDiscreetly()
    expectFinished(result, behindProxy, proxy)
    #expect(proxy.files.keys.allSatisfy { $0.hasPrefix("http://segrec.invalid/up/talk/main/") })
  }

  @Test(arguments: [301, 302])
  func `a place that has moved is told, and not followed`(status: Int) throws {
    let spool = try PreparedSpool()
    let server = try FaultServer { _ in .answer(status, headers: ["Location: https://elsewhere.invalid/up"]) }
    let result = try spool.upload(server.url, ["--drain-timeout", "2s"]).waitDiscreetly()
    #expect(result.status == 69, "\(result.errors)")
    #expect(result.errors.contains("https://elsewhere.invalid/up"), "\(result.errors)")
    #expect(spool.unsent.count == 4)
    #expect(server.exchanges.count <= 3)
  }

  @Test(arguments: ["expired", "for another name", "of an unknown authority"])
  func `a certificate that does not hold stops everything`(kind: String) throws {
    let spool = try PreparedSpool()
    let place = try TemporaryDirectory()
    let certificate = kind == "for another name" ? BadIdentity.otherName : BadIdentity.expired
    try certificate.write(toFile: place.file("cert.pem"), atomically: true, encoding: .utf8)
    try BadIdentity.key.write(toFile: place.file("key.pem"), atomically: true, encoding: .utf8)
    let origin = try Origin(
      root: place.file("root"), arguments: ["--cert", place.file("cert.pem"), "--key", place.file("key.pem")],
      scheme: "https")
    let trust = kind == "of an unknown authority" ? [] : ["--cacert", place.file("cert.pem")]
    let result = try spool.upload(origin.address, ["--drain-timeout", "2s"] + trust).waitDiscreetly()
    #expect(result.status == 69, "\(result.errors)")
    #expect(result.errors.contains("certificate"), "\(result.errors)")
    #expect(spool.unsent.count == 4)
    #expect(place.files(below: "root").filter { $0.contains("talk") } == [])
  }
}

private func httpDate(after seconds: Double) -> String {
  let format = DateFormatter()
  format.locale = Locale(identifier: "en_US_POSIX")
  format.timeZone = TimeZone(identifier: "GMT")
  format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
  return format.string(from: Date(timeIntervalSinceNow: seconds))
}
