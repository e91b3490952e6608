import Glibc

/// The end of this process.
package enum Exit {
  /// Ends the process at once with `code`, after C's exit handlers.
  package static func now(_ code: Int32) -> Never { exit(code) }

  /// Ends the process without any handler: for a second request to stop, when the first one takes too long.
  package static func atOnce(_ code: Int32) -> Never { _exit(code) }
}
