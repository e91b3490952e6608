import Foundation
import TestKit
import Testing

/// What a person sees: a screen recorded, a live line on a terminal.
@Suite(.serialized) struct `A person at the screen` {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  @Test func `an X screen is recorded at a steady 25 frames a second`() throws {
    let display = ":\(Int.random(in: 200...60_000))"
    let screen = try Program("Xvfb", [display, "-screen", "0", "640x360x24", "-nolisten", "tcp"])
    defer { screen.send(signal: SIGTERM) }
    #expect(try eventually(within: 60) { try Program.run("xdpyinfo", ["-display", display]).status == 0 })
    let clock = try Program("xclock", ["-display", display, "-update", "1", "-geometry", "300x300"])
    defer { clock.send(signal: SIGTERM) }
    let result = try Program.run(
      segrecBinary,
      [
        "record", "--input-format", "x11grab", "--input", display, "--duration", "6s", "--recording", "screen",
        "--spool",
        directory.file("spool"),
      ])
    #expect(result.status == 0, "\(result.errors)")
    #expect(try Program.run(segrecBinary, ["stitch", directory.file("spool")]).status == 0)
    let playlist = directory.file("spool/screen/vod.m3u8")
    try Media.decode(playlist)
    let video = try #require(try Media.stream(playlist, "v"))
    #expect(abs(video.duration - 6) < 0.1)
    #expect(video.width == 640 && video.height == 360)
  }

  @Test func `a screen that stands still is hardly encoded, and players get a frame every half second`() throws {
    let display = ":\(Int.random(in: 200...60_000))"
    let screen = try Program("Xvfb", [display, "-screen", "0", "320x180x24", "-nolisten", "tcp"])
    defer { screen.send(signal: SIGTERM) }
    #expect(try eventually(within: 60) { try Program.run("xdpyinfo", ["-display", display]).status == 0 })
    // More than libav would ask the screen for by itself.
    let result = try Program.run(
      segrecBinary,
      [
        "record", "--input-format", "x11grab", "--input", display, "--duration", "3s", "--recording", "still",
        "--max-fps", "50", "--spool", directory.file("spool"),
      ])
    #expect(result.status == 0, "\(result.errors)")
    #expect(try Program.run(segrecBinary, ["stitch", directory.file("spool")]).status == 0)
    let playlist = directory.file("spool/still/vod.m3u8")
    let rate = try Program.tool(
      "ffprobe",
      ["-v", "error", "-select_streams", "v", "-show_entries", "stream=r_frame_rate", "-of", "csv=p=0", playlist])
    #expect(rate.hasPrefix("50/1"), "\(rate)")
    let video = try #require(try Media.stream(playlist, "v"))
    #expect((6...12).contains(video.frames), "\(video.frames) of 150")
    #expect(abs(video.duration - 3) < 0.1)
  }

  /// A terminal of 110 columns in which a generated scene is recorded; it ends with this value.
  private final class Terminal {
    private let socket: String

    init(in directory: TemporaryDirectory, _ arguments: String) throws {
      socket = directory.file("tmux")
      let command =
        "\(segrecBinary) record --input-format lavfi --input testsrc2=size=320x180:rate=25 --realtime"
        + " --spool \(directory.file("spool")) \(arguments)"
      try tmux("-f", "/dev/null", "new-session", "-d", "-x", "110", "-y", "20", command)
    }

    deinit { _ = try? Program.run("tmux", ["-S", socket, "kill-server"]) }

    @discardableResult
    func tmux(_ words: String...) throws -> String { try Program.tool("tmux", ["-S", socket] + words) }

    var screen: String { get throws { try tmux("capture-pane", "-p") } }
  }

  @Test func `the live line says that a recording has ended, and is still being sent`() throws {
    let terminal = try Terminal(
      in: directory, "--recording ended --upload http://127.0.0.1:9 --drain-timeout 60s")
    #expect(try eventually(within: 60) { try terminal.screen.contains("recording, server unreachable") })
    try terminal.tmux("send-keys", "C-c")
    #expect(try eventually(within: 60) { try terminal.screen.contains("ended, server unreachable") })
  }

  @Test func `a terminal shows one live line`() throws {
    let terminal = try Terminal(in: directory, "--recording seen --duration 60s")
    var screen = ""
    let shown = try eventually(within: 20) {
      screen = try terminal.screen
      return screen.contains("0:00:03")
    }
    #expect(shown, "\(screen)")
    let live = screen.split(separator: "\n").filter { $0.contains(" fps ") }
    #expect(live.count == 1, "\(screen)")
    for word in ["recording", "fps", "dropped", "refilled", "segments"] { #expect(live.first?.contains(word) == true) }
  }
}
