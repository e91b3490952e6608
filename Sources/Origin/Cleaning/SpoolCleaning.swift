import HLS
import Storage

/// Cleans a recorder's spool: segments go one by one, a run's init section and marker when nothing else is left and the
/// server has them.
///
/// No lock is needed for a segment: one that lies in `sent` concerns nobody any more, and one that expires unsent may be
/// missed by its uploader, which finds it gone. What holds a run together goes only where no recorder is at work.
struct SpoolCleaning {
  private let configuration: CleanConfiguration
  private let policy: RetentionPolicy
  private let tree: Tree
  private let now: WallClockTime
  private let selectionLimit: Int

  /// - Parameter selectionLimit: candidates for size in one pass over the spool; the default takes about 5 MB.
  init(_ configuration: CleanConfiguration, _ tree: Tree, _ now: WallClockTime, selectionLimit: Int = 16_384) {
    self.selectionLimit = selectionLimit
    self.configuration = configuration
    policy = configuration.policy
    self.tree = tree
    self.now = now
  }

  /// A sent segment's place among all of the spool: by age first.
  struct Candidate: Comparable {
    let end: WallClockTime
    let key: RunKey
    let name: SegmentName
    let bytes: Int64

    static func < (a: Candidate, b: Candidate) -> Bool {
      if a.end != b.end { return a.end < b.end }
      return a.key == b.key ? a.name < b.name : a.key < b.key
    }
  }

  func run(_ telling: inout CleanTelling) throws(StorageError) {
    let limit = try sizeLimit()
    for recording in try tree.recordings() {
      do throws(StorageError) {
        try clean(recording, limit, &telling)
      } catch {
        telling.problem(error, in: recording)
      }
    }
  }

  // MARK: What goes for size

