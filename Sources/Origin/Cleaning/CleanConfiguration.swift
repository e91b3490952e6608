import HLS

/// What `clean` is asked to do.
package struct CleanConfiguration: Equatable, Sendable {
  /// What kind of tree it is, which decides what may go.
  package enum Place: Equatable, Sendable {
    /// A recorder's: segments go one by one once a server has them.
    case spool
    /// A server's: whole recordings go once they are over.
    case root
  }

  package var place: Place
  /// Age since the end of the media at which sent segments, or ended recordings, go; nil keeps any age.
  package var maximumAge: Duration? = .seconds(86_400)
  /// Bytes of the tree above which the oldest sent segments, or ended recordings, go; nil is no limit.
  package var maximumSize: Int64?
  /// Age at which segments of a spool go although no server has acknowledged them, those included that one has refused.
  /// Nil is never. Not for a root.
  package var unsentAge: Duration?
  /// How long after its last arrival a recording of a root counts as over when its end never came.
  package var idleEnd: Duration = .seconds(86_400)
  /// Only tells what would go.
  package var isDryRun = false

  package init(_ place: Place) {
    self.place = place
  }

  var policy: RetentionPolicy {
    RetentionPolicy(maximumAge: maximumAge, maximumSize: maximumSize, unsentAge: place == .spool ? unsentAge : nil)
  }

  /// - Throws: what is wrong, in the words of the command line.
  package func validate() throws(CleanConfigurationError) {
    if let maximumAge, maximumAge < .zero { throw .negative(option: "--max-age") }
    if let maximumSize, maximumSize < 0 { throw .negative(option: "--max-size") }
    if let unsentAge, unsentAge < .zero { throw .negative(option: "--expire-unsent") }
    if unsentAge != nil, place == .root { throw .unsentOfRoot }
  }
}

package enum CleanConfigurationError: Error, Equatable, Sendable, CustomStringConvertible {
  case negative(option: String)
  case unsentOfRoot

  package var description: String {
    switch self {
    case .negative(let option): "\(option) must not be negative"
    case .unsentOfRoot: "--expire-unsent goes with --spool: what lies under --root has been sent"
    }
  }
}
