/// How a command ended, after sysexits.h, so that scripts can tell what to do next.
enum ExitCode: Int32, Equatable {
  /// All done and, where there is a server, acknowledged.
  case success = 0
  /// The command line is wrong.
  case usage = 64
  /// The input holds nothing usable.
  case badData = 65
  /// The input cannot be opened.
  case noInput = 66
  /// Something needed (encoder, device, address) is not available.
  case unavailable = 69
  /// A defect in segrec itself.
  case software = 70
  /// A file cannot be created.
  case cannotCreate = 73
  /// Writing failed: disk full, read-only, I/O error.
  case ioError = 74
  /// Segments are still in the spool.
  case temporaryFailure = 75
  /// The server refused the credentials.
  case refused = 77
}
