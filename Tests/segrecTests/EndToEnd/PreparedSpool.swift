import Foundation
import TestKit
import Testing

/// A spool with one recording that has ended and waits to be sent, as a recorder leaves it.
struct PreparedSpool {
  static let run = "talk/main/20261130T021308.123Z_a3f1"
  let directory: TemporaryDirectory
  let path: String
  let segments: Int

  /// - Parameter size: bytes of each segment; their content differs.
  init(segments: Int = 4, size: Int = 60_000) throws {
    directory = try TemporaryDirectory()
    path = directory.file("spool")
    self.segments = segments
    let run = "\(path)/\(Self.run)"
    try FileManager.default.createDirectory(atPath: run, withIntermediateDirectories: true)
    try Data(count: 900).write(to: URL(fileURLWithPath: "\(run)/init.mp4"))
    for number in 0..<segments {
      try Data(repeating: UInt8(number + 1), count: size).write(
        to: URL(fileURLWithPath: "\(run)/\(Self.name(number))"))
    }
    try Data().write(to: URL(fileURLWithPath: "\(run)/\(segments).end"))
  }

  static func name(_ number: Int) -> String {
    "\(String(format: "%08d", number))_20261130T0213\(String(format: "%02d", 8 + 5 * number)).123Z_450000.m4s"
  }

  /// Names in the order in which a server may have them at the end: the init section first, the marker last.
  var names: [String] { ["init.mp4"] + (0..<segments).map(Self.name) + ["\(segments).end"] }

  func upload(_ address: String, _ arguments: [String] = [], environment: [String: String?] = [:]) throws -> Program {
    try Program(
      segrecBinary, ["upload", "--spool", path, "--upload", address] + arguments,
      environment: ["SEGREC_TOKEN": Self.token].merging(environment) { $1 })
  }

  /// What is sent with every request, and may be shown nowhere, as it is or percent-encoded.
  static let token = "never-shown/0123+4567"

  /// Segments that no server has acknowledged.
  var unsent: [String] {
    directory.files(below: "spool").filter { $0.hasSuffix(".m4s") && !$0.contains("/sent/") }
  }

  /// What is wrong with what a server has got.
  func problems(_ server: FaultServer) -> [String] {
    var problems: [String] = []
    let stored = server.storedOrder.map { ($0 as NSString).lastPathComponent }
    if stored.sorted() != names.sorted() { problems.append("stored \(stored)") }
    if stored.first != "init.mp4" { problems.append("\(stored.first ?? "nothing") came before the init section") }
    if stored.last != "\(segments).end" { problems.append("\(stored.last ?? "nothing") came after the marker") }
    if server.overwrites > 0 { problems.append("\(server.overwrites) files were overwritten with other bytes") }
    for (target, bytes) in server.files {
      let name = (target as NSString).lastPathComponent
      let file = ["", "sent/"].map { "\(path)/\(Self.run)/\($0)\(name)" }
      if !file.contains(where: { FileManager.default.contents(atPath: $0) == bytes }) {
        problems.append("\(name) arrived with other bytes")
      }
    }
    if !unsent.isEmpty { problems.append("unsent: \(unsent)") }
    return problems
  }
}

extension Program {
  /// Waits for the end of an upload, whatever the network did to it: its token is in nothing that it said.
  func waitDiscreetly(seconds: Double = 120) throws -> Result {
    let result = try wait(seconds: seconds)
    for secret in [PreparedSpool.token, "never-shown%2F0123%2B4567", "bmV2ZXItc2hvd24vMDEyMys0NTY3"] {
      #expect(!"\(result.output)\(result.errors)".contains(secret))
    }
    return result
  }
}

extension FaultServer {
  /// Attempts that were nobody's success: no more than two a second, but for those that were on their way together when the
  /// first failed.
  var hasHotLoop: Bool {
    let failed = exchanges.filter { !$0.isStored }.map(\.startedAt).sorted().dropFirst(3)
    return zip(failed, failed.dropFirst(2)).contains { $1 - $0 < .milliseconds(900) }
  }
}
