import Glibc
import Synchronization

/// Where a process tells what happens, one line per event. A value that is handed to whoever needs it.
///
/// A line goes out in one `write`, so that lines of several threads and processes do not mix. A reader that does not
/// read (a terminal stopped with Ctrl-S, a full pipe) never holds up a recording: lines are counted instead of written
/// then, and the count follows with the next line that goes out.
package struct Log: Sendable {
  package enum Format: String, Sendable, CaseIterable {
    /// A sentence for a person.
    case text
    /// One JSON object (RFC 8259) a line: `time`, `level`, `event`, `message`, then the event's fields.
    case json
    /// Sentences, but warnings and errors only.
    case quiet
  }

  package enum Level: String, Sendable, Comparable, CaseIterable {
    case info, warning, error

    package static func < (a: Level, b: Level) -> Bool { a.rank < b.rank }

    private var rank: Int {
      switch self {
      case .info: 0
      case .warning: 1
      case .error: 2
      }
    }
  }

  /// One thing that happened.
  package struct Event: Equatable, Sendable {
    package var level: Level
    /// A word that scripts select by: `segment`, `upload`, `gap`.
    package var name: String
    /// A sentence without a full stop that says it all to a person, fields included.
    package var message: String
    /// The same for scripts, in this order. Keys are words in lower case with underscores.
    package var fields: [(key: String, value: Value)]

    package init(
      _ level: Level, _ name: String, _ message: String, _ fields: KeyValuePairs<String, Value> = [:]
    ) {
      self.level = level
      self.name = name
      self.message = message
      self.fields = fields.map { ($0.key, $0.value) }
    }

    fileprivate func masked(by mask: (String) -> String) -> Event {
      var event = self
      event.message = mask(message)
      event.fields = fields.map { field in
        if case .text(let text) = field.value { return (field.key, .text(mask(text))) }
        return field
      }
      return event
    }

    package static func == (a: Event, b: Event) -> Bool {
      a.level == b.level && a.name == b.name && a.message == b.message
        && a.fields.elementsEqual(b.fields) { $0.key == $1.key && $0.value == $1.value }
    }
  }

  /// A field's value.
  package enum Value: Equatable, Sendable {
    case text(String)
    case integer(Int64)
    case number(Double)
    case flag(Bool)
  }

  private enum Sink: Sendable {
    case descriptor(LogOutput)
    case closure(@Sendable (Event) -> Void)
  }

  private let format: Format
  private let sink: Sink
  private var mask: (@Sendable (String) -> String)?
  private var listener: (@Sendable (Event, _ line: String) -> Void)?

  /// Writes to a descriptor that stays open as long as the process, standard error as a rule.
  package init(format: Format, descriptor: Int32 = STDERR_FILENO) {
    self.format = format
    sink = .descriptor(LogOutput(descriptor))
  }

  /// Hands events to `body`, on whatever thread they happen.
  package init(_ body: @escaping @Sendable (Event) -> Void) {
    format = .json
    sink = .closure(body)
  }

  /// Tells nobody.
  package static let none = Log { _ in }

  /// The same log with every text passed through `mask` first, which takes secrets out.
  package func masked(by mask: @escaping @Sendable (String) -> String) -> Log {
    var log = self
    log.mask = mask
    return log
  }

  /// The same log, which also hands every event to `body`, masked and whatever the format, with its line of JSON. It is
  /// called on whatever thread the event happens on and must not wait.
  package func heard(by body: @escaping @Sendable (Event, _ line: String) -> Void) -> Log {
    var log = self
    log.listener = body
    return log
  }

  /// Hands an event to the listener alone, for what standard error is told in another way.
  package func whisper(_ event: Event) {
    guard let listener else { return }
    let event = mask.map(event.masked) ?? event
    listener(event, LogLine.render(event, .json, milliseconds: WallClock.now()))
  }

  package func write(_ event: Event) {
    whisper(event)
    let event = mask.map(event.masked) ?? event
    switch sink {
    case .closure(let body): body(event)
    case .descriptor(let output):
      guard format != .quiet || event.level > .warning else { return }
      output.write(
        LogLine.render(event, format, milliseconds: WallClock.now()),
        patience: event.level == .error ? .seconds(1) : .zero)
    }
  }

  package func info(_ name: String, _ message: String, _ fields: KeyValuePairs<String, Value> = [:]) {
    write(Event(.info, name, message, fields))
  }

  package func warning(_ name: String, _ message: String, _ fields: KeyValuePairs<String, Value> = [:]) {
    write(Event(.warning, name, message, fields))
  }

  package func error(_ name: String, _ message: String, _ fields: KeyValuePairs<String, Value> = [:]) {
    write(Event(.error, name, message, fields))
  }

  /// Shows `text` as the live line below all others, in place of the one before; nil takes it away. Only where the
  /// descriptor is a terminal and the format is text; elsewhere nothing happens. Cut at the terminal's width.
  package func showLive(_ text: String?) {
    if case .descriptor(let output) = sink, format == .text { output.showLive(text) }
  }

  /// True where `showLive` shows something.
  package var hasLiveLine: Bool {
    if case .descriptor(let output) = sink, format == .text { output.isTerminal } else { false }
  }
}

extension Log.Value: ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
  package init(stringLiteral value: String) { self = .text(value) }
}

extension Log.Value: ExpressibleByIntegerLiteral {
  package init(integerLiteral value: Int64) { self = .integer(value) }
}

extension Log.Value: ExpressibleByFloatLiteral {
  package init(floatLiteral value: Double) { self = .number(value) }
}

extension Log.Value: ExpressibleByBooleanLiteral {
  package init(booleanLiteral value: Bool) { self = .flag(value) }
}

extension Log.Value {
  /// Any integer type.
  package init(_ value: some BinaryInteger) { self = .integer(Int64(clamping: value)) }
  /// Any name or other value that has a text form.
  package init(_ value: some CustomStringConvertible) { self = .text(value.description) }
}
