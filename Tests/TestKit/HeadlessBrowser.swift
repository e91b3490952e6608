import Foundation

/// Chromium without a window, driven by its DevTools protocol over a pair of pipes: JSON messages that end in NUL.
/// One thread uses it at a time.
public final class HeadlessBrowser {
  public struct Failure: Error, CustomStringConvertible {
    public let description: String
  }

  private let process: pid_t
  private let requests: Int32
  private let answers: Int32
  private let profile: TemporaryDirectory
  private var unread: [UInt8] = []
  private var lastIdentifier = 0
  private var session = ""
  /// Exceptions and console errors of the page, and what its security policy blocked.
  public private(set) var complaints: [String] = []

  /// Where Chromium is; nil when it is not installed.
  public static let executable = [
    "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome", "/usr/bin/google-chrome-stable",
  ].first { (path: String) in access(path, X_OK) == 0 }

  /// - Parameter arguments: command line switches added to those for a headless browser that may play without a click.
  public init(width: Int = 1_280, height: Int = 800, arguments: [String] = []) throws {
    guard let executable = HeadlessBrowser.executable else { throw Failure(description: "Chromium is not installed") }
    var toBrowser: [Int32] = [0, 0]
    var fromBrowser: [Int32] = [0, 0]
    guard pipe(&toBrowser) == 0, pipe(&fromBrowser) == 0 else { throw Failure(description: "pipe failed") }
    profile = try TemporaryDirectory()
    // The child's ends are moved out of the way first: 3 and 4 may be among them.
    let childReads = fcntl(toBrowser[0], F_DUPFD_CLOEXEC, 100)
    let childWrites = fcntl(fromBrowser[1], F_DUPFD_CLOEXEC, 100)
    for end in [toBrowser[0], fromBrowser[1]] { close(end) }
    for end in [toBrowser[1], fromBrowser[0]] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    requests = toBrowser[1]
    answers = fromBrowser[0]

    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, childReads, 3)
    posix_spawn_file_actions_adddup2(&actions, childWrites, 4)
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    let words =
      [
        executable, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
        "--autoplay-policy=no-user-gesture-required", "--remote-debugging-pipe",
        "--user-data-dir=\(profile.file("user"))", "--window-size=\(width),\(height)", "--mute-audio",
      ] + arguments + ["about:blank"]
    var pointers = words.map { strdup($0) } + [nil]
    // What it would leave in /tmp goes with its profile, and its helpers end with it.
    var variables = ProcessInfo.processInfo.environment
    variables["TMPDIR"] = profile.path
    var settings = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { (pointers + settings).forEach { free($0) } }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
    var started: pid_t = 0
    let code = posix_spawn(&started, executable, &actions, &attributes, &pointers, &settings)
    close(childReads)
    close(childWrites)
    process = started
    guard code == 0 else {
      throw Failure(description: "cannot start \(executable): \(String(cString: strerror(code)))")
    }

