import Foundation
import HLS
import HTTP
import Platform
import Storage
import Synchronization
import TestKit
import Testing

@testable import Delivery

/// All that was put there is on the server, under its name, with its bytes, and nothing else.
private func expectAll(
  _ server: FaultServer, _ key: RunKey = SpoolFixture.key(), segments: Int, size: Int = 5000, marker: String? = nil,
  _ location: SourceLocation = #_sourceLocation
) {
  let files = server.files
  #expect(server.overwrites == 0, sourceLocation: location)
  for sequence in 0..<segments {
    #expect(
      files["/\(SpoolFixture.segment(sequence, key))"] == SpoolFixture.content(sequence, size: size),
      "segment \(sequence)", sourceLocation: location)
  }
  #expect(files["/\(key)/init.mp4"] == Data("init".utf8), sourceLocation: location)
  #expect(files["/\(key)/\(marker ?? "\(segments).end")"] == Data(), sourceLocation: location)
  #expect(files.count == segments + 2, sourceLocation: location)
}

@Suite struct Uploading {
  let spool: SpoolFixture
  let kept = LogKeeper()
  init() throws { spool = try SpoolFixture() }

  private func upload(_ configuration: UploadConfiguration, _ mode: Uploader.Mode = .drain) throws -> UploadSummary {
    try Uploader(configuration, tree: spool.tree, log: kept.log).run(mode)
  }

  @Test func `a spool is sent whole and in order, and what is sent lies in sent`() throws {
    try spool.addRun(segments: 12)
    let server = try FaultServer()
    let summary = try upload(.quick(server.url))
    expectAll(server, segments: 12)
    #expect(server.storedOrder.first?.hasSuffix("init.mp4") == true)
    #expect(server.storedOrder.last?.hasSuffix("12.end") == true)
    #expect(summary.isComplete && summary.sent == 12 && summary.sentBytes == 60_000)
    #expect(try spool.names() == ["12.end", "init.mp4"])
    #expect(try spool.names(SpoolFixture.key(), .sent).count == 13)
    #expect(server.mostInFlight <= 3)
  }

  @Test func `a second upload has nothing to do`() throws {
    try spool.addRun(segments: 2)
    let server = try FaultServer()
    _ = try upload(.quick(server.url))
    let count = server.exchanges.count
    let summary = try upload(.quick(server.url))
    #expect(summary.isComplete && summary.sent == 0)
    #expect(server.exchanges.count == count)
  }

