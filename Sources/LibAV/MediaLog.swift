import CLibAV
import Glibc
import Synchronization

/// libav's log lines. libav has one callback per process, so this is the one piece of shared state here: set it once, at
/// the start.
package enum MediaLog {
  package enum Level: Int32, Comparable, Sendable {
    case error = 16
    case warning = 24
    case info = 32
    case debug = 48

    package static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }
  }

  /// What a line says and which part of libav said it (`h264`, `mov,mp4,…`). Lines name inputs as they were given,
  /// credentials included: the sink redacts.
  package struct Line: Sendable {
    package let level: Level
    package let source: String
    package let text: String
  }

  /// In a struct, since a bare closure is wrapped once more each time a `Mutex` lends it, until its call overflows the
  /// stack.
  private struct Sink {
    var take: (@Sendable (Line) -> Void)?
  }
  private static let sink = Mutex(Sink())

  /// What libav said last about something that failed, and on which thread.
  private static let complaint = Mutex((thread: pthread_t(), text: ""))

  /// The last error line of this thread, which is forgotten; nil where there is none. Addresses are cut off, since they
  /// stand there with all their secrets.
  static func takeComplaint() -> String? {
    let text = complaint.withLock { last -> String in
      defer { last.text = "" }
      return last.thread == pthread_self() ? last.text : ""
    }
    var words = text.split(separator: " ")
    if let address = words.lastIndex(where: { $0.utf8.contains(UInt8(ascii: "/")) }) {
      guard let cause = words[address...].firstIndex(where: { $0.hasSuffix(":") }) else { return nil }
      words.removeFirst(cause + 1)
    }
    let line = words.joined(separator: " ")
    return line.isEmpty ? nil : line.hasSuffix(".") ? String(line.dropLast()) : line
  }

  /// Hands lines of at most `level` (`.warning` includes `.error`) to `sink`, on whatever thread libav runs; nil discards.
  package static func register(_ level: Level, sink: (@Sendable (Line) -> Void)?) {
    MediaLog.sink.withLock { $0.take = sink }
    av_log_set_level(sink == nil ? AV_LOG_QUIET : level.rawValue)
    unsafe av_log_set_callback { object, level, format, arguments in
      guard level <= av_log_get_level(), let format = unsafe format, let arguments = unsafe arguments else { return }
      unsafe MediaLog.deliver(object, level, format, arguments)
    }
  }

  private static func deliver(
    _ object: UnsafeMutableRawPointer?, _ level: Int32, _ format: UnsafePointer<CChar>, _ arguments: CVaListPointer
  ) {
    guard let sink = sink.withLock(\.take) else { return }
    let text = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1024) { buffer -> String in
      // No prefix: the source is told apart. 0 suppresses it.
      var printPrefix: Int32 = 0
      guard let base = buffer.baseAddress,
        unsafe av_log_format_line2(object, level, format, arguments, base, Int32(buffer.count), &printPrefix) >= 0
      else { return "" }
      return unsafe String(cString: base)
    }
    let line = text.split(separator: "\n", omittingEmptySubsequences: true).joined(separator: " ")
    guard !line.isEmpty else { return }
    if level <= Level.error.rawValue { complaint.withLock { $0 = (pthread_self(), line) } }
    let rounded: Level = level <= 16 ? .error : level <= 24 ? .warning : level <= 32 ? .info : .debug
    sink(Line(level: rounded, source: unsafe sourceName(object), text: line))
  }

  /// The first field of an object libav logs for points to its `AVClass`.
  private static func sourceName(_ object: UnsafeMutableRawPointer?) -> String {
    guard let object = unsafe object,
      let definition = unsafe object.load(as: UnsafePointer<AVClass>?.self),
      let name = unsafe definition.pointee.item_name?(object)
    else { return "libav" }
    return source(named: unsafe String(cString: name))
  }

  /// An object without a format or codec, a parser for one, calls itself `NULL`.
  static func source(named name: String) -> String { name == "NULL" || name.isEmpty ? "libav" : name }
}
