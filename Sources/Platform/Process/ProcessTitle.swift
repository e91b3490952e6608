import Glibc

/// The command line that `ps` and /proc/<pid>/cmdline show.
package enum ProcessTitle {
  /// Overwrites what is secret in the process's arguments with asterisks. Arguments keep their length.
  ///
  /// - Parameter secrets: argument text to hide wherever it occurs; empty texts hide nothing.
  /// - Throws: when the kernel does not say where the arguments are.
  package static func scrub(_ secrets: [String]) throws(SystemError) {
    let patterns = secrets.map { Array($0.utf8) }.filter { !$0.isEmpty }
    if patterns.isEmpty { return }
    // CommandLine gives copies; the kernel shows the original bytes, whose place stands in fields 48 and 49 of
    // /proc/self/stat (proc(5): arg_start and arg_end). The second field is in parentheses and may hold anything.
    let stat = try FileDescriptor.open(forReading: "/proc/self/stat").readAll(limit: 8192)
    let closing = UInt8(ascii: ")")
    let fields = stat[(stat.lastIndex(of: closing) ?? 0)...].split(separator: UInt8(ascii: " "))
    func address(_ field: Int) -> Int? {
      fields.indices.contains(field) ? Int(String(decoding: fields[field], as: UTF8.self)) : nil
    }
    // Field 3 comes right after the parenthesis, at index 1.
    guard let start = address(48 - 2), let end = address(49 - 2), start != 0, start < end,
      let base = unsafe UnsafeMutableRawPointer(bitPattern: start)
    else { throw SystemError(operation: "find", subject: "the arguments of this process", code: ENOENT) }
    let bytes = unsafe UnsafeMutableRawBufferPointer(start: base, count: end - start)
    for pattern in patterns where pattern.count <= bytes.count {
      var at = 0
      while at <= bytes.count - pattern.count {
        if pattern.indices.allSatisfy({ unsafe bytes[at + $0] == pattern[$0] }) {
          for offset in pattern.indices { unsafe bytes[at + offset] = UInt8(ascii: "*") }
          at += pattern.count
        } else {
          at += 1
        }
      }
    }
  }
}
