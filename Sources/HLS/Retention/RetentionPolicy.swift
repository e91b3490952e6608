/// Which files have served their time. Pure: the listing and the time are arguments.
///
/// Age is decided item by item. Size needs all of them: whoever lists adds up what stays, and offers what is `mayGoForSize`
/// to an `OldestSelection`.
package struct RetentionPolicy: Equatable, Sendable {
  /// Age since the end of the media at which a file may go; nil keeps any age.
  package var maximumAge: Duration?
  /// Bytes that may stay in all; when there are more, the oldest go first. Nil is no limit.
  package var maximumSize: Int64?
  /// Age since the end of the media at which a file goes although no server has acknowledged it; nil, as always unless a
  /// person asked for it, is never.
  package var unsentAge: Duration?

  package init(
    maximumAge: Duration? = .seconds(86_400), maximumSize: Int64? = nil, unsentAge: Duration? = nil
  ) {
    self.maximumAge = maximumAge
    self.maximumSize = maximumSize
    self.unsentAge = unsentAge
  }

  /// Whose a file is.
  package enum Standing: Equatable, Sendable {
    /// A server has it, or its recording is over and nobody writes to it.
    case free
    /// No server has acknowledged it, or one has refused it.
    case unsent
    /// Somebody is at work on it: never goes.
    case inUse
  }

  /// Why a file goes.
  package enum Reason: String, Equatable, Sendable, CaseIterable {
    /// Older than the maximum age.
    case age
    /// The oldest while there is more than the maximum size.
    case size
    /// Never acknowledged, but older than what was asked to be kept.
    case unsent
  }

  /// What goes for its age alone: one segment of a spool, or one recording of a root. What ends later than `now`, because
  /// one of the clocks is or was wrong, has no age.
  package func reason(_ standing: Standing, end: WallClockTime, at now: WallClockTime) -> Reason? {
    switch standing {
    case .free: isOlder(end, than: maximumAge, at: now) ? .age : nil
    case .unsent: isOlder(end, than: unsentAge, at: now) ? .unsent : nil
    case .inUse: nil
    }
  }

  /// Bytes that have to go when there are `total`; 0 when all may stay.
  package func excess(over total: Int64) -> Int64 { maximumSize.map { max(0, total - $0) } ?? 0 }

  private func isOlder(_ end: WallClockTime, than age: Duration?, at now: WallClockTime) -> Bool {
    guard let age else { return false }
    return Duration.milliseconds(now.milliseconds(since: end)) > age
  }

  /// Wall clocks that were never set begin in 1970 or 2000. A name from before this instant says nothing about age.
  static let earliestBelievable = WallClockTime(milliseconds: 978_307_200_000)  // 2001-01-01T00:00:00Z

  /// When the media of a file ended: what its name says, or where the recorder's clock had not been set, when the file
  /// was written.
  ///
  /// - Parameter modified: milliseconds since the epoch.
  package static func end(named end: WallClockTime, modified: Int64) -> WallClockTime {
    end < earliestBelievable ? max(end, WallClockTime(milliseconds: modified)) : end
  }
}
