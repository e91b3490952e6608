import Foundation
import TestKit
import Testing

/// Several `segrec stitch s3://…` over one real S3 server, recordings that grow, and a worker that is killed.
@Suite(.serialized) struct `Stitching in a bucket` {
  static let run = "main/20261130T021308.123Z_a3f1"

  private func worker(_ server: Seaweed, _ arguments: [String] = []) throws -> Program {
    try Program(
      segrecBinary, ["stitch", "s3://archive/cam1", "--s3-endpoint", server.address] + arguments,
      environment: Seaweed.environment)
  }

  /// Files of the tracked sample under names of this test's.
  private struct Recordings {
    let root: String
    let names = (0..<8).map { "r\($0)" }
    let sample: [String: String]

    init(_ directory: TemporaryDirectory) throws {
      root = directory.file("spool")
      let path = "\(packageDirectory)/segments/sample/main"
      let run = try #require(try FileManager.default.contentsOfDirectory(atPath: path).first { $0.contains("Z_") })
      let files = try FileManager.default.contentsOfDirectory(atPath: "\(path)/\(run)")
      let segment = try #require(files.first { $0.hasPrefix("00000000_") })
      sample = ["init.mp4": "\(path)/\(run)/init.mp4", "segment": "\(path)/\(run)/\(segment)"]
      for name in names {
        try FileManager.default.createDirectory(
          atPath: "\(root)/\(name)/\(`Stitching in a bucket`.run)", withIntermediateDirectories: true)
        try add("init.mp4", to: name, "init.mp4")
      }
    }

    func add(_ name: String, to recording: String, _ source: String?) throws {
      let file = "\(root)/\(recording)/\(`Stitching in a bucket`.run)/\(name)"
      try Data(source.flatMap { sample[$0] }.map { try Data(contentsOf: URL(fileURLWithPath: $0)) } ?? Data())
        .write(to: URL(fileURLWithPath: file), options: .atomic)
    }

    func addSegment(_ number: Int) throws {
      for name in names { try add(PreparedSpool.name(number), to: name, "segment") }
    }
  }

  /// Numbers in a recording's live list, nil where there is none.
  private func numbers(_ server: Seaweed, _ recording: String, _ list: String = "live") throws -> [Int]? {
    try server.object("archive/cam1/\(recording)/main/\(list).m3u8")?.split(separator: "\n")
      .filter { $0.hasSuffix(".m4s") }.compactMap { Int($0.split(separator: "/")[1].prefix(8)) }
  }

  @Test func `three workers share it, one is killed, and every list goes on`() throws {
    let directory = try TemporaryDirectory()
    let server = try Seaweed(directory)
    try server.makeBucket("archive")
    let recordings = try Recordings(directory)
    for number in 0..<2 { try recordings.addSegment(number) }
    let upload = try Program(
      segrecBinary,
      [
        "upload", "--spool", recordings.root, "--upload", "s3://archive/cam1", "--s3-endpoint", server.address,
        "--follow",
      ],
      environment: Seaweed.environment)
    defer { upload.send(signal: SIGKILL) }
    let workers = try [["--events", "127.0.0.1:0"], [], []].map { try worker(server, ["--watch"] + $0) }
    for worker in workers { try worker.wait(for: "3 workers look after s3://archive/cam1") }
    func allReach(_ count: Int) throws -> Bool {
      try eventually(within: 120) {
        try recordings.names.allSatisfy { try numbers(server, $0) == Array(0..<count) }
      }
    }
    #expect(try allReach(2))

    workers[1].send(signal: SIGKILL)
    try recordings.addSegment(2)
    #expect(try allReach(3))
    for worker in [workers[0], workers[2]] { try worker.wait(for: "2 workers look after s3://archive/cam1") }

    // Once from somewhere else at the same time: nobody takes anything back.
    try recordings.addSegment(3)
    for name in recordings.names { try recordings.add("4.end", to: name, nil) }
    #expect(try allReach(4))
    let whole = try eventually(within: 120) {
      try recordings.names.allSatisfy { try numbers(server, $0, "vod") == Array(0..<4) }
    }
    #expect(whole)
    let once = try worker(server).wait()
    #expect(once.status == 0, "\(once.errors)")
    for worker in [workers[0], workers[2]] {
      worker.send(signal: SIGTERM)
      let ended = try worker.wait()
      #expect(ended.status == 0, "\(ended.errors)")
      #expect(!ended.errors.contains("error"), "\(ended.errors)")
      #expect(!ended.errors.contains(Seaweed.secretKey))
    }
    #expect(try recordings.names.allSatisfy { try numbers(server, $0) == Array(0..<4) })
  }

  @Test func `what is wrong is said with what to do, and the exit code tells`() throws {
    let directory = try TemporaryDirectory()
    let server = try Seaweed(directory)
    try server.makeBucket("archive")
    #expect(try worker(server).wait().status == 0)
    let unknown = try worker(server, ["--recording", "nobody"]).wait()
    #expect(unknown.status == 66)
    #expect(unknown.errors.contains("there is no nobody in s3://archive/cam1"))
    var arguments = ["stitch", "s3://nowhere", "--s3-endpoint", server.address]
    let missing = try Program(segrecBinary, arguments, environment: Seaweed.environment).wait()
    #expect(missing.status == 66)
    #expect(missing.errors.contains("s3://nowhere") && missing.errors.contains("no such bucket"))
    var wrong = Seaweed.environment
    wrong["AWS_SECRET_ACCESS_KEY"] = "wr0ng-secret-0123456789"
    for watch in [[], ["--watch"]] {
      let refused = try Program(segrecBinary, arguments + watch, environment: wrong).wait()
      #expect(refused.status == 77)
      #expect(refused.errors.contains("AWS_SECRET_ACCESS_KEY") && !refused.errors.contains("wr0ng-secret"))
    }
    arguments[3] = "http://127.0.0.1:\(try freePort())"
    let away = try Program(segrecBinary, arguments, environment: Seaweed.environment).wait()
    #expect(away.status == 69, "\(away.errors)")
    let events = try Program(segrecBinary, ["stitch", directory.path, "--watch", "--events", ":0"]).wait()
    #expect(events.status == 64)
  }
}
