import Glibc
import Synchronization

/// A descriptor that log lines go to, and the live line below them.
final class LogOutput: Sendable {
  let descriptor: Int32
  let isTerminal: Bool
  private let state = Mutex(State())

  private struct State {
    var live: String?
    /// Lines that nobody was there to read.
    var unread = 0
  }

  init(_ descriptor: Int32) {
    self.descriptor = descriptor
    isTerminal = Terminal.isTerminal(descriptor)
  }

  /// - Parameter patience: how long a reader that does not read may hold up this line.
  func write(_ line: String, patience: Duration) {
    state.withLock { state in
      guard isWritable(patience) else {
        state.unread += 1
        return
      }
      var text = ""
      if state.live != nil { text += LogOutput.eraseLine }
      if state.unread > 0 { text += "\(state.unread) lines before this one went unread\n" }
      state.unread = 0
      text += line
      if let live = state.live { text += live }
      send(text)
    }
  }

  func showLive(_ text: String?) {
    guard isTerminal else { return }
    let width = max(8, Terminal.width(descriptor) ?? 80)
    state.withLock { state in
      guard isWritable(.zero) else { return }
      // A line that reaches the last column wraps on some terminals and could not be erased.
      let shown = text.map { String($0.prefix(width - 1)) }
      if shown == state.live { return }
      send((state.live != nil || shown != nil ? LogOutput.eraseLine : "") + (shown ?? ""))
      state.live = shown
    }
  }

  /// Carriage return, then "erase in line" (ECMA-48 §8.3.41).
  private static let eraseLine = "\r\u{1B}[K"

  private func isWritable(_ patience: Duration) -> Bool {
    // A failed poll says nothing about the descriptor, and then writing is right.
    (try? Poll.wait(descriptor, for: Int16(POLLOUT), timeout: patience)) ?? true
  }

  private func send(_ text: String) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { bytes in
        uninterrupted { unsafe Glibc.write(descriptor, bytes.baseAddress, bytes.count) }
      }
      // There is nobody left to tell that the log is gone.
      if count <= 0 { return }
      rest = rest.dropFirst(count)
    }
  }
}
