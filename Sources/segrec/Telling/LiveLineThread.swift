import Platform

/// Bits per second of what was recorded lately, from the totals at each look.
struct BitrateMeter {
  private var history: [(bytes: Int64, ticks: Int64)] = []
  private static let length = 4

  /// - Parameters:
  ///   - bytes: all so far.
  ///   - ticks: media so far, 90 kHz.
  mutating func rate(bytes: Int64, ticks: Int64) -> Int64 {
    if history.last.map({ $0.ticks != ticks }) ?? true { history.append((bytes, ticks)) }
    if history.count > BitrateMeter.length { history.removeFirst() }
    guard let first = history.first, ticks > first.ticks else { return 0 }
    return Int64(Double(bytes - first.bytes) * 8 * 90_000 / Double(ticks - first.ticks))
  }
}

/// Shows the live line twice a second where standard error is a terminal.
final class LiveLineThread: Sendable {
  private let log: Log
  private let stop = Monitor(false)
  private let thread: Thread?

  init(_ log: Log, _ status: @escaping @Sendable (inout BitrateMeter) -> LiveStatus) {
    self.log = log
    guard log.hasLiveLine else {
      thread = nil
      return
    }
    let stop = stop
    do throws(SystemError) {
      thread = try Thread("live-line", stackSize: 256 * 1024) {
        var meter = BitrateMeter()
        repeat {
          let width = Terminal.width(Terminal.standardError) ?? 80
          log.showLive(renderLiveLine(status(&meter), width: width - 1))
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
