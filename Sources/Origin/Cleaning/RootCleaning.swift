import HLS
import Storage

/// Cleans what a server holds: whole recordings, once they are over.
struct RootCleaning {
  private let configuration: CleanConfiguration
  private let policy: RetentionPolicy
  private let tree: Tree
  private let now: WallClockTime

  init(_ configuration: CleanConfiguration, _ tree: Tree, _ now: WallClockTime) {
    self.configuration = configuration
    policy = configuration.policy
    self.tree = tree
    self.now = now
  }

  /// A recording's place among all of them: by age first.
  private struct Candidate: Comparable {
    let end: WallClockTime
    let recording: RecordingName
    let bytes: Int64

    static func < (a: Candidate, b: Candidate) -> Bool {
      a.end == b.end ? a.recording < b.recording : a.end < b.end
    }
  }

  /// Milliseconds without a byte after which nobody receives a file any more.
  private static let longestReceipt: Int64 = 3_600_000
  /// Candidates for size in one pass over the root: about 3 MB.
  private static let selectionLimit = 16_384

  func run(_ telling: inout CleanTelling) throws(StorageError) {
    if !configuration.isDryRun { try tree.finishRemovals() }
    let limit = try sizeLimit()
    for recording in try tree.recordings() {
      do throws(StorageError) {
        try clean(recording, limit, &telling)
      } catch {
        telling.problem(error, in: recording)
      }
    }
  }

  /// The last ended recording, by age, that has to go so that the root is no larger than it may be; nil when none has to.
  private func sizeLimit() throws(StorageError) -> Candidate? {
    guard policy.maximumSize != nil else { return nil }
    var limit: Candidate?
    var excess: Int64?
    while true {
      var selection = OldestSelection<Candidate>(limit: RootCleaning.selectionLimit)
      var total: Int64 = 0
      for recording in try tree.recordings() {
        do throws(StorageError) {
          total += try offer(recording, to: &selection, after: limit)
        } catch {
          // Told when it is this recording's turn to be cleaned.
          continue
        }
      }
      var rest = excess ?? policy.excess(over: total)
      if rest == 0 { return limit }
      for candidate in selection.sorted() {
        limit = candidate
        rest -= candidate.bytes
        if rest <= 0 { return limit }
      }
      if !selection.isCut { return limit }
      excess = rest
    }
  }

  private func offer(
    _ recording: RecordingName, to selection: inout OldestSelection<Candidate>, after limit: Candidate?
  ) throws(StorageError) -> Int64 {
    let (survey, census) = try survey(recording)
    let standing = try standing(of: recording, survey, census)
    if policy.reason(standing, end: end(survey, census), at: now) != nil { return 0 }
    if standing == .free {
      let candidate = Candidate(end: end(survey, census), recording: recording, bytes: census.bytes)
      if limit.map({ $0 < candidate }) ?? true { selection.offer(candidate) }
    }
    return census.bytes
  }

  private func clean(
    _ recording: RecordingName, _ limit: Candidate?, _ telling: inout CleanTelling
  ) throws(StorageError) {
    let (survey, census) = try survey(recording)
    let amount = CleanReport.Amount(files: census.files, bytes: census.bytes)
    let standing = try standing(of: recording, survey, census)
    guard let reason = reason(recording, standing, end(survey, census), census, limit) else {
      if !configuration.isDryRun, census.temporaries > 0 {
        _ = try tree.removeAbandonedTemporaries(of: recording, before: abandonedBefore)
      }
      telling.change { $0.remaining = $0.remaining + amount }
      return
    }
    if !configuration.isDryRun {
      guard let lock = try tree.tryLockPresent(recording) else {
        telling.change { report in
          report.inUse.append(recording)
          report.remaining = report.remaining + amount
        }
        return
      }
      guard try tree.removeRecording(lock, judgedBy: census) == .removed else {
        telling.change { $0.remaining = $0.remaining + amount }
        return
      }
    }
    telling.change { report in
      report.add(amount, for: reason)
      if census.foreign == 0 { report.recordings.append(recording) }
    }
    telling.removed(amount, of: recording, isWhole: census.foreign == 0)
  }

  private func reason(
    _ recording: RecordingName, _ standing: RetentionPolicy.Standing, _ end: WallClockTime, _ census: Census,
    _ limit: Candidate?
  ) -> RetentionPolicy.Reason? {
    if let reason = policy.reason(standing, end: end, at: now) { return reason }
    guard let limit, standing == .free else { return nil }
    return Candidate(end: end, recording: recording, bytes: census.bytes) <= limit ? .size : nil
  }

  private func survey(_ recording: RecordingName) throws(StorageError) -> (RecordingSurvey, Census) {
    var survey = RecordingSurvey()
    let census = try tree.census(of: recording) { key, entry, area, facts in survey.add(key, entry, area, facts) }
    return (survey, census)
  }

  private func standing(
    of recording: RecordingName, _ survey: RecordingSurvey, _ census: Census
  ) throws(StorageError) -> RetentionPolicy.Standing {
    // A directory without a run is nobody's recording, whatever else it holds.
    guard census.files > 0, !survey.isEmpty, try !tree.isLocked(recording) else { return .inUse }
    if survey.isComplete, census.newestTemporary < abandonedBefore { return .free }
    let idle = Duration.milliseconds(now.milliseconds - lastArrival(census))
    return idle > configuration.idleEnd ? .free : .inUse
  }

  /// A file that is being received has changed since then; what has not was left by a server that was killed, and counts
  /// for nothing.
  private var abandonedBefore: Int64 { now.milliseconds - RootCleaning.longestReceipt }

  private func end(_ survey: RecordingSurvey, _ census: Census) -> WallClockTime {
    survey.end(lastArrival: lastArrival(census))
  }

  /// Milliseconds since the epoch.
  private func lastArrival(_ census: Census) -> Int64 {
    max(census.newest, census.newestTemporary < abandonedBefore ? 0 : census.newestTemporary)
  }
}
