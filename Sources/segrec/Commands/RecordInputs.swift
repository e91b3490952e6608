import Platform
import Recording

/// The inputs as they are opened: variables filled in, and what is secret in them known.
struct RecordInputs {
  let inputs: [RecordingConfiguration.Input]
  let microphone: RecordingConfiguration.Input?
  /// The live receiver.
  let push: String?
  /// Never to be printed.
  let secrets: [String]

  /// Fills in variables, and takes passwords that were typed off the process list at once.
  init(_ arguments: RecordArguments) throws(Failure) {
    if arguments.sources.isEmpty { throw Failure(.usage, "--input is missing: what to record") }
    var arguments = arguments
    try arguments.giveRestToLast()
    var inputs: [RecordingConfiguration.Input] = []
    var secrets: [String] = []
    let all = arguments.sources + (arguments.microphone.map { [$0] } ?? [])
    let addresses = all.map(\.text) + (arguments.push.map { [$0] } ?? [])
    let typed = addresses.flatMap { (userinfo(of: $0) + streamKey(of: $0)).filter { !$0.contains("$") } }
    do throws(SystemError) {
      try ProcessTitle.scrub(typed)
    } catch {
      throw Failure(.unavailable, "cannot take the password or stream key off the process list: \(error); use ${NAME}")
    }
    for (index, source) in all.enumerated() {
      let option = index < arguments.sources.count ? "--input" : "--mic"
      do throws(UsageError) {
        let (url, fromEnvironment) = try expandEnvironment(option, source.text, lookup: Environment.value)
        secrets += fromEnvironment
        secrets += userinfo(of: url) + streamKey(of: url)
        inputs.append(.init(url: url, format: source.format, options: source.options))
      } catch {
        throw Failure(.usage, error.description)
      }
    }
    var push: String?
    do throws(UsageError) {
      if let text = arguments.push {
        let (url, fromEnvironment) = try expandEnvironment("--push", text, lookup: Environment.value)
        secrets += fromEnvironment + userinfo(of: url) + streamKey(of: url)
        guard let (scheme, rest) = splitScheme(url), !streamKey(of: url).isEmpty else {
          throw UsageError("--push", "needs an address like rtmp://host/app/key")
        }
        // libav knows protocols in lower case only.
        push = "\(scheme)://\(rest)"
      }
    } catch {
      throw Failure(.usage, error.description)
    }
    self.push = push
    microphone = arguments.microphone == nil ? nil : inputs.removeLast()
    self.inputs = inputs
    self.secrets = secrets
  }
}

/// The stream key of an RTMP address: the last component of its path, with which anybody could publish, and its query,
/// where some receivers want a token.
func streamKey(of url: String) -> [String] {
  guard let (scheme, rest) = splitScheme(url), scheme.hasPrefix("rtmp")
  else {
    return []
  }
  let end = rest.firstIndex { $0 == "?" || $0 == "#" } ?? rest.endIndex
  let path = rest[..<end].split(separator: "/").dropFirst()
  // `rtmp://host/app` has no key.
  return ((path.count >= 2 ? path.suffix(1) : []) + [rest[end...].dropFirst()]).map(String.init).filter { !$0.isEmpty }
}

/// What is secret in a URL's userinfo (RFC 3986 §3.2.1): the password, or all of it where there is no colon, and the
/// whole as it stands.
func userinfo(of url: String) -> [String] {
  guard let (_, rest) = splitScheme(url) else { return [] }
  let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
  // A password typed without percent-encoding may hold an @ of its own: the last one ends it.
  guard let at = authority.lastIndex(of: "@") else { return [] }
  let whole = authority[..<at]
  guard let colon = whole.firstIndex(of: ":") else { return whole.isEmpty ? [] : [String(whole)] }
  let password = whole[whole.index(after: colon)...]
  return password.isEmpty ? [] : [String(whole), String(password)]
}

/// A URL's scheme in lower case, and what follows its `://`; nil for a path.
private func splitScheme(_ url: String) -> (scheme: String, rest: Substring)? {
  guard let colon = url.firstIndex(of: ":"), url[colon...].hasPrefix("://") else { return nil }
  return (url[..<colon].lowercased(), url[colon...].dropFirst(3))
}
