import Foundation
import TestKit

/// `segrec serve` on a free port over a root of its own.
final class Origin: Sendable {
  let root: String
  /// `http://127.0.0.1:PORT`
  let address: String
  let program: Program

  /// - Parameter port: 0 takes a free one; another to come back where a stopped server was.
  init(
    root: String, port: Int = 0, arguments: [String] = [], environment: [String: String?] = [:], scheme: String = "http"
  ) throws {
    self.root = root
    program = try Program(
      segrecBinary, ["serve", "--root", root, "--listen", "127.0.0.1:\(port)"] + arguments, environment: environment)
    try program.wait(for: "serving ")
    let said = program.errors
    guard let start = said.range(of: "\(scheme)://")?.lowerBound, let end = said[start...].range(of: "/\n")?.lowerBound
    else { throw Program.Failure(description: "no address in: \(said)") }
    address = String(said[start..<end])
  }

  var port: Int { Int(address.split(separator: ":").last ?? "") ?? 0 }

  /// The address of the list of a whole recording, once it is served: the last acknowledgement comes before it.
  func whole(_ recording: String) throws -> String {
    let playlist = "\(address)/\(recording)/vod.m3u8"
    guard try eventually(within: 60, { try HTTP.get(playlist).status == 200 }) else {
      throw Program.Failure(description: "no \(playlist); the server said:\n\(program.errors)")
    }
    return playlist
  }

  /// Stops it as a service manager would.
  @discardableResult
  func stop() throws -> Program.Result {
    program.send(signal: SIGTERM)
    return try program.wait(seconds: 20)
  }

  deinit { program.send(signal: SIGKILL) }
}

/// Media segments' file names below a run tree, in order, with their sizes.
func segmentNames(_ directory: TemporaryDirectory, below path: String) -> [String] {
  directory.files(below: path).filter { $0.hasSuffix(".m4s") }
}

/// The sequence numbers in `names`, each the start of the last path component.
func sequences(_ names: [String]) -> [Int] {
  names.compactMap { Int(($0 as NSString).lastPathComponent.prefix(8)) }
}
