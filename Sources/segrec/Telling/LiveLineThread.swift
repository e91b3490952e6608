import Platform

/// How much of something comes per second, from its totals over the last looks.
struct RateMeter {
  private var history: [(total: Int64, time: Duration)] = []
  /// Looks kept: two seconds and a half at two looks a second.
  private static let length = 6

  /// - Parameters:
  ///   - total: all so far.
  ///   - time: of the recording, when there was so much.
  /// - Returns: per second; 0 while unknown.
  mutating func rate(_ total: Int64, at time: Duration) -> Double {
    if history.last.map({ $0.time != time }) ?? true { history.append((total, time)) }
    if history.count > RateMeter.length { history.removeFirst() }
    guard let first = history.first, time > first.time else { return 0 }
    return Double(total - first.total) / ((time - first.time) / .seconds(1))
  }
}

/// The meters of a live line.
struct LiveMeters {
  var bytes = RateMeter()
  var frames = RateMeter()
}

/// Shows the live line twice a second where standard error is a terminal.
final class LiveLineThread: Sendable {
  private let log: Log
  private let stop = Monitor(false)
  private let thread: Thread?

  init(_ log: Log, _ status: @escaping @Sendable (inout LiveMeters) -> LiveStatus) {
    self.log = log
    guard log.hasLiveLine else {
      thread = nil
      return
    }
    let stop = stop
    do throws(SystemError) {
      thread = try Thread("live-line", stackSize: 256 * 1024) {
        var meters = LiveMeters()
        repeat {
          let width = Terminal.width(Terminal.standardError) ?? 80
          log.showLive(renderLiveLine(status(&meters), width: width - 1))
        } while stop.wait(timeout: .milliseconds(500), until: { $0 ? true : nil }) == nil
      }
    } catch {
      thread = nil
      log.warning("live-line", "no live line: \(error)")
    }
  }

  /// Takes the line away. Later calls do nothing.
  func end() {
    let isFirst = stop.withLock { stopped in
      defer { stopped = true }
      return !stopped
    }
    guard isFirst else { return }
    thread?.join()
    log.showLive(nil)
  }
}
