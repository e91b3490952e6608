import Synchronization

/// A request to stop that everything can see. It is never taken back.
package final class StopFlag: Sendable {
  private let flag = Atomic(false)

  package init() {}

  package var isRequested: Bool { flag.load(ordering: .acquiring) }

  /// True for the first request, false for those after it.
  @discardableResult
  package func request() -> Bool { !flag.exchange(true, ordering: .acquiringAndReleasing) }
}
