import Foundation
import TestKit
import Testing

/// What the first of the two commands in the README shows: a recording in a browser, from each of its three sources.
@Suite(.serialized) struct `The demo` {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  /// Runs the demo with the binary under test, and plays what it made in Chromium from its address to its end.
  ///
  /// - Parameter seconds: how long the recording is.
  private func play(_ arguments: [String], display: String?, seconds: Double) throws {
    let demo = try Program(
      packageDirectory + "/scripts/demo", arguments,
      environment: [
        "SEGREC_DEMO_BINARY": segrecBinary, "SEGREC_DEMO_STAY": "1", "SEGREC_DEMO_PORT": "\(try freePort())",
        "SEGREC_DEMO_ROOT": directory.file("root"), "SEGREC_DEMO_DURATION": "\(Int(seconds))s", "DISPLAY": display,
      ])
    try demo.wait(for: "the server runs until Ctrl-C", seconds: 60)
    let address = try #require(
      demo.output.split(separator: "\n").last { $0.hasPrefix("watch it: ") }?.split(separator: " ").last)

    let browser = try HeadlessBrowser()
    try browser.open(String(address))
    try browser.wait(for: "video.currentTime > 1 && video.videoWidth > 0")
    #expect(abs(try browser.number("video.duration") - seconds) < 0.1)
    try browser.evaluate("video.playbackRate = 4")
    try browser.wait(for: "video.ended", seconds: 60)
    #expect(try browser.number("video.currentTime") > seconds - 0.1)
    #expect(try browser.evaluate("video.error") is NSNull)
    #expect(browser.complaints.isEmpty, "\(browser.complaints)")

    demo.send(signal: SIGTERM)
    #expect(try demo.wait(seconds: 20).status == 130)
  }

  @Test func `records a file that a browser plays`() throws {
    let file = directory.file("it's a \"tést\" 01.mp4")
    try Media.generate(file, seconds: 12)
    try play([file], display: nil, seconds: 12)
  }

  @Test func `records a generated scene where there is no screen`() throws {
    try play([], display: nil, seconds: 6)
  }

  @Test func `records the screen where there is one`() throws {
    let display = ":\(Int.random(in: 200...60_000))"
    let screen = try Program("Xvfb", [display, "-screen", "0", "640x360x24", "-nolisten", "tcp"])
    defer { screen.send(signal: SIGTERM) }
    #expect(try eventually(within: 60) { try Program.run("xdpyinfo", ["-display", display]).status == 0 })
    try play([], display: display, seconds: 6)
  }
}
