package import HLS
package import Platform
package import Storage

/// Removes what has served its time from a spool or a root. May run at any moment, beside recorders, uploaders, servers
/// and other cleaners: what was decided from a listing is looked at again before more than one file goes at once.
package struct Cleaner: Sendable {
  private let configuration: CleanConfiguration
  private let tree: Tree
  private let log: Log

  package init(_ configuration: CleanConfiguration, _ tree: Tree, _ log: Log) {
    self.configuration = configuration
    self.tree = tree
    self.log = log
  }

  /// Does all that is to be done at `now`. One file that cannot be removed does not keep the others: it is told in the
  /// report and the log.
  ///
  /// - Throws: when the tree itself cannot be listed.
  package func run(now: WallClockTime) throws(StorageError) -> CleanReport {
    var report = CleanReport()
    report.isDryRun = configuration.isDryRun
    var telling = CleanTelling(report, log)
    switch configuration.place {
    case .spool: try SpoolCleaning(configuration, tree, now).run(&telling)
    case .root: try RootCleaning(configuration, tree, now).run(&telling)
    }
    return telling.report
  }
}

/// Keeps the report and tells the log while a cleaner works.
struct CleanTelling {
  private(set) var report: CleanReport
  private let log: Log
  /// Problems that are told; the others are counted.
  static let keptProblems = 20

  init(_ report: CleanReport, _ log: Log) {
    self.report = report
    self.log = log
  }

  mutating func change(_ body: (inout CleanReport) -> Void) { body(&report) }

  mutating func problem(_ error: StorageError, in recording: RecordingName) {
    // What keeps one step may keep the next: it is one problem.
    guard !report.problems.contains(error) else { return }
    report.problemCount += 1
    // A directory that may not be changed would fail once for each file.
    guard report.problems.count < CleanTelling.keptProblems else { return }
    report.problems.append(error)
    log.error("clean", "\(error)", ["recording": .init(recording)])
  }

  /// What no server has goes: each one is said.
  func expired(_ path: EntryPath, bytes: Int64, wasRefused: Bool) {
    log.warning(
      "expire-unsent",
      "\(path) \(report.isDryRun ? "would be" : "was") removed although "
        + (wasRefused ? "the server refused it" : "no server has it"),
      [
        "recording": .init(path.key.recording), "file": .init(path), "bytes": .init(bytes),
        "refused": .flag(wasRefused), "dry_run": .flag(report.isDryRun),
      ])
  }

  func removed(_ amount: CleanReport.Amount, of recording: RecordingName, isWhole: Bool) {
    guard amount.files > 0 else { return }
    let what = isWhole ? "all of \(recording)" : "expired files of \(recording)"
    log.info(
      "clean",
      "\(report.isDryRun ? "would remove" : "removed") \(what): \(amount.files) files, \(amount.bytes) bytes",
      [
        "recording": .init(recording), "files": .init(amount.files), "bytes": .init(amount.bytes),
        "whole": .flag(isWhole), "dry_run": .flag(report.isDryRun),
      ])
  }
}
