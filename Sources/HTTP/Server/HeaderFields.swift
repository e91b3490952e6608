/// Header fields of a request or a response in order, names compared without case (RFC 9110 §5.1).
package struct HeaderFields: Equatable, Sendable {
  package struct Field: Equatable, Sendable {
    package let name: String
    package let value: String

    package init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  package private(set) var fields: [Field]

  package init(_ fields: [Field] = []) {
    self.fields = fields
  }

  package mutating func append(_ name: String, _ value: String) {
    fields.append(Field(name, value))
  }

  /// The first value under `name`; nil when there is none.
  package subscript(_ name: String) -> String? {
    fields.first { sameName($0.name, name) }?.value
  }

  /// All values under `name`, in order.
  package func all(_ name: String) -> [String] {
    fields.filter { sameName($0.name, name) }.map(\.value)
  }

  /// The comma-separated members of every field called `name`, blanks trimmed, empty members left out (RFC 9110 §5.6.1).
  /// Only for fields whose values hold no quoted commas.
  package func list(_ name: String) -> [Substring] {
    all(name).flatMap { $0.split(separator: ",") }.map { $0.trimmingBlanks() }.filter { !$0.isEmpty }
  }
}

private func sameName(_ a: String, _ b: String) -> Bool {
  a.utf8.count == b.utf8.count && zip(a.utf8, b.utf8).allSatisfy { $0.asciiLowercased == $1.asciiLowercased }
}

extension UInt8 {
  /// The byte with A-Z made a-z.
  package var asciiLowercased: UInt8 { self >= 0x41 && self <= 0x5A ? self | 0x20 : self }
}

extension StringProtocol {
  /// The text without spaces and tabs at either end (OWS of RFC 9110 §5.6.3).
  package func trimmingBlanks() -> SubSequence {
    let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    guard let first = firstIndex(where: { !isBlank($0) }), let last = lastIndex(where: { !isBlank($0) }) else {
      return self[startIndex..<startIndex]
    }
    return self[first...last]
  }

  /// True when both have the same bytes apart from the case of ASCII letters.
  package func equalsIgnoringCase(_ other: some StringProtocol) -> Bool {
    utf8.count == other.utf8.count && zip(utf8, other.utf8).allSatisfy { $0.asciiLowercased == $1.asciiLowercased }
  }
}
