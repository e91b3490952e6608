import Foundation
import Platform
import Testing

@Suite struct `This process` {
  @Test func `a secret in the arguments is no longer shown`() throws {
    func arguments() throws -> String {
      String(decoding: try FileDescriptor.open(forReading: "/proc/self/cmdline").readAll(limit: 1 << 20), as: UTF8.self)
    }
    let before = try arguments()
    // What the test's own command line has: the end of its program's name.
    let secret = String(try #require(CommandLine.arguments.first).suffix(4))
    #expect(before.contains(secret))
    try ProcessTitle.scrub([secret, ""])
    let after = try arguments()
    #expect(!after.contains(secret))
    #expect(after.utf8.count == before.utf8.count)
    #expect(after.contains(String(repeating: "*", count: secret.utf8.count)))
  }

  @Test func `variables that are not set are nil, and empty ones are not`() {
    setenv("SEGREC_TEST_EMPTY", "", 1)
    #expect(Environment.value("SEGREC_TEST_EMPTY") == "")
    #expect(Environment.value("SEGREC_TEST_MISSING") == nil)
  }

  @Test func `the wall clock counts milliseconds since the epoch`() {
    #expect(abs(WallClock.now() - Int64(Date().timeIntervalSince1970 * 1000)) < 5_000)
    #expect(!Environment.hostName.contains("."))
  }
}
