import Foundation
import Synchronization

/// A program under test, running: its output is collected as it comes, so that a test can wait for a line and kill it.
public final class Program: Sendable {
  /// How a program ended and what it said.
  public struct Result: Sendable {
    /// Exit code, or minus the signal that ended it.
    public let status: Int32
    public let output: String
    public let errors: String
  }

  public struct Failure: Error, CustomStringConvertible {
    public let description: String

    public init(description: String) {
      self.description = description
    }
  }

  private struct Said {
    var output = Data()
    var errors = Data()
    var openStreams = 2
    var status: Int32?
    /// Cleared when the process has been waited for: its number may be another's by then.
    var isRunning = true
  }

  private static let spawning = NSLock()
  private static let running = Mutex<Set<pid_t>>([])
  private let said = Mutex(Said())
  private let changed = NSCondition()
  private let input: Mutex<Int32>
  public let processIdentifier: Int32

  /// - Parameters:
  ///   - executable: an absolute path, or a name looked up in PATH.
  ///   - environment: added to this process's own; a value of nil removes the variable.
  ///   - hasInput: true to write to its standard input with `write` and `closeInput`.
  public init(
    _ executable: String, _ arguments: [String], environment: [String: String?] = [:], directory: String? = nil,
    hasInput: Bool = false
  ) throws {
    var variables = ProcessInfo.processInfo.environment
    variables["TMPDIR"] = Scratch.path
    for (name, value) in environment { variables[name] = value }
    // Between `pipe` and its close-on-exec flag another spawn could inherit an end and keep it open.
    Program.spawning.lock()
    defer { Program.spawning.unlock() }
    let output = try Program.pipe()
    let errors = try Program.pipe()
    let input = hasInput ? try Program.pipe() : (read: open("/dev/null", O_RDONLY | O_CLOEXEC), write: -1)

    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input.read, 0)
    posix_spawn_file_actions_adddup2(&actions, output.write, 1)
    posix_spawn_file_actions_adddup2(&actions, errors.write, 2)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // A test runner may block signals; the program under test must see them.
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))

    let place = directory.map { ["env", "-C", $0] } ?? []
    let command = place + [executable] + arguments
    let words = command.map { strdup($0) }
    let settings = variables.map { strdup("\($0.key)=\($0.value)") }
    defer { (words + settings).forEach { free($0) } }
    var started: pid_t = 0
    let code = posix_spawnp(&started, command[0], &actions, &attributes, words + [nil], settings + [nil])
    close(output.write)
    close(errors.write)
    close(input.read)
    self.input = Mutex(input.write)
    let child = started
    processIdentifier = child
    guard code == 0 else {
      close(output.read)
      close(errors.read)
      said.withLock { $0.isRunning = false }
      throw Failure(description: "cannot start \(executable): \(String(cString: strerror(code)))")
    }
    Program.running.withLock { _ = $0.insert(child) }
    follow(output.read) { $0.output.append($1) }
    follow(errors.read) { $0.errors.append($1) }
    Thread.detachNewThread { [self] in
      var status: Int32 = 0
      var info = siginfo_t()
      while waitid(P_PID, id_t(child), &info, WEXITED | WNOWAIT) == -1, errno == EINTR {}
      update { said in
        Program.running.withLock {
          waitpid(child, &status, 0)
          $0.remove(child)
        }
        said.isRunning = false
        said.status = status & 0x7f == 0 ? status >> 8 & 0xff : -(status & 0x7f)
      }
    }
  }

  deinit {
    closeInput()
  }

  /// Reads a stream to its end on a thread of its own, which keeps this object alive until then.
  private func follow(_ descriptor: Int32, keep: @escaping @Sendable (inout Said, Data) -> Void) {
    Thread.detachNewThread { [self] in
      var buffer = [UInt8](repeating: 0, count: 65_536)
      while true {
        let count = read(descriptor, &buffer, buffer.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { break }
        let data = Data(buffer[..<count])
        update { keep(&$0, data) }
      }
      close(descriptor)
      update { $0.openStreams -= 1 }
    }
  }

  private static func pipe() throws -> (read: Int32, write: Int32) {
    var ends: [Int32] = [0, 0]
    guard Foundation.pipe(&ends) == 0 else { throw Failure(description: "pipe: errno \(errno)") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  /// Ends what tests that failed left running.
  static func killAll() {
    running.withLock { for process in $0 { kill(process, SIGKILL) } }
  }

  /// Sends a signal, unless the program has ended.
  public func send(signal number: Int32) {
    said.withLock { if $0.isRunning { _ = kill(processIdentifier, number) } }
  }

  /// Writes all of `data` to its standard input. A program that no longer reads is an error.
  public func write(_ data: Data) throws {
    try input.withLock { descriptor in
      var rest = data
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
        guard count > 0 else { throw Failure(description: "write to standard input: errno \(errno)") }
        rest = rest.dropFirst(count)
      }
    }
  }

  public func closeInput() {
    input.withLock { descriptor in
      if descriptor >= 0 { close(descriptor) }
      descriptor = -1
    }
  }

  /// What it wrote to standard error so far.
  public var errors: String { said.withLock { String(decoding: $0.errors, as: UTF8.self) } }
  /// What it wrote to standard output so far.
  public var output: String { said.withLock { String(decoding: $0.output, as: UTF8.self) } }

  /// Waits until it has ended and both streams are read to their end. Kills it at the deadline and throws.
  @discardableResult
  public func wait(seconds: Double = 120) throws -> Result {
    let ended = hold(seconds: seconds) { $0.status != nil && $0.openStreams == 0 }
    if !ended {
      send(signal: SIGKILL)
      throw Failure(description: "still running after \(seconds) s; it said:\n\(errors)\(output)")
    }
    return said.withLock {
      Result(
        status: $0.status ?? -1, output: String(decoding: $0.output, as: UTF8.self),
        errors: String(decoding: $0.errors, as: UTF8.self))
    }
  }

  /// Waits until `text` stands in standard error or standard output.
  public func wait(for text: String, seconds: Double = 60) throws {
    let seen = hold(seconds: seconds) {
      String(decoding: $0.errors, as: UTF8.self).contains(text)
        || String(decoding: $0.output, as: UTF8.self).contains(text)
        || ($0.status != nil && $0.openStreams == 0)
    }
    guard seen, errors.contains(text) || output.contains(text) else {
      throw Failure(description: "'\(text)' was not said within \(seconds) s; it said:\n\(errors)\(output)")
    }
  }

  /// Runs a program to its end.
  public static func run(
    _ executable: String, _ arguments: [String], environment: [String: String?] = [:], directory: String? = nil,
    seconds: Double = 120
  ) throws -> Result {
    try Program(executable, arguments, environment: environment, directory: directory).wait(seconds: seconds)
  }

  /// Runs a tool that must succeed and returns its standard output.
  @discardableResult
  public static func tool(_ executable: String, _ arguments: [String], seconds: Double = 120) throws -> String {
    let result = try run(executable, arguments, seconds: seconds)
    guard result.status == 0 else {
      throw Failure(
        description: "\(executable) \(arguments.joined(separator: " ")): \(result.status)\n\(result.errors)")
    }
    return result.output
  }

  private func update(_ change: (inout Said) -> Void) {
    said.withLock { change(&$0) }
    changed.lock()
    changed.broadcast()
    changed.unlock()
  }

  private func hold(seconds: Double, until condition: (Said) -> Bool) -> Bool {
    let deadline = Date(timeIntervalSinceNow: seconds)
    changed.lock()
    defer { changed.unlock() }
    while !said.withLock({ condition($0) }) {
      if !changed.wait(until: deadline) { return said.withLock { condition($0) } }
    }
    return true
  }
}

/// Makes an attempt up to three times, until one is good, and answers what came of each. What goes wrong by construction
/// goes wrong each time; what a busy machine delays does not.
public func attempts<R>(until isGood: (R) -> Bool, _ attempt: (_ number: Int) throws -> R) rethrows -> [R] {
  var results: [R] = []
  repeat {
    results.append(try attempt(results.count))
  } while results.count < 3 && !results.suffix(1).contains(where: isGood)
  return results
}

/// Waits until `condition` holds, looking again every few milliseconds: for what another process does to a file or a
/// server, of which nobody tells us.
public func eventually(within seconds: Double, _ condition: () throws -> Bool) rethrows -> Bool {
  let deadline = ContinuousClock.now + .seconds(seconds)
  while true {
    if try condition() { return true }
    if ContinuousClock.now >= deadline { return false }
    poll(nil, 0, 10)
  }
}

/// The directory of the built products: the tests' own bundle lies in it.
public let productsDirectory: String = {
  let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }
  if let bundle { return (bundle.bundlePath as NSString).deletingLastPathComponent }
  let executable = CommandLine.arguments[0]
  return (executable as NSString).deletingLastPathComponent
}()

/// The built `segrec`: SEGREC_BINARY where it is set, else the one built beside the tests.
public let segrecBinary: String =
  ProcessInfo.processInfo.environment["SEGREC_BINARY"] ?? productsDirectory + "/segrec"

/// The package's own directory: where `scripts/` and `segments/` are.
public let packageDirectory: String = URL(fileURLWithPath: #filePath)
  .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path
