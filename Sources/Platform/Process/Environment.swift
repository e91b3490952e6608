import Glibc

/// The environment of the process. Only the command line reads it and passes values on.
package enum Environment {
  /// The value of a variable; nil when it is not set.
  package static func value(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    return unsafe String(cString: value)
  }

  /// The machine's name, cut at the first dot.
  package static var hostName: String {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
      guard let start = buffer.baseAddress, unsafe gethostname(start, buffer.count - 1) == 0 else { return "" }
      unsafe buffer[buffer.count - 1] = 0
      return unsafe String(String(cString: start).prefix { $0 != "." })
    }
  }

  package static var processNumber: Int32 { getpid() }
}
