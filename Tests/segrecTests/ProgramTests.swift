import Foundation
import TestKit
import Testing

@Suite struct `Built program` {
  @Test func `a result carries the exit code and both streams`() throws {
    let result = try Program.run("sh", ["-c", "echo out; echo err >&2; exit 3"])
    #expect(result.status == 3)
    #expect(result.output == "out\n")
    #expect(result.errors == "err\n")
  }

  @Test func `a program that does not end is killed at the deadline`() throws {
    let program = try Program("sh", ["-c", "echo started; exec tail -f /dev/null"])
    try program.wait(for: "started")
    #expect(throws: Program.Failure.self) { try program.wait(seconds: 0.1) }
    #expect(try program.wait().status == -SIGKILL)
  }
}
