import Foundation
import TestKit
import Testing

@Suite(.serialized) struct `A weak network` {
  private let directory: TemporaryDirectory
  init() throws { directory = try TemporaryDirectory() }

  @Test func `lowers the bitrate within one run`() throws {
    // 400 kb/s for 2 Mb/s.
    let server = try FaultServer { _ in .storeSlowly(bytesPerSecond: 50_000) }
    let program = try Program(
      segrecBinary,
      [
        "record", "--recording", "talk", "--spool", directory.file("spool"), "--upload", server.url, "--parallel", "1",
        "--log", "json", "--input-format", "lavfi", "--input",
        "testsrc2=size=320x180:rate=25,noise=alls=60:allf=t", "--realtime", "--audio", "none", "--segment-duration",
        "1s", "--video-bitrate", "2M", "--fallback-bitrate", "300k",
      ])
    try program.wait(for: "\"level\":\"reduced\"", seconds: 60)
    let lowered = segmentNames(directory, below: "spool").count
    #expect(eventually(within: 60) { segmentNames(directory, below: "spool").count >= lowered + 5 })
    // The way up takes its time on purpose: `scripts/links ladder` waits for it.
    server.behave { _ in .store }
    program.send(signal: SIGINT)
    let result = try program.wait()
    #expect(result.status == 0, "\(result.errors)")
    let sizes = server.files.filter { $0.key.hasSuffix(".m4s") }.sorted { $0.key < $1.key }.map(\.value.count)
    #expect(sizes[lowered + 3] < sizes[2] / 3, "\(sizes)")
    // Without a new init section: one run.
    #expect(server.storedOrder.count { $0.hasSuffix("init.mp4") } == 1)
    // Each step is one line.
    let steps = result.errors.split(separator: "\n").filter { $0.contains("\"event\":\"ladder\"") }
    #expect(steps.count <= 4, "\(steps)")
  }
}
