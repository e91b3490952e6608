import Foundation
import TestKit
import Testing

/// A real S3 server: SeaweedFS, on ports and in a directory of its own.
final class Seaweed: Sendable {
  static let accessKey = "AKSEGRECTEST"
  static let secretKey = "sk/segrec+test=0123456789"
  let address: String
  private let program: Program
  private let ports: [Int]

  init(_ directory: TemporaryDirectory) throws {
    let keys = """
      {"identities": [{"name": "test", "actions": ["Admin", "Read", "Write", "List", "Tagging"],
       "credentials": [{"accessKey": "\(Self.accessKey)", "secretKey": "\(Self.secretKey)"}]}]}
      """
    try keys.write(toFile: directory.file("s3.json"), atomically: true, encoding: .utf8)
    try FileManager.default.createDirectory(atPath: directory.file("weed"), withIntermediateDirectories: true)
    // A port that was free may be taken by the time it is listened at.
    let started = try attempts(until: { $0.answers }) { _ in try Self.start(directory) }
    guard let last = started.last, last.answers else {
      throw Program.Failure(description: "weed does not answer: \(started.last?.program.errors.suffix(3000) ?? "")")
    }
    (program, ports) = (last.program, last.ports)
    address = "http://127.0.0.1:\(ports[0])"
  }

  private static func start(
    _ directory: TemporaryDirectory
  ) throws -> (program: Program, ports: [Int], answers: Bool) {
    // gRPC ports are told too, because by default they are these and 10,000, which may be no port.
    let ports = try (0..<8).map { _ in try freePort() }
    let program = try Program(
      "weed",
      [
        "server", "-s3", "-dir=\(directory.file("weed"))", "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
        "-s3.config=\(directory.file("s3.json"))", "-s3.port=\(ports[0])", "-s3.port.grpc=\(ports[1])",
        "-master.port=\(ports[2])", "-master.port.grpc=\(ports[3])", "-volume.port=\(ports[4])",
        "-volume.port.grpc=\(ports[5])", "-filer.port=\(ports[6])", "-filer.port.grpc=\(ports[7])",
        "-master.volumeSizeLimitMB=64", "-volume.max=8", "-master.volumePreallocate=false", "-s3.iam=false",
        "-s3.port.iceberg=0", "-s3.port.lance=0",
      ])
    var answers = false
    _ = eventually(within: 60) {
      answers = (try? HTTP.get("http://127.0.0.1:\(ports[0])/", arguments: signing).status) == 200
      return answers || program.errors.contains("address already in use")
    }
    if !answers { program.send(signal: SIGKILL) }
    return (program, ports, answers)
  }

  deinit {
    program.send(signal: SIGKILL)
    // It makes these in /tmp whatever TMPDIR says, and leaves them even when it is asked to end.
    let sockets = [("s3", 0), ("s3-grpc", 1), ("master-grpc", 3), ("volume-grpc", 5), ("filer", 6), ("filer-grpc", 7)]
    for (name, index) in sockets { unlink("/tmp/seaweedfs-\(name)-\(ports[index]).sock") }
  }

  /// Has curl sign its requests, by its own code.
  static let signing = ["--aws-sigv4", "aws:amz:us-east-1:s3", "--user", "\(accessKey):\(secretKey)"]

  static let environment: [String: String?] = ["AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey]

  func makeBucket(_ name: String) throws {
    let answer = try HTTP.get("\(address)/\(name)", arguments: Self.signing + ["-X", "PUT"])
    guard answer.status == 200 else { throw Program.Failure(description: "no bucket: \(answer)") }
  }

  /// An object's bytes; nil where there is none.
  func object(_ key: String) throws -> String? {
    let answer = try HTTP.get("\(address)/\(key)", arguments: Self.signing)
    return answer.status == 200 ? answer.body : nil
  }

  func remove(_ key: String) throws {
    _ = try HTTP.get("\(address)/\(key)", arguments: Self.signing + ["-X", "DELETE"])
  }
}

@Suite(.serialized) struct `Uploading to a bucket` {
  private func upload(
    _ spool: PreparedSpool, _ server: Seaweed, _ arguments: [String] = [],
    environment: [String: String?] = Seaweed.environment
  ) throws -> Program.Result {
    try spool.upload(
      "s3://archive/cam1", ["--s3-endpoint", server.address] + arguments, environment: environment
    ).wait()
  }

  @Test func `objects arrive once, are never overwritten, and wrong keys are told`() throws {
    let directory = try TemporaryDirectory()
    let server = try Seaweed(directory)
    try server.makeBucket("archive")
    let base = "archive/cam1/\(PreparedSpool.run)"

    // Wrong keys first: nothing moves, and the secret is nowhere.
    let spool = try PreparedSpool(size: 2_000_000)
    var wrong = Seaweed.environment
    wrong["AWS_SECRET_ACCESS_KEY"] = "wr0ng-secret-0123456789"
    let refused = try upload(spool, server, ["--drain-timeout", "2s"], environment: wrong)
    #expect(refused.status == 77, "\(refused.errors)")
    #expect(!refused.errors.contains("wr0ng-secret") && !refused.errors.contains(Seaweed.accessKey))
    #expect(spool.unsent.count == 4)
    #expect(try server.object("\(base)/init.mp4") == nil)

    // Somebody else's objects under the names of two segments stay as they are.
    let others = try PreparedSpool(segments: 2, size: 500)
    #expect(try upload(others, server).status == 0)
    let taken = (0..<2).map { "\(base)/\(PreparedSpool.name($0))" }
    let conflicting = try upload(spool, server, ["--drain-timeout", "2s"])
    #expect(conflicting.status == 75, "\(conflicting.errors)")
    #expect(conflicting.errors.contains("refused 2 segments for good"), "\(conflicting.errors)")
    for name in taken { #expect(try server.object(name)?.utf8.count == 500) }
    #expect(try server.object("\(base)/4.end") == nil)
    for number in 2..<4 {
      #expect(try server.object("\(base)/\(PreparedSpool.name(number))")?.utf8.count == 2_000_000)
    }
    for name in taken { try server.remove(name) }

    // As after a crash between the server's answer and the move to sent/: the same once more is no conflict.
    let run = "\(spool.path)/\(PreparedSpool.run)"
    try FileManager.default.moveItem(
      atPath: "\(run)/sent/\(PreparedSpool.name(2))", toPath: "\(run)/\(PreparedSpool.name(2))")
    let finished = try upload(spool, server, ["--retry-refused"])
    #expect(finished.status == 0, "\(finished.errors)")
    #expect(spool.unsent.isEmpty)
    for name in taken { #expect(try server.object(name)?.utf8.count == 2_000_000) }
    #expect(try server.object("\(base)/4.end") == "")
    for text in [refused, conflicting, finished].map(\.errors) { #expect(!text.contains(Seaweed.secretKey)) }
  }
}
