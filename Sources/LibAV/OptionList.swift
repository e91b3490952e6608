import CLibAV

/// One `name=value` for a demuxer, protocol, codec or muxer.
package struct MediaOption: Equatable, Sendable {
  package let name: String
  package let value: String

  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

/// Owns one `AVDictionary`. Freed with `av_dict_free`.
@safe struct OptionList: ~Copyable {
  var raw: OpaquePointer?

  init(_ options: [MediaOption], adding defaults: [MediaOption] = []) throws(AVError) {
    unsafe raw = nil
    // What the user set wins over defaults, so it comes last.
    for option in defaults + options {
      let result = unsafe av_dict_set(&raw, option.name, option.value, 0)
      guard result >= 0 else { throw AVError(.allocate("options"), code: result) }
    }
  }

  deinit {
    var raw = unsafe raw
    unsafe av_dict_free(&raw)
  }

  /// The name of an option nobody consumed.
  var leftover: String? {
    guard let entry = unsafe av_dict_get(raw, "", nil, AV_DICT_IGNORE_SUFFIX) else { return nil }
    return unsafe String(cString: entry.pointee.key)
  }
}
