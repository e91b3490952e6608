import Glibc
import Synchronization

/// Runs a shell command for one line after the other, one process at a time. Nobody waits for it: when the command is
/// slower than the lines come, the oldest waiting ones are left out and counted.
package final class CommandQueue: Sendable {
  private struct Item {
    let name: String
    let line: String
  }

  /// What the thread and its owner share.
  private final class Work: Sendable {
    let queue = HandoffQueue<Item>(capacity: 256)
    let lost = Atomic(0)
    let failed = Atomic(0)
    /// Set when no more lines come: processes are killed then.
    let deadline = Mutex<ContinuousClock.Instant?>(nil)
  }

  private let work: Work
  private let thread: Thread

  /// How long one process may take before it is killed with its children.
  private static let timeLimit: Duration = .seconds(30)

  /// - Parameters:
  ///   - command: for `/bin/sh -c`. It reads the line from its standard input and finds the event's name in
  ///     `SEGREC_EVENT`; what it prints on standard output goes nowhere.
  package init(_ command: String) throws(SystemError) {
    let work = Work()
    self.work = work
    let variables = try Environment.all().filter { !$0.hasPrefix("SEGREC_EVENT=") }
    thread = try Thread("on-event", stackSize: 128 * 1024) {
      while let item = work.queue.take() {
        let isLate = work.deadline.withLock { $0.map { $0 <= .now } ?? false }
        if isLate {
          work.lost.add(1, ordering: .relaxed)
        } else if CommandQueue.run(command, variables, item, work) != 0 {
          work.failed.add(1, ordering: .relaxed)
        }
      }
    }
  }

  /// Lines for which no process was run, and processes that failed or were killed.
  package var counts: (lost: Int, failed: Int) {
    (work.lost.load(ordering: .relaxed), work.failed.load(ordering: .relaxed))
  }

  package func put(_ name: String, _ line: String) {
    work.lost.add(work.queue.putDroppingOldest(Item(name: name, line: line)) ?? 0, ordering: .relaxed)
  }

  /// Lets the command see what is waiting for up to `patience`, then kills it. Later calls do nothing.
  package func end(patience: Duration) {
    work.deadline.withLock { $0 = .now + patience }
    work.queue.close()
    thread.join()
  }

  /// Runs one process to its end.
  ///
  /// - Returns: what `waitpid` tells; -1 when it could not be started or had to be killed.
  private static func run(_ command: String, _ variables: [String], _ item: Item, _ work: Work) -> Int32 {
    guard let pair = UnixSocket.makePair() else { return -1 }
    let input = FileDescriptor(owning: pair.0, path: "line")
    let output = FileDescriptor(owning: pair.1, path: "line")
    // Written before the process starts: a line is much shorter than a socket's buffer, so nothing waits.
    let line = Array(item.line.utf8)
    _ = unsafe line.withUnsafeBytes { unsafe write(output.number, $0.baseAddress, $0.count) }
    _ = consume output

    guard let process = start(command, variables + ["SEGREC_EVENT=\(item.name)"], input: input.number) else {
      return -1
    }
    let limit = ContinuousClock.now + timeLimit
    var status: Int32 = 0
    var wait: Duration = .milliseconds(1)
    while true {
      let result = uninterrupted { unsafe waitpid(process, &status, WNOHANG) }
      if result != 0 { return result == process ? status : -1 }
      let isLate = ContinuousClock.now >= limit || work.deadline.withLock { $0.map { $0 <= .now } ?? false }
      if isLate {
        // Its own group, so that what the shell started goes with it.
        kill(-process, SIGKILL)
        _ = uninterrupted { unsafe waitpid(process, &status, 0) }
        return -1
      }
      // The kernel tells of a process's end by a signal to all; looking now and then disturbs nobody.
      Thread.pause(wait)
      wait = min(wait * 2, .milliseconds(50))
    }
  }

  private static func start(_ command: String, _ variables: [String], input: Int32) -> pid_t? {
    var actions = unsafe posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    unsafe posix_spawn_file_actions_init(&actions)
    unsafe posix_spawnattr_init(&attributes)
    defer {
      unsafe posix_spawn_file_actions_destroy(&actions)
      unsafe posix_spawnattr_destroy(&attributes)
    }
    unsafe posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
    unsafe posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
    // Signals as a program expects them, and a group of its own: Ctrl-C is for the recording.
    var none = sigset_t()
    var pipes = sigset_t()
    unsafe sigemptyset(&none)
    unsafe sigemptyset(&pipes)
    unsafe sigaddset(&pipes, SIGPIPE)
    unsafe posix_spawnattr_setsigmask(&attributes, &none)
    unsafe posix_spawnattr_setsigdefault(&attributes, &pipes)
    unsafe posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))

    let command: [String] = ["/bin/sh", "-c", command]
    let words = unsafe command.map { unsafe strdup($0) }
    let settings = unsafe variables.map { unsafe strdup($0) }
    defer {
      for index in unsafe words.indices { unsafe free(words[index]) }
      for index in unsafe settings.indices { unsafe free(settings[index]) }
    }
    var process: pid_t = 0
    let code = unsafe posix_spawn(&process, "/bin/sh", &actions, &attributes, words + [nil], settings + [nil])
    return code == 0 ? process : nil
  }
}
