/// Which tree a command is about: a recorder's spool or a server's root.
struct PlaceArguments {
  enum Place {
    case spool(String)
    case root(String)

    var option: String { if case .spool = self { "--spool" } else { "--root" } }
    var path: String {
      switch self {
      case .spool(let path), .root(let path): path
      }
    }
  }

  var place: Place?

  static var group: OptionGroup<PlaceArguments> {
    OptionGroup(
      title: "Where (one of them):",
      options: [
        Option("--spool", "DIR", "A recording machine's spool.") { (arguments, text) throws(UsageError) in
          try set(&arguments, .spool(text))
        },
        Option("--root", "DIR", "A server's root.") { (arguments, text) throws(UsageError) in
          try set(&arguments, .root(text))
        },
      ])
  }

  private static func set(_ arguments: inout PlaceArguments, _ place: Place) throws(UsageError) {
    if arguments.place != nil { throw UsageError(place.option, "give --spool or --root once, not both") }
    _ = try parseDirectory(place.option, place.path)
    arguments.place = place
  }

  func required() throws(Failure) -> Place {
    guard let place else { throw Failure(.usage, "--spool DIR or --root DIR is missing: which tree it is about") }
    return place
  }
}
