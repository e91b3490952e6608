import Platform

/// Whom events are told besides standard error: a command, and readers of a socket.
final class Telling: Sendable {
  /// The log that tells them.
  let log: Log
  private let command: CommandQueue?
  private let socket: LineSocket?

  /// How long the command and the readers may take for what is waiting when all is over.
  private static let patience: Duration = .seconds(2)

  init(_ arguments: TellingArguments, _ log: Log) throws(Failure) {
    do throws(SystemError) {
      command = try arguments.command.map { (text) throws(SystemError) in try CommandQueue(text) }
    } catch {
      throw Failure(.unavailable, "--on-event: \(error)")
    }
    do throws(SystemError) {
      socket = try arguments.socket.map { (path) throws(SystemError) in try LineSocket(path: path) }
    } catch {
      throw Failure(.cannotCreate, "--event-socket: \(error)")
    }
    guard command != nil || socket != nil else {
      self.log = log
      return
    }
    self.log = log.heard { [command, socket] event, line in
      command?.put(event.name, line)
      socket?.send(line)
    }
  }

  /// Tells the end, and lets the others take it. The exit code and the words are those of the command's last line.
  func end(_ code: ExitCode, _ message: String) {
    log.whisper(
      Log.Event(code == .success ? .info : .error, "exit", message, ["code": .integer(Int64(code.rawValue))]))
    command?.end(patience: Telling.patience)
    socket?.end(patience: Telling.patience)
    if let (lost, failed) = command?.counts, lost + failed > 0 {
      log.warning("on-event", "--on-event: \(failed) runs of the command failed, \(lost) events were left out")
    }
  }

  /// Does the work of a command and tells how it ended.
  func whole(_ body: () throws(Failure) -> ExitCode) throws(Failure) -> ExitCode {
    do throws(Failure) {
      let code = try body()
      end(code, "done")
      return code
    } catch {
      end(error.code, error.message)
      throw error
    }
  }
}
