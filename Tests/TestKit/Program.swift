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
  }

  private struct Said {
    var output = Data()
    var errors = Data()
    var openStreams = 2
    var status: Int32?
  }

  private let process: Process
  private let input: Pipe?
  private let said = Mutex(Said())
  private let changed = NSCondition()

  /// - Parameters:
  ///   - executable: an absolute path, or a name looked up in PATH.
  ///   - environment: added to this process's own; a value of nil removes the variable.
  ///   - hasInput: true to write to its standard input with `write` and `closeInput`.
  public init(
    _ executable: String, _ arguments: [String], environment: [String: String?] = [:], directory: String? = nil,
    hasInput: Bool = false
  ) throws {
    process = Process()
    if executable.hasPrefix("/") {
      process.executableURL = URL(fileURLWithPath: executable)
      process.arguments = arguments
    } else {
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = [executable] + arguments
    }
    var variables = ProcessInfo.processInfo.environment
    for (name, value) in environment { variables[name] = value }
    process.environment = variables
    if let directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
    input = hasInput ? Pipe() : nil
    process.standardInput = input ?? FileHandle.nullDevice
    let output = Pipe()
    let errors = Pipe()
    process.standardOutput = output
    process.standardError = errors
    process.terminationHandler = { [weak self] ended in
      self?.update {
        $0.status = ended.terminationReason == .uncaughtSignal ? -ended.terminationStatus : ended.terminationStatus
      }
    }
    output.fileHandleForReading.readabilityHandler = { [weak self] handle in
      let data = handle.availableData
      if data.isEmpty { handle.readabilityHandler = nil }
      self?.update { data.isEmpty ? ($0.openStreams -= 1) : $0.output.append(data) }
    }
    errors.fileHandleForReading.readabilityHandler = { [weak self] handle in
      let data = handle.availableData
      if data.isEmpty { handle.readabilityHandler = nil }
      self?.update { data.isEmpty ? ($0.openStreams -= 1) : $0.errors.append(data) }
    }
    try process.run()
  }

  deinit {
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
  }

  public var processIdentifier: Int32 { process.processIdentifier }

  public func send(signal number: Int32) {
    kill(process.processIdentifier, number)
  }

  public func write(_ data: Data) throws {
    try input?.fileHandleForWriting.write(contentsOf: data)
  }

  public func closeInput() throws {
    try input?.fileHandleForWriting.close()
  }

  /// What it wrote to standard error so far.
  public var errors: String { said.withLock { String(decoding: $0.errors, as: UTF8.self) } }
  /// What it wrote to standard output so far.
  public var output: String { said.withLock { String(decoding: $0.output, as: UTF8.self) } }

  /// Waits until it has ended and both streams are read to their end. Kills it at the deadline and throws.
  @discardableResult
  public func wait(seconds: Double = 60) throws -> Result {
    let ended = hold(seconds: seconds) { $0.status != nil && $0.openStreams == 0 }
    if !ended {
      kill(process.processIdentifier, SIGKILL)
      throw Failure(description: "still running after \(seconds) s; it said:\n\(errors)\(output)")
    }
    return said.withLock {
      Result(
        status: $0.status ?? -1, output: String(decoding: $0.output, as: UTF8.self),
        errors: String(decoding: $0.errors, as: UTF8.self))
    }
  }

  /// Waits until `text` stands in standard error or standard output.
  public func wait(for text: String, seconds: Double = 30) throws {
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
    seconds: Double = 60
  ) throws -> Result {
    try Program(executable, arguments, environment: environment, directory: directory).wait(seconds: seconds)
  }

  /// Runs a tool that must succeed and returns its standard output.
  @discardableResult
  public static func tool(_ executable: String, _ arguments: [String], seconds: Double = 60) throws -> String {
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
