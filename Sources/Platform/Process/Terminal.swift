import Glibc

/// What is known of the terminal behind a descriptor.
package enum Terminal {
  package static let standardOutput: Int32 = STDOUT_FILENO
  package static let standardError: Int32 = STDERR_FILENO

  package static func isTerminal(_ number: Int32) -> Bool { isatty(number) == 1 }

  /// Columns; nil where there is no terminal or it does not tell.
  package static func width(_ number: Int32) -> Int? {
    var size = winsize()
    guard unsafe ioctl(number, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
    return Int(size.ws_col)
  }

  /// Writes a result for a person or a script, all of it.
  package static func write(_ text: String, to number: Int32 = standardOutput) throws(SystemError) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = try checked("write to", number == standardError ? "standard error" : "standard output") {
        unsafe rest.withUnsafeBytes { unsafe Glibc.write(number, $0.baseAddress, $0.count) }
      }
      rest = rest.dropFirst(count)
    }
  }
}
