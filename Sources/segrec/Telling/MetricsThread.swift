import Platform

/// Keeps a file of metrics up to date.
final class MetricsThread: Sendable {
  private let stop = Monitor(false)
  private let thread: Thread?

  private static let interval: Duration = .seconds(5)

  /// - Parameter path: nil keeps none.
  /// - Throws: when the file cannot be written at all; later failures are told once each time they begin.
  init(_ path: String?, _ log: Log, _ metrics: @escaping @Sendable () -> Metrics) throws(Failure) {
    guard let path else {
      thread = nil
      return
    }
    do throws(SystemError) {
      try FileSystem.replace(path, with: Array(metrics().text.utf8))
      let stop = stop
      thread = try Thread("metrics", stackSize: 256 * 1024) {
        var isFailing = false
        var isOver = false
        while !isOver {
          isOver = stop.wait(timeout: MetricsThread.interval) { $0 ? true : nil } ?? false
          do throws(SystemError) {
            try FileSystem.replace(path, with: Array(metrics().text.utf8))
            isFailing = false
          } catch {
            if !isFailing { log.warning("metrics", "--metrics: \(error)") }
            isFailing = true
          }
        }
      }
    } catch {
      throw Failure(.cannotCreate, "--metrics: \(error)")
    }
  }

  /// Writes the last figures. Later calls do nothing.
  func end() {
    stop.withLock { $0 = true }
    thread?.join()
  }
}
