/// Which files have served their time. Pure: the listing and the time are arguments.
package struct RetentionPolicy: Equatable, Sendable {
  /// Age since the end of the media at which a file may go; nil keeps any age.
  package var maximumAge: Duration?
  /// Bytes that may stay in all; when there are more, the oldest go first. Nil is no limit.
  package var maximumSize: Int64?
  /// Whether what no server has acknowledged may go as well.
  package var expiresUnsent: Bool

  package init(maximumAge: Duration? = .seconds(86_400), maximumSize: Int64? = nil, expiresUnsent: Bool = false) {
    self.maximumAge = maximumAge
    self.maximumSize = maximumSize
    self.expiresUnsent = expiresUnsent
  }

  /// One thing that stays or goes as a whole: a segment of a spool, a recording of a root.
  package struct Item: Equatable, Sendable {
    package enum Standing: Equatable, Sendable {
      /// A server has it, or it is over and nobody writes to it.
      case free
      /// No server has acknowledged it, or one has refused it.
      case unsent
      /// Somebody is at work on it: never goes.
      case inUse
    }
    package var end: WallClockTime
    package var bytes: Int64
    package var standing: Standing

    package init(end: WallClockTime, bytes: Int64, standing: Standing) {
      self.end = end
      self.bytes = bytes
      self.standing = standing
    }
  }

  /// Positions in `items` of what has to go, oldest first. Items of one age go in their order.
  package func expired(_ items: [Item], at now: WallClockTime) -> [Int] {
    let candidates = items.indices
      .filter { items[$0].standing == .free || (expiresUnsent && items[$0].standing == .unsent) }
      .sorted { (items[$0].end, $0) < (items[$1].end, $1) }
    var excess = maximumSize.map { limit in items.reduce(0) { $0 &+ $1.bytes } - limit } ?? 0
    return candidates.filter { index in
      let age = Duration.milliseconds(now.milliseconds(since: items[index].end))
      let isOld = maximumAge.map { age > $0 } ?? false
      guard isOld || excess > 0 else { return false }
      excess -= items[index].bytes
      return true
    }
  }
}
