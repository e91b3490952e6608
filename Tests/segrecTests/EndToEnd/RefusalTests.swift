import Foundation
import TestKit
import Testing

/// What a server says no to: nothing is lost by it, and all goes on when it says yes.
@Suite struct `Refusals` {
  @Test(arguments: [401, 403], ["", "SEGREC_TOKEN="])
  func `wrong credentials pause all, and new ones in the file go on by themselves`(status: Int, name: String) throws {
    let spool = try PreparedSpool()
    let token = spool.directory.file("token")
    try "\(name)wrong-token-4567\n".write(toFile: token, atomically: true, encoding: .utf8)
    let server = try FaultServer { request in
      request.headers["authorization"] == "Bearer right-token-0123" ? .store : .answer(status)
    }
    let program = try spool.upload(server.url, ["--token-file", token])
    try program.wait(for: "refuses everything")
    try "\(name)right-token-0123\n".write(toFile: token, atomically: true, encoding: .utf8)
    let result = try program.wait()
    #expect(result.status == 0, "\(result.errors)")
    #expect(spool.problems(server) == [])
    #expect(!server.hasHotLoop)
    #expect(result.errors.components(separatedBy: "refuses everything").count == 2, "\(result.errors)")
    #expect(!result.errors.contains("token-4567") && !result.errors.contains("token-0123"))
  }

  @Test func `credentials that stay wrong are 77, with few attempts and all kept`() throws {
    let spool = try PreparedSpool()
    let server = try FaultServer { _ in .answer(403) }
    let result = try spool.upload(
      server.url, ["--drain-timeout", "3s"], environment: ["SEGREC_TOKEN": "wrong-token-4567"]
    ).wait()
    #expect(result.status == 77, "\(result.errors)")
    let last = String(result.errors.split(separator: "\n").last ?? "")
    #expect(last.contains("4 segments not uploaded") && last.contains("credentials"), "\(last)")
    #expect(spool.unsent.count == 4)
    #expect(server.exchanges.count <= 4)
  }

  @Test(arguments: [413, 409, 412])
  func `a refused init section is told with its reason, and status counts its whole run`(status: Int) throws {
    let spool = try PreparedSpool()
    let server = try FaultServer { $0.name == "init.mp4" ? .answer(status) : .store }
    for attempt in 0..<2 {
      let result = try spool.upload(server.url, ["--drain-timeout", "2s"]).wait()
      #expect(result.status == 75, "\(result.errors)")
      let last = String(result.errors.split(separator: "\n").last ?? "")
      #expect(
        last.contains("refused the init section of 1 run for good") && last.contains("4 segments cannot"), "\(last)")
      #expect(last.contains("HTTP \(status)") == (attempt == 0) && last.contains("--retry-refused"), "\(last)")
      let told = try Program.tool(segrecBinary, ["status", "--spool", spool.path, "--json"])
      #expect(told.contains("\"refused_segments\":4") && told.contains("\"backlog_segments\":0"), "\(told)")
    }
    // What was refused for good is not asked again until somebody says so.
    #expect(server.exchanges.count == 1)
    #expect(spool.unsent.count == 4)
    server.behave { _ in .store }
    let again = try spool.upload(server.url, ["--retry-refused"]).wait()
    #expect(again.status == 0, "\(again.errors)")
    #expect(spool.problems(server) == [])
  }

  @Test func `an address with a path that the server does not have is no matter of credentials`() throws {
    let spool = try PreparedSpool()
    let origin = try Origin(root: spool.directory.file("root"))
    let result = try spool.upload("\(origin.address)/rec", ["--drain-timeout", "1s"]).wait()
    #expect(result.status == 69, "\(result.errors)")
    let last = String(result.errors.split(separator: "\n").last ?? "")
    #expect(last.contains("HTTP 404") && last.contains("the address of this server has no path"), "\(last)")
    #expect(!last.contains("credentials"))
    #expect(spool.unsent.count == 4)
  }

  @Test(arguments: [413, 409, 422])
  func `what one segment is refused for leaves the rest alone, and can be sent later`(status: Int) throws {
    let spool = try PreparedSpool()
    let refused = PreparedSpool.name(2)
    let server = try FaultServer { $0.name == refused ? .answer(status) : .store }
    let result = try spool.upload(server.url, ["--drain-timeout", "2s"]).wait()
    #expect(result.status == 75, "\(result.errors)")
    let last = String(result.errors.split(separator: "\n").last ?? "")
    #expect(last.contains("refused 1 segment for good") && last.contains("--retry-refused"), "\(last)")
    #expect(spool.directory.files(below: "spool").contains { $0.hasSuffix("/refused/\(refused)") })
    #expect(server.files.count == 4)
    // The marker would say that all is there.
    #expect(!server.files.keys.contains { $0.hasSuffix(".end") })
    #expect(server.exchanges.count { $0.request.name == refused } == 1)
    server.behave { _ in .store }
    // Without being asked it stays where it is.
    #expect(try spool.upload(server.url, ["--drain-timeout", "1s"]).wait().status == 75)
    #expect(server.files.count == 4)
    let again = try spool.upload(server.url, ["--retry-refused"]).wait()
    #expect(again.status == 0, "\(again.errors)")
    #expect(spool.problems(server) == [])
  }
}
