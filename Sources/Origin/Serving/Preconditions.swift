import HTTP

/// A strong entity tag, quotes included (RFC 9110 §8.8.3).
struct EntityTag: Equatable, CustomStringConvertible {
  let description: String

  init(_ opaque: String) { description = "\"\(opaque)\"" }

  /// True when a field of `If-None-Match` names this tag; the weak comparison of RFC 9110 §8.8.3.2.
  func isListed(in fields: [Substring]) -> Bool {
    fields.contains { field in
      field == "*" || (field.hasPrefix("W/") ? field.dropFirst(2) : field) == description
    }
  }
}

/// Which part of a representation an answer carries (RFC 9110 §14).
enum ByteRange: Equatable {
  case whole
  /// Offset and length in bytes; length at least 1.
  case part(offset: Int64, length: Int64)
  /// No byte of the range exists: 416.
  case unsatisfiable

  /// - Parameters:
  ///   - range: the Range field. Anything but one valid byte range means the whole, as RFC 9110 §14.2 allows: several
  ///     ranges would need a multipart answer, which no player asks for.
  ///   - ifRange: the If-Range field: a range counts only while this is the tag (§13.1.5).
  init(_ range: String?, ifRange: String?, tag: EntityTag, size: Int64) {
    self = .whole
    guard let range, ifRange == nil || ifRange == tag.description else { return }
    let text = range.trimmingBlanks()
    guard let equals = text.firstIndex(of: "="), text[..<equals].trimmingBlanks().equalsIgnoringCase("bytes") else {
      return
    }
    let specification = text[text.index(after: equals)...].trimmingBlanks()
    guard let dash = specification.firstIndex(of: "-") else { return }
    let firstText = specification[..<dash].trimmingBlanks()
    let lastText = specification[specification.index(after: dash)...].trimmingBlanks()
    if firstText.isEmpty {
      guard let suffix = decimal(lastText) else { return }
      let length = min(suffix, size)
      self = length > 0 ? .part(offset: size - length, length: length) : .unsatisfiable
    } else {
      guard let first = decimal(firstText), let last = lastText.isEmpty ? Int64.max : decimal(lastText), last >= first
      else { return }
      self = first < size ? .part(offset: first, length: min(last, size - 1) - first + 1) : .unsatisfiable
    }
  }
}

/// Digits only; a number beyond Int64 counts as the largest.
private func decimal(_ text: Substring) -> Int64? {
  guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
  return Int64(text) ?? Int64.max
}
