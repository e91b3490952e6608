/// How far apart key frames are, and so whether one is missing.
struct PictureGroups: Equatable, Sendable {
  /// Pictures since the last key frame.
  private(set) var missing = 0
  /// The most that have lain between two of them; nil before the first.
  private var longest: Int?
  /// 24 s of a usual picture.
  private static let many = 600

  mutating func note(isKey: Bool) {
    guard isKey else {
      missing += 1
      return
    }
    longest = longest.map { max($0, missing) } ?? 0
    missing = 0
  }

  /// A key frame should have come.
  var isOverdue: Bool { missing > (longest.map { min(Self.many, max(100, 3 * $0)) } ?? Self.many) }

  /// There have been key frames, and there will be no more.
  var haveEnded: Bool { longest.map { missing > max(Self.many, 10 * $0) } ?? false }
}
