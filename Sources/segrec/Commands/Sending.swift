import Delivery
import HLS
import Platform
import Storage

/// An upload at work on its own thread.
final class Sending: Sendable {
  let uploader: Uploader
  private let result: Monitor<Result<UploadSummary, UploadError>?>
  private let thread: Thread

  /// - Parameters:
  ///   - recording: what is sent; nil sends the whole spool.
  init(
    _ configuration: UploadConfiguration, tree: Tree, recording: RecordingName?, mode: Uploader.Mode, log: Log,
    onLadder: @escaping @Sendable (Ladder.Level) -> Void = { _ in }
  ) throws(Failure) {
    let result = Monitor<Result<UploadSummary, UploadError>?>(nil)
    self.result = result
    do throws(UploadError) {
      let uploader = try Uploader(configuration, tree: tree, log: log, onLadder: onLadder)
      self.uploader = uploader
      do throws(SystemError) {
        thread = try Thread("upload") {
          let ended: Result<UploadSummary, UploadError>
          do throws(UploadError) {
            ended = .success(try uploader.run(mode, recording: recording))
          } catch {
            ended = .failure(error)
          }
          result.withLock { $0 = ended }
        }
      } catch {
        throw UploadError.misconfigured("\(error)")
      }
    } catch {
      throw Failure(exitCode(of: error), "--upload: \(error)")
    }
  }

  /// Waits for the end for at most `timeout`; nil when it has not come.
  func wait(_ timeout: Duration) -> Result<UploadSummary, UploadError>? {
    result.wait(timeout: timeout) { $0 }
  }

  func join() { thread.join() }
}

/// The exit code and the last line of an upload that left something behind; nil when all is acknowledged.
///
/// - Parameter command: what sends the rest.
func shortfall(_ summary: UploadSummary, spool: String, command: String) -> Failure? {
  if summary.isComplete { return nil }
  if let refusal = summary.refusal {
    // Credentials, or an address or certificate that does not do.
    return Failure(
      summary.refusesCredentials ? .refused : .unavailable,
      "the server refused: \(refusal); \(counted(summary.remaining, "segment")) not uploaded and kept in \(spool); "
        + "put \(summary.refusesCredentials ? "the credentials" : "that") right, then: \(command)")
  }
  let problem = summary.lastProblem.map { " (\($0))" } ?? ""
  // An end marker that is left waits for what was refused.
  if summary.remaining == 0, summary.refused > 0 || summary.refusedRuns > 0 {
    let what =
      summary.refusedRuns > 0
      ? "the init section of \(counted(summary.refusedRuns, "run")) for good\(problem), so "
        + "\(counted(summary.refused, "segment")) cannot be sent, kept in \(spool)"
      : "\(counted(summary.refused, "segment")) for good\(problem), kept in refused/ under \(spool)"
    return Failure(
      .temporaryFailure, "the server refused \(what); when the server has changed: \(command) --retry-refused")
  }
  let what = summary.remaining > 0 ? counted(summary.remaining, "segment") : "the end of the recording"
  return Failure(.temporaryFailure, "\(what) not uploaded and kept in \(spool)\(problem); to send: \(command)")
}

/// A word as a shell reads it back.
func quoted(_ word: String) -> String {
  let isPlain =
    !word.isEmpty
    && word.utf8.allSatisfy { byte in
      (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
        || "/._-:=@%+,".utf8.contains(byte)
    }
  return isPlain ? word : "'\(word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''"))'"
}