  @Test(arguments: [
    FaultServer.Behaviour.resetInBody(after: 20_000), .resetAfterBody, .storeThenReset, .closeAfterBody, .neverAnswer,
    .stopReading(after: 10_000), .raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), .raw("nonsense"),
    .storeThenRaw("HTTP/1.1 201 Created\r\nContent-Le"), .answer(500), .answer(503), .answerEarly(502), .storeThenClose,
    .answer(408), .answer(507),
  ])
  func `whatever goes wrong in the middle, all arrives once`(behaviour: FaultServer.Behaviour) throws {
    try spool.addRun(segments: 8, size: 60_000)
    // Every third request fails in the same way, the init section and the marker included.
    let server = try FaultServer { $0.number % 3 == 0 ? behaviour : .store }
    let isSilent =
      switch behaviour {
      case .neverAnswer, .stopReading: true
      default: false
      }
    let summary = try upload(.quick(server.url, stall: isSilent ? .milliseconds(500) : .seconds(60)))
    expectAll(server, segments: 8, size: 60_000)
    #expect(summary.isComplete && summary.sent == 8, "\(summary)")
    #expect(server.storedOrder.last?.hasSuffix("8.end") == true)
  }

  @Test func `an outage is survived with few attempts`() throws {
    try spool.addRun(segments: 6)
    let server = try FaultServer()
    server.goDown()
    var configuration = try UploadConfiguration.quick(server.url)
    configuration.policy.ceiling = .milliseconds(600)
    let uploader = try Uploader(configuration, tree: spool.tree, log: kept.log)
    let summary = Mutex(UploadSummary())
    let thread = try Platform.Thread("upload") {
      summary.withLock { $0 = (try? uploader.run(.drain)) ?? UploadSummary() }
    }
    #expect(eventually(within: 60) { uploader.progress.retries >= 3 })
    #expect(uploader.progress.state == .unreachable)
    #expect(uploader.progress.backlogSegments == 6)
    try server.comeBack()
    thread.join()
    expectAll(server, segments: 6)
    #expect(summary.withLock { $0.isComplete })
    #expect(kept.count("upload-retry") == 1)
    #expect(kept.count("upload-recovered") == 1)
  }

  @Test func `with nobody there the count of what is left is told, and nothing is touched`() throws {
    try spool.addRun(segments: 3)
    let server = try FaultServer()
    server.goDown()
    var configuration = try UploadConfiguration.quick(server.url)
    configuration.drainTimeout = .milliseconds(900)
    let before = try spool.names()
    let summary = try upload(configuration)
    #expect(summary.remaining == 3)
    #expect(summary.lastProblem != nil)
    #expect(!summary.isComplete)
    #expect(try spool.names() == before)
  }

  @Test(arguments: [
    FaultServer.Behaviour.answer(500), .resetInBody(after: 40_000), .neverAnswer,
    .answerSlowly(500, bytesPerSecond: 400_000),
  ])
  func `a server that takes bytes but keeps none does not hold up the end`(behaviour: FaultServer.Behaviour) throws {
    // More than sockets hold, so that the slow one is seen taking bytes.
    try spool.addRun(segments: 3, size: 600_000)
    let server = try FaultServer { $0.name == "init.mp4" ? .store : behaviour }
    var configuration = try UploadConfiguration.quick(server.url, stall: .milliseconds(500))
    configuration.drainTimeout = .seconds(3)
    let start = ContinuousClock.now
    let summary = try upload(configuration)
    #expect(summary.remaining == 3)
    #expect(.now - start < .seconds(60))
    // Two a second in all, and what was on its way when the first failed.
    let seconds = (ContinuousClock.now - start).components.seconds + 1
    #expect(server.exchanges.count <= Int(seconds) * 2 + 4)
  }

  @Test func `a recording whose recorder was killed between two runs ends all the same`() throws {
    try spool.addRun(segments: 2, marker: .next)
    let server = try FaultServer()
    for _ in 0..<2 {
      #expect(try upload(.quick(server.url)).isComplete)
      #expect(server.storedOrder.last?.hasSuffix("/0.end") == true)
      #expect(try spool.tree.runs(of: SpoolFixture.key().recording).count == 2)
    }
  }

  @Test func `wrong credentials pause everything, and new ones go on by themselves`() throws {
    try spool.addRun(segments: 4)
    let server = try FaultServer { $0.headers["authorization"] == "Bearer right" ? .store : .answer(401) }
    let tokenFile = spool.directory.file("token")
    try Data("wrong\n".utf8).write(to: URL(fileURLWithPath: tokenFile))
    var configuration = try UploadConfiguration.quick(server.url)
    configuration.credentials.tokenFile = tokenFile
    let uploader = try Uploader(configuration, tree: spool.tree, log: kept.log)
    let summary = Mutex(UploadSummary())
    let thread = try Platform.Thread("upload") {
      summary.withLock { $0 = (try? uploader.run(.drain)) ?? UploadSummary() }
    }
    server.wait { !$0.exchanges.isEmpty }
    #expect(eventually(within: 60) { uploader.progress.state == .paused })
    try Data("right\n".utf8).write(to: URL(fileURLWithPath: tokenFile), options: .atomic)
    thread.join()
    expectAll(server, segments: 4)
    #expect(summary.withLock { $0.isComplete && $0.refusal == nil })
    #expect(kept.count("upload-paused") == 1)
    #expect(server.exchanges.filter { !$0.isStored }.count <= 3)
    #expect(!kept.events.contains { "\($0)".contains("wrong") || "\($0)".contains("right") })
  }

  @Test func `a refusal of everything ends with the server's words`() throws {
    try spool.addRun(segments: 2)
    let server = try FaultServer { _ in .answer(403) }
    var configuration = try UploadConfiguration.quick(server.url)
    configuration.drainTimeout = .milliseconds(700)
    let summary = try upload(configuration)
    #expect(summary.refusal == "HTTP 403 (forbidden)")
    #expect(summary.refusesCredentials)
    #expect(summary.remaining == 2)
    #expect(server.exchanges.count == 1)
  }

  @Test func `one refused segment is set aside, told, and can be sent later`() throws {
    try spool.addRun(segments: 5)
    let server = try FaultServer { $0.name.hasPrefix("00000002") ? .answer(413) : .store }
    let summary = try upload(.quick(server.url))
    #expect(summary.sent == 4 && summary.refused == 1 && summary.remaining == 0)
    #expect(try spool.names(SpoolFixture.key(), .refused).count == 1)
    #expect(server.files["/\(SpoolFixture.key())/5.end"] == nil)
    #expect(kept.count("segment-refused") == 1)
    // Still refused, and still known to be, after a restart.
    #expect(try upload(.quick(server.url)).refused == 1)
    server.behave { _ in .store }
    var again = try UploadConfiguration.quick(server.url)
    again.retryRefused = true
    #expect(try upload(again).isComplete)
    expectAll(server, segments: 5)
  }

  @Test func `Retry-After holds everybody back`() throws {
    try spool.addRun(segments: 6)
    let server = try FaultServer { $0.number == 2 ? .answer(503, headers: ["Retry-After: 1"]) : .store }
    let summary = try upload(.quick(server.url, parallel: 1))
    #expect(summary.isComplete)
    let times = server.exchanges.map(\.startedAt)
    #expect(times[3] - times[2] >= .milliseconds(990))
  }

  @Test func `a live upload takes hints and ends with its recorder`() throws {
    let key = try spool.addRun(segments: 0, marker: nil)
    let server = try FaultServer()
    let uploader = try Uploader(.quick(server.url), tree: spool.tree, log: kept.log)
    let summary = Mutex(UploadSummary())
    let thread = try Platform.Thread("upload") {
      summary.withLock { $0 = (try? uploader.run(.live, recording: key.recording)) ?? UploadSummary() }
    }
    for sequence in 0..<5 {
      try spool.addSegment(sequence)
      uploader.hint(SpoolFixture.segment(sequence))
      #expect(server.wait { $0.files["/\(SpoolFixture.segment(sequence))"] != nil })
    }
    // A lost hint is made good at the end.
    try spool.addSegment(5)
    try Data().write(to: URL(fileURLWithPath: spool.tree.path(of: key) + "/6.end"))
    uploader.finishInput()
    thread.join()
    expectAll(server, segments: 6)
    #expect(summary.withLock { $0.isComplete && $0.sent == 6 })
  }

  @Test func `a service finds what others put into the spool`() throws {
    let server = try FaultServer()
    let uploader = try Uploader(.quick(server.url), tree: spool.tree, log: kept.log)
    let thread = try Platform.Thread("upload") { _ = try? uploader.run(.follow) }
    try spool.addRun(segments: 3)
    #expect(server.wait { $0.files.count == 5 })
    try spool.addRun(SpoolFixture.key("other"), segments: 1)
    #expect(server.wait { $0.files.count == 8 })
    uploader.stop()
    thread.join()
  }

  @Test func `two uploaders on one spool send everything once`() throws {
    try spool.addRun(segments: 30, size: 100)
    let server = try FaultServer()
    let both = try (0..<2).map { _ in
      let uploader = try Uploader(.quick(server.url), tree: spool.tree, log: kept.log)
      return try Platform.Thread("upload") { _ = try? uploader.run(.drain) }
    }
    both.forEach { $0.join() }
    expectAll(server, segments: 30, size: 100)
    #expect(server.exchanges.count == 32)
  }

  @Test func `a directory is a server too`() throws {
    try spool.addRun(segments: 4)
    let other = try TemporaryDirectory()
    let missing = UploadError.target(
      "there is no directory \(other.path)/deep; if a disk belongs there, mount it, else make it: mkdir -p \(other.path)/deep"
    )
    #expect(throws: missing) { _ = try upload(.quick("file://\(other.path)/deep")) }
    #expect(!FileManager.default.fileExists(atPath: other.path + "/deep"))
    let summary = try upload(.quick("file://\(other.path)"))
    #expect(summary.isComplete && summary.sent == 4)
    let target = try Tree(root: other.path, create: false)
    #expect(try target.state(of: SpoolFixture.key()).segments.count == 4)
    #expect(try target.state(of: SpoolFixture.key()).marker == MarkerName(count: 4, kind: .end))
  }

  @Test func `another file under the same name is a refusal, the same file is not`() throws {
    try spool.addRun(segments: 2)
    let other = try TemporaryDirectory()
    let path = other.path + "/\(SpoolFixture.key())"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try SpoolFixture.content(0, size: 5000).write(to: URL(fileURLWithPath: "\(path)/\(SpoolFixture.segment(0).entry)"))
    try Data("other".utf8).write(to: URL(fileURLWithPath: "\(path)/\(SpoolFixture.segment(1).entry)"))
    let summary = try upload(.quick("file://\(other.path)"))
    #expect(summary.sent == 1)
    #expect(summary.refused == 1)
  }

  @Test func `an early stop leaves everything where it is`() throws {
    try spool.addRun(segments: 2)
    let server = try FaultServer { _ in .neverAnswer }
    let uploader = try Uploader(.quick(server.url), tree: spool.tree, log: kept.log)
    let thread = try Platform.Thread("upload") { _ = try? uploader.run(.drain) }
    server.wait { !$0.exchanges.isEmpty }
    uploader.stop()
    thread.join()
    #expect(try spool.names().count == 4)
  }
}
