/// The smallest of however many elements, at most `limit` of them, in memory for twice as many. Pure.
///
/// With elements ordered by age these are the oldest. Who needs more of them than the limit lists once more and offers
/// only those after the last one that was selected.
package struct OldestSelection<Element: Comparable & Sendable>: Sendable {
  package let limit: Int
  private var kept: [Element] = []
  /// Something was left out: there are more elements than the limit.
  package private(set) var isCut = false

  /// - Parameter limit: at least 1.
  package init(limit: Int) {
    self.limit = max(1, limit)
  }

  package mutating func offer(_ element: Element) {
    kept.append(element)
    if kept.count >= 2 * limit { cut() }
  }

  /// What was selected, smallest first.
  package mutating func sorted() -> [Element] {
    cut()
    return kept
  }

  private mutating func cut() {
    kept.sort()
    if kept.count <= limit { return }
    kept.removeLast(kept.count - limit)
    isCut = true
  }
}