  /// The last sent segment, by age, that has to go so that the spool is no larger than it may be; nil when none has to.
  private func sizeLimit() throws(StorageError) -> Candidate? {
    guard policy.maximumSize != nil else { return nil }
    var limit: Candidate?
    var excess: Int64?
    while true {
      var selection = OldestSelection<Candidate>(limit: selectionLimit)
      let total = try offer(to: &selection, after: limit)
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

  /// Lists the whole spool. Returns the bytes that stay when all has gone that goes for its age.
  private func offer(
    to selection: inout OldestSelection<Candidate>, after limit: Candidate?
  ) throws(StorageError) -> Int64 {
    var total: Int64 = 0
    for recording in try tree.recordings() {
      do throws(StorageError) {
        for key in try tree.runs(of: recording) { total += try offer(key, to: &selection, after: limit) }
      } catch {
        // Told when it is this recording's turn to be cleaned.
        continue
      }
    }
    return total
  }

  private func offer(
    _ key: RunKey, to selection: inout OldestSelection<Candidate>, after limit: Candidate?
  ) throws(StorageError) -> Int64 {
    let (survey, census) = try survey(key)
    var total = census.bytes
    for file in survey.candidates() {
      if policy.reason(file.standing, end: file.end, at: now) != nil {
        total -= file.bytes
      } else if file.standing == .free {
        let candidate = Candidate(end: file.end, key: key, name: file.name, bytes: file.bytes)
        if limit.map({ $0 < candidate }) ?? true { selection.offer(candidate) }
      }
    }
    return total
  }

  private func survey(_ key: RunKey) throws(StorageError) -> (RunSurvey, Census) {
    var survey = RunSurvey(unsentMayGo: policy.unsentAge != nil)
    let census = try tree.census(of: key) { entry, area, facts in survey.add(entry, area, facts) }
    return (survey, census)
  }

  // MARK: What goes

  /// A run after its segments were dealt with.
  private struct Rest {
    let key: RunKey
    let survey: RunSurvey
    let isNewest: Bool
    /// Segments and pieces that stay.
    var segments: Int
    /// All that stays.
    var amount: CleanReport.Amount
    /// Something lies in it that is not of the contract, or is being written.
    let hasStrangers: Bool

    var isEmpty: Bool { amount.files == 0 && !hasStrangers }
  }

  private func clean(
    _ recording: RecordingName, _ limit: Candidate?, _ telling: inout CleanTelling
  ) throws(StorageError) {
    guard try tree.holdsRecording(recording) else { return }
    let renditions = try tree.renditionsWithRuns(of: recording)
    let before = telling.report.freed
    if !configuration.isDryRun { try tree.finishRunRemovals(of: recording) }
    var rests: [Rest] = []
    for rendition in renditions {
      let runs = try tree.runs(of: recording, rendition: rendition)
      for run in runs {
        let key = RunKey(recording: recording, rendition: rendition, run: run)
        rests.append(try cleanSegments(of: key, isNewest: run == runs.last, limit, &telling))
      }
    }
    let isGone = try finish(recording, rests, renditions, &telling)
    telling.removed(telling.report.freed - before, of: recording, isWhole: isGone)
  }

  private func cleanSegments(
    of key: RunKey, isNewest: Bool, _ limit: Candidate?, _ telling: inout CleanTelling
  ) throws(StorageError) -> Rest {
    let (survey, census) = try survey(key)
    var rest = Rest(
      key: key, survey: survey, isNewest: isNewest, segments: survey.count,
      amount: .init(files: census.files, bytes: census.bytes),
      hasStrangers: census.foreign > 0 || census.temporaries > 0)
    for file in survey.candidates() {
      guard let reason = reason(file, key, limit) else { continue }
      let path = EntryPath(key: key, entry: .segment(file.name))
      do throws(StorageError) {
        // Sent or put back by an uploader since it was listed: then it is not the file that was decided upon.
        if !configuration.isDryRun, try !tree.remove(path, area: file.area) { continue }
      } catch {
        telling.problem(error, in: key.recording)
        continue
      }
      let gone = CleanReport.Amount(files: 1, bytes: file.bytes)
      rest.segments -= 1
      rest.amount = rest.amount - gone
      if reason == .unsent { telling.expired(path, bytes: file.bytes, wasRefused: file.area == .refused) }
      telling.change { $0.add(gone, for: reason) }
    }
    telling.change { $0.remaining = $0.remaining + rest.amount }
    return rest
  }

  private func reason(_ file: RunSurvey.File, _ key: RunKey, _ limit: Candidate?) -> RetentionPolicy.Reason? {
    if let reason = policy.reason(file.standing, end: file.end, at: now) { return reason }
    guard let limit, file.standing == .free else { return nil }
    return Candidate(end: file.end, key: key, name: file.name, bytes: file.bytes) <= limit ? .size : nil
  }

  // MARK: What holds a run together

  /// Removes runs, and at last the recording, of which nothing is left to keep. Returns true when the recording is gone.
  private func finish(
    _ recording: RecordingName, _ rests: [Rest], _ renditions: [RenditionName], _ telling: inout CleanTelling
  ) throws(StorageError) -> Bool {
    // A newer run keeps the recording's place in time, so that older ones can go while it is being recorded.
    for rest in rests where !rest.isNewest && mayGo(rest) { try remove(rest, &telling) }
    guard rests.allSatisfy({ mayGo($0) }), try isOld(recording, rests) else { return false }
    let newest = rests.filter(\.isNewest)
    guard newest.allSatisfy({ $0.isEmpty || $0.survey.marker?.kind == .end }) else { return false }
    if configuration.isDryRun {
      if try tree.isLocked(recording) {
        telling.change { $0.inUse.append(recording) }
        return false
      }
      for rest in newest { try remove(rest, &telling) }
      let census = try tree.census(of: recording)
      guard census.foreign == 0, census.temporaries == 0 else { return false }
    } else {
      guard let lock = try tree.tryLockPresent(recording) else {
        telling.change { $0.inUse.append(recording) }
        return false
      }
      for rest in newest { try remove(rest, &telling) }
      guard try tree.pruneEmpty(lock, emptied: renditions) else { return false }
    }
    telling.change { $0.recordings.append(recording) }
    return true
  }

  /// Nothing in the run is wanted: no segment is left, and the server has its marker and with it all there was. Where
  /// the unsent expires, the server need not have it.
  private func mayGo(_ rest: Rest) -> Bool {
    guard rest.segments == 0, !rest.hasStrangers else { return false }
    return rest.isEmpty || rest.survey.isAcknowledged || hasExpired(rest)
  }

  private func hasExpired(_ rest: Rest) -> Bool {
    rest.survey.marker != nil && policy.reason(.unsent, end: rest.survey.closed, at: now) != nil
  }

  /// A recorder that has made its directory is about to take its lock, and must find it free.
  private func isOld(_ recording: RecordingName, _ rests: [Rest]) throws(StorageError) -> Bool {
    if rests.contains(where: { !$0.isEmpty }) { return true }
    guard let changed = try tree.changed(recording) else { return false }
    return now.milliseconds - changed > SpoolCleaning.emptyAge
  }

  /// Milliseconds.
  private static let emptyAge: Int64 = 60_000

  private func remove(_ rest: Rest, _ telling: inout CleanTelling) throws(StorageError) {
    var gone = rest.amount
    if !configuration.isDryRun {
      guard let census = try tree.removeFinishedRun(rest.key) else { return }
      gone = CleanReport.Amount(files: census.files, bytes: census.bytes)
    }
    if let marker = rest.survey.marker, !rest.survey.isAcknowledged {
      telling.expired(EntryPath(key: rest.key, entry: .marker(marker)), bytes: 0, wasRefused: false)
    }
    telling.change { report in
      report.finished = report.finished + gone
      report.remaining = report.remaining - gone
    }
  }
}
