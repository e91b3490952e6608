/// How an input may be named in messages: user information and the values of a query never appear.
package struct InputName: Equatable, Sendable, CustomStringConvertible {
  package let description: String

  package init(url: String) {
    guard url != "-" else {
      description = "standard input"
      return
    }
    guard let scheme = InputName.schemeEnd(url) else {
      description = url
      return
    }
    let rest = url[scheme...]
    let authorityEnd = rest.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? rest.endIndex
    var authority = rest[..<authorityEnd]
    var tail = rest[authorityEnd...]
    // A password may itself hold a slash or a question mark; the last "@" of the whole URL is then the safe border.
    if let at = authority.lastIndex(of: "@") {
      authority = rest[rest.index(after: at)..<authorityEnd]
    } else if let at = rest.lastIndex(of: "@"), rest[..<at].contains(":"),
      rest.firstIndex(of: "?").map({ at < $0 }) ?? true
    {
      authority = rest[rest.index(after: at)...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
      tail = rest[authority.endIndex...]
    }
    if let query = tail.firstIndex(of: "?") {
      tail = tail[...query] + "…"
    }
    description = String(url[..<scheme]) + String(authority) + String(tail)
  }

  /// The index after `scheme://`, or nil for a path.
  private static func schemeEnd(_ url: String) -> String.Index? {
    guard let colon = url.firstIndex(of: ":"), url[colon...].hasPrefix("://"), url[..<colon].allSatisfy({ $0.isASCII })
    else { return nil }
    return url.index(colon, offsetBy: 3)
  }
}
