import Foundation
import TestKit
import Testing

/// What `scripts/install` puts on a machine, and that the clean-up it brings does its work as cron and systemd run it.
@Suite struct `An installation` {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
    let result = try Program.run(
      packageDirectory + "/scripts/install", [],
      environment: ["DESTDIR": directory.file("machine"), "SEGREC_INSTALL_BINARY": segrecBinary])
    guard result.status == 0 else { throw Program.Failure(description: result.errors) }
  }

  private func installed(_ path: String) throws -> String {
    try String(contentsOfFile: directory.file("machine" + path), encoding: .utf8)
  }

  /// Runs a shell command where `/var/spool`, `/usr/local/bin` and the units are those of the installation.
  private func run(_ command: String) throws -> Program.Result {
    let machine = directory.file("machine")
    let places = ["/var/spool", "/usr/local/bin", "/etc/systemd/system", "/usr/local/share"]
    let mounts = places.map { "mkdir -p \($0) && mount --bind \(machine)\($0) \($0)" }
    return try Program.run("unshare", ["--mount", "sh", "-c", (mounts + [command]).joined(separator: " && ")])
  }

  /// A segment acknowledged two days ago, and one of the same age that is not.
  private func fillSpool() throws -> (sent: String, unsent: String) {
    let run = "machine/var/spool/segrec/lobby/main/20261120T021308.123Z_a3f1"
    try FileManager.default.createDirectory(
      atPath: directory.file("\(run)/sent"), withIntermediateDirectories: true)
    let sent = "\(run)/sent/00000000_20261120T021308.123Z_450000.m4s"
    let unsent = "\(run)/00000001_20261120T021313.123Z_450000.m4s"
    for name in [sent, unsent, "\(run)/init.mp4"] {
      try Data([1]).write(to: URL(fileURLWithPath: directory.file(name)))
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSinceNow: -172_800)], ofItemAtPath: directory.file(name))
    }
    return (sent, unsent)
  }

  @Test func `brings a cron line that removes what is acknowledged and old`() throws {
    let (sent, unsent) = try fillSpool()
    let lines = try installed("/etc/cron.d/segrec-clean").split(separator: "\n")
    let line = try #require(lines.last { $0.hasPrefix("*") })
    let path = try #require(lines.first { $0.hasPrefix("PATH=") })
    // Five fields of time and the user stand before the command.
    let command = line.split(separator: " ", maxSplits: 6)[6]
    let result = try run("\(path) && \(command)")
    #expect(result.status == 0 && result.errors.isEmpty, "\(result.errors)")
    #expect(!FileManager.default.fileExists(atPath: directory.file(sent)))
    #expect(FileManager.default.fileExists(atPath: directory.file(unsent)))
  }

  @Test func `brings a unit that removes what is acknowledged and old`() throws {
    let (sent, unsent) = try fillSpool()
    let unit = try installed("/etc/systemd/system/segrec-clean.service")
    let command = try #require(unit.split(separator: "\n").first { $0.hasPrefix("ExecStart=") }).dropFirst(10)
    let result = try run(String(command))
    #expect(result.status == 0, "\(result.errors)")
    #expect(!FileManager.default.fileExists(atPath: directory.file(sent)))
    #expect(FileManager.default.fileExists(atPath: directory.file(unsent)))
  }

  @Test func `brings units that systemd accepts`() throws {
    let names = ["segrec-record@lobby.service", "segrec-upload.service", "segrec-serve.service", "segrec-clean.timer"]
    let units = names.map { "/etc/systemd/system/\($0)" }.joined(separator: " ")
    let result = try run("systemd-analyze verify \(units)")
    #expect(result.status == 0 && !result.errors.contains("segrec"), "\(result.errors)")
  }

  @Test(arguments: ["segrec-record@.service", "segrec-upload.service", "segrec-serve.service"])
  func `brings commands that segrec understands`(unit: String) throws {
    let text = try installed("/etc/systemd/system/\(unit)")
    let command = try #require(text.split(separator: "\n").first { $0.hasPrefix("ExecStart=") }).dropFirst(10)
    // Without the options of the environment file only they are missing: nothing is unknown.
    let result = try run("timeout 5 \(command.replacingOccurrences(of: "$SEGREC", with: "$NONE")) --help")
    #expect(result.status == 0 && result.output.contains("usage: segrec"), "\(result.errors)")
  }
}