    let target = try call("Target.createTarget", ["url": "about:blank"])
    let attached = try call(
      "Target.attachToTarget", ["targetId": target["targetId"] ?? "", "flatten": true])
    session = attached["sessionId"] as? String ?? ""
    for domain in ["Page.enable", "Runtime.enable", "Log.enable"] { _ = try call(domain) }
  }

  deinit {
    close(requests)
    close(answers)
    kill(-process, SIGKILL)
    var status: Int32 = 0
    waitpid(process, &status, 0)
  }

  /// Opens a page and waits until it has loaded.
  public func open(_ url: String) throws {
    let answer = try call("Page.navigate", ["url": url])
    if let error = answer["errorText"] as? String { throw Failure(description: "\(url): \(error)") }
    try wait(for: "document.readyState === 'complete'")
  }

  /// The value of a JavaScript expression, promises awaited.
  @discardableResult
  public func evaluate(_ expression: String) throws -> Any? {
    let answer = try call(
      "Runtime.evaluate",
      ["expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true])
    if let details = answer["exceptionDetails"] as? [String: Any] {
      let exception = (details["exception"] as? [String: Any])?["description"] ?? details["text"] ?? ""
      throw Failure(description: "\(expression): \(exception)")
    }
    return (answer["result"] as? [String: Any])?["value"]
  }

  public func number(_ expression: String) throws -> Double {
    guard let number = try evaluate(expression) as? NSNumber else {
      throw Failure(description: "\(expression) is no number")
    }
    return number.doubleValue
  }

  public func text(_ expression: String) throws -> String { try evaluate("String(\(expression))") as? String ?? "" }

  /// Waits until an expression is true; the page itself looks 20 times a second.
  /// - Parameter seconds: how long at most; then the failure tells what `state` is.
  public func wait(for condition: String, seconds: Double = 60, telling state: String = "document.title") throws {
    let script = """
      (async () => {
        const end = Date.now() + \(seconds * 1_000)
        while (Date.now() < end) {
          try { if (await (\(condition))) return '' } catch (e) {}
          await new Promise(r => setTimeout(r, 50))
        }
        try { return 'timed out; ' + await (\(state)) } catch (e) { return 'timed out; ' + e }
      })()
      """
    let outcome = try evaluate(script) as? String ?? "no answer"
    if !outcome.isEmpty { throw Failure(description: "\(condition): \(outcome); page says \(complaints)") }
  }

  /// Presses and releases a key: `k`, `Escape`, `ArrowLeft`.
  public func press(_ key: String) throws {
    var event: [String: Any] = ["type": "keyDown", "key": key, "code": key.count == 1 ? "Key\(key.uppercased())" : key]
    if key.count == 1 { event["text"] = key }
    _ = try call("Input.dispatchKeyEvent", event)
    event["type"] = "keyUp"
    event["text"] = nil
    _ = try call("Input.dispatchKeyEvent", event)
  }

  public func click(x: Double, y: Double) throws {
    for type in ["mousePressed", "mouseReleased"] {
      _ = try call(
        "Input.dispatchMouseEvent", ["type": type, "x": x, "y": y, "button": "left", "clickCount": 1])
    }
  }

  /// Changes the size of the page in CSS pixels, and what it believes about the device and the colours wanted.
  public func emulate(width: Int, height: Int, isMobile: Bool = false, isDark: Bool = false) throws {
    _ = try call(
      "Emulation.setDeviceMetricsOverride",
      ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": isMobile])
    _ = try call(
      "Emulation.setEmulatedMedia",
      ["features": [["name": "prefers-color-scheme", "value": isDark ? "dark" : "light"]]])
  }

  /// Writes a PNG of what is to be seen.
  public func screenshot(to path: String) throws {
    let answer = try call("Page.captureScreenshot", ["format": "png"])
    guard let data = (answer["data"] as? String).flatMap({ Data(base64Encoded: $0) }) else {
      throw Failure(description: "no screenshot")
    }
    try data.write(to: URL(fileURLWithPath: path))
  }

  /// Sends one command of the DevTools protocol and returns its result.
  @discardableResult
  public func call(_ method: String, _ parameters: [String: Any] = [:]) throws -> [String: Any] {
    lastIdentifier += 1
    var message: [String: Any] = ["id": lastIdentifier, "method": method, "params": parameters]
    if !session.isEmpty { message["sessionId"] = session }
    var bytes = [UInt8](try JSONSerialization.data(withJSONObject: message)) + [0]
    while !bytes.isEmpty {
      let count = write(requests, bytes, bytes.count)
      guard count > 0 else { throw Failure(description: "Chromium is gone") }
      bytes.removeFirst(count)
    }
    while true {
      let answer = try nextMessage()
      guard answer["id"] as? Int == lastIdentifier else {
        note(answer)
        continue
      }
      if let error = answer["error"] as? [String: Any] {
        throw Failure(description: "\(method): \(error["message"] ?? error)")
      }
      return answer["result"] as? [String: Any] ?? [:]
    }
  }

  private func note(_ event: [String: Any]) {
    let parameters = event["params"] as? [String: Any] ?? [:]
    switch event["method"] as? String {
    case "Runtime.exceptionThrown":
      let details = parameters["exceptionDetails"] as? [String: Any] ?? [:]
      complaints.append("\((details["exception"] as? [String: Any])?["description"] ?? details["text"] ?? details)")
    case "Log.entryAdded":
      let entry = parameters["entry"] as? [String: Any] ?? [:]
      if entry["level"] as? String == "error" { complaints.append("\(entry["text"] ?? "") \(entry["url"] ?? "")") }
    default: break
    }
  }

  private func nextMessage() throws -> [String: Any] {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      if let end = unread.firstIndex(of: 0) {
        let message = Data(unread[..<end])
        unread.removeSubrange(...end)
        return try JSONSerialization.jsonObject(with: message) as? [String: Any] ?? [:]
      }
      var waiting = pollfd(fd: answers, events: Int16(POLLIN), revents: 0)
      guard poll(&waiting, 1, 120_000) == 1 else { throw Failure(description: "Chromium does not answer") }
      let count = read(answers, &buffer, buffer.count)
      guard count > 0 else { throw Failure(description: "Chromium is gone") }
      unread += buffer[..<count]
    }
  }
}
