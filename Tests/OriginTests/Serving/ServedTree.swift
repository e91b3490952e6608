import Foundation
import HLS
import HTTP
import Platform
import Storage
import TestKit

@testable import Origin

/// An origin server over a new tree, on a port of its own.
final class ServedTree {
  let directory: TemporaryDirectory
  let tree: Tree
  let server: OriginServer
  private let stitching: StitchService?
  let port: UInt16
  var root: String { directory.file("root") }

  /// - Parameters:
  ///   - gapAfter: stitches what arrives, and declares a gap after that time; nil stitches nothing.
  ///   - window: seconds of a live list; nil leaves the default.
  init(
    log: Log = .none, gapAfter: Duration? = nil, window: Int64? = nil,
    _ configure: (inout ServeConfiguration) throws -> Void = { _ in },
    onArrival: @escaping @Sendable (EntryPath) -> Void = { _ in }
  ) throws {
    directory = try TemporaryDirectory()
    tree = try Tree(root: directory.file("root"), create: true)
    var configuration = ServeConfiguration()
    configuration.address = ListenAddress(host: .ipv4([127, 0, 0, 1]), port: 0)
    configuration.reserve = 0
    try configure(&configuration)
    if let gapAfter {
      var stitch = StitchConfiguration()
      stitch.policy.gapAfter = gapAfter
      if let window { stitch.policy.window = .last(ticks: window * 90_000) }
      let news = PlaylistNews()
      let service = StitchService(tree, stitch, log: log) { news.publish($0) }
      server = OriginServer(configuration, tree: tree, log: log, news: news, onArrival: { service.hint($0) })
      try service.start()
      stitching = service
    } else {
      stitching = nil
      server = OriginServer(configuration, tree: tree, log: log, onArrival: onArrival)
    }
    port = try server.start().port
  }

  deinit {
    server.stop()
    stitching?.stop()
  }

  /// A client that keeps the server running.
  func client() throws -> RawHTTPClient {
    let client = try RawHTTPClient(port: port)
    client.companion = self
    return client
  }

  /// Writes a file of the tree behind the server's back.
  func write(_ path: String, _ bytes: [UInt8]) throws {
    let url = URL(fileURLWithPath: root + "/" + path)
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: url)
  }

  func bytes(_ path: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(fileURLWithPath: root + "/" + path)))
  }

  /// Paths of all files below the root, sorted; nothing may lie beside the root.
  func files() -> [String] {
    directory.files().map { $0.hasPrefix("root/") ? String($0.dropFirst(5)) : "OUTSIDE " + $0 }
  }
}

let lectureRun = "lecture/main/20261130T021308.123Z_a3f1"
let firstSegment = "\(lectureRun)/00000000_20261130T021308.123Z_450000.m4s"
