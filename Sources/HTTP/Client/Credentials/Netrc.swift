/// The part of a netrc file that says who to be on a host: `machine`, `default`, `login`, `password`; `account` is skipped
/// and a `macdef` runs to the next empty line. Quoted values may hold spaces, as curl reads them.
package struct Netrc: Sendable {
  private struct Entry {
    var machine: String?
    var login: String?
    var password: String?
  }
  private var entries: [Entry] = []

  package init(_ text: String) {
    var tokens = NetrcTokens(text)
    while let word = tokens.next() {
      switch word {
      case "machine": entries.append(Entry(machine: tokens.next()?.lowercased()))
      case "default": entries.append(Entry())
      case "login": setLast { $0.login = tokens.next() }
      case "password": setLast { $0.password = tokens.next() }
      case "account": _ = tokens.next()
      case "macdef": tokens.skipMacro()
      default: break
      }
    }
  }

  private mutating func setLast(_ body: (inout Entry) -> Void) {
    if entries.isEmpty {
      // A value without a machine concerns nobody, but it must be read over.
      var nobody = Entry()
      body(&nobody)
    } else {
      body(&entries[entries.count - 1])
    }
  }

  /// Name and password for `host`: its own entry, or the default one.
  package func credentials(for host: String) -> (user: String, password: String)? {
    let own = entries.first { $0.machine == host.lowercased() && $0.login != nil }
    guard let entry = own ?? entries.first(where: { $0.machine == nil && $0.login != nil }), let login = entry.login
    else { return nil }
    return (login, entry.password ?? "")
  }
}

private struct NetrcTokens {
  private var rest: Substring

  init(_ text: String) {
    rest = text[...]
  }

  mutating func next() -> String? {
    while true {
      rest = rest.drop { $0.isWhitespace }
      guard rest.first == "#" else { break }
      rest = rest.drop { !$0.isNewline }
    }
    guard let first = rest.first else { return nil }
    guard first == "\"" else {
      let word = rest.prefix { !$0.isWhitespace }
      rest = rest[word.endIndex...]
      return String(word)
    }
    rest = rest.dropFirst()
    var word = ""
    while let character = rest.popFirst(), character != "\"" {
      word.append(character == "\\" ? rest.popFirst() ?? "\\" : character)
    }
    return word
  }

  mutating func skipMacro() {
    while let newline = rest.firstIndex(where: \.isNewline) {
      rest = rest[rest.index(after: newline)...]
      if rest.first?.isNewline == true { return }
    }
    rest = rest[rest.endIndex...]
  }
}
