import Glibc

/// The environment of the process. Only the command line reads it and passes values on.
package enum Environment {
  /// The value of a variable; nil when it is not set.
  package static func value(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    return unsafe String(cString: value)
  }

  /// All variables as `NAME=value`, as the process was given them; for a process that gets the same.
  static func all() throws(SystemError) -> [String] {
    // Not `environ`, which is a variable that any thread of a C library may change.
    let bytes = try FileDescriptor.open(forReading: "/proc/self/environ").readAll(limit: 4 << 20)
    return bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
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
