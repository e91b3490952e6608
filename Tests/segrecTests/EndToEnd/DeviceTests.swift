import Foundation
import TestKit
import Testing

/// Inputs that come at the pace of a clock of their own: a sound device, a camera, a network camera.
@Suite struct `A live input` {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func record(_ name: String, _ arguments: [String], environment: [String: String?] = [:]) throws
    -> Program.Result
  {
    try Program.run(
      segrecBinary,
      ["record", "--recording", name, "--spool", directory.file("spool"), "--segment-duration", "2s"] + arguments,
      environment: environment)
  }

  private func whole(_ name: String = "it") throws -> String {
    #expect(try Program.run(segrecBinary, ["stitch", directory.file("spool")]).status == 0)
    let playlist = directory.file("spool/\(name)/vod.m3u8")
    try Media.decode(playlist)
    return playlist
  }

  @Test func `that is a sound device is recorded for as long as was said`() throws {
    let socket = directory.file("sound.sock")
    let server = try Program(
      "pulseaudio",
      [
        "-n", "--daemonize=no", "--exit-idle-time=-1", "--disable-shm=true", "-L",
        "module-sine-source source_name=microphone frequency=440", "-L",
        "module-native-protocol-unix auth-anonymous=1 socket=\(socket)",
      ], environment: ["HOME": directory.path, "XDG_RUNTIME_DIR": directory.path])
    defer { server.send(signal: SIGTERM) }
    #expect(eventually(within: 20) { FileManager.default.fileExists(atPath: socket) })
    // A sound server that gets no time loses some.
    func isRight(_ crossings: Int) -> Bool { abs(crossings - 3 * 2 * 440) < 20 }
    let crossings = try attempts(until: isRight) {
      try self.crossings("sound\($0)", ["PULSE_SERVER": "unix:\(socket)"])
    }
    #expect(isRight(try #require(crossings.last)), "\(crossings)")
  }

  /// Records five seconds of the device; a tone crosses zero twice a period, which is counted over three of them.
  private func crossings(_ name: String, _ environment: [String: String?]) throws -> Int {
    let result = try record(
      name, ["--input-format", "pulse", "--input", "microphone", "--duration", "5s"], environment: environment)
    #expect(result.status == 0, "\(result.errors)")
    let playlist = try whole(name)
    #expect(abs(try #require(try Media.stream(playlist, "a")).duration - 5) < 0.05)
    let said = try Program.run(
      "ffmpeg", ["-nostdin", "-hide_banner", "-i", playlist, "-af", "atrim=1:4,astats", "-f", "null", "-"]
    ).errors
    return try #require(
      said.split(separator: "\n").first { $0.contains("Zero crossings:") }?
        .split(separator: " ").last.flatMap { Int($0) })
  }

  @Test func `that is a camera is recorded, and its buffers are left alone once it is closed`() throws {
    let result = try record(
      "it", ["--input-format", "v4l2", "--input", StandInCamera.path, "--duration", "3s"],
      environment: try StandInCamera(in: directory).environment)
    #expect(result.status == 0)
    #expect(!result.errors.contains("libav"), "\(result.errors)")
    let video = try #require(try Media.stream(try whole(), "v"))
    #expect(video.width == StandInCamera.width && video.height == StandInCamera.height)
    #expect(abs(video.duration - 3) < 2 / StandInCamera.framesPerSecond)
  }

  @Test(arguments: [[], ["--video", "copy", "--audio", "copy"]])
  func `that is a network camera is recorded until it hangs up, which is no success`(arguments: [String]) throws {
    try Program.tool(
      "ffmpeg",
      [
        "-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=160x90:r=25:d=5", "-f", "lavfi", "-i", "sine=d=5",
        "-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-c:a", "aac", directory.file("scene.mp4"),
      ])
    let script = """
      import gi, sys
      gi.require_version('Gst', '1.0')
      gi.require_version('GstRtspServer', '1.0')
      from gi.repository import Gst, GstRtspServer, GLib
      Gst.init(None)
      server = GstRtspServer.RTSPServer()
      server.set_address('127.0.0.1')
      server.set_service('0')
      factory = GstRtspServer.RTSPMediaFactory()
      factory.set_launch(
          f'filesrc location={sys.argv[1]} ! qtdemux name=file '
          'file.video_0 ! queue ! h264parse ! rtph264pay name=pay0 pt=96 '
          'file.audio_0 ! queue ! aacparse ! rtpmp4gpay name=pay1 pt=97')
      server.get_mount_points().add_factory('/camera', factory)
      server.attach(None)
      print(f'port {server.get_bound_port()}', file=sys.stderr, flush=True)
      GLib.MainLoop().run()
      """
    // Debian's own: its packages are not there for another Python.
    let camera = try Program("/usr/bin/python3", ["-c", script, directory.file("scene.mp4")])
    defer { camera.send(signal: SIGTERM) }
    try camera.wait(for: "port ")
    let port = try #require(camera.errors.split(separator: "\n").compactMap { $0.split(separator: "port ").last }.last)
    let result = try record("it", ["--input", "rtsp://127.0.0.1:\(port)/camera"] + arguments)
    #expect(result.status == 69, "\(result.errors)")
    let last = try #require(result.errors.split(separator: "\n").last)
    #expect(last.contains("the live input ended by itself after 5.0 s, which are recorded"), "\(last)")
    let playlist = try whole()
    let video = try #require(try Media.stream(playlist, "v"))
    #expect(abs(video.duration - 5) < 0.1)
    #expect(abs(try #require(try Media.stream(playlist, "a")).duration - 5) < 0.1)
  }
}
