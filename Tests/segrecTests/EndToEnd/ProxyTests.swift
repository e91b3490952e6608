import Foundation
import TestKit
import Testing

/// `segrec serve` behind a server that others see.
@Suite(.serialized) struct `A reverse proxy` {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func nginx(port: Int, origin: Int) throws -> Program {
    let root = directory.path
    let configuration = """
      daemon off; pid \(root)/nginx.pid; error_log stderr; worker_processes 1; user root;
      events { worker_connections 64; }
      http {
        access_log off; client_body_temp_path \(root)/body; proxy_temp_path \(root)/p; fastcgi_temp_path \(root)/f;
        uwsgi_temp_path \(root)/u; scgi_temp_path \(root)/s;
        upstream origin { server 127.0.0.1:\(origin); keepalive 8; }
        server {
          listen 127.0.0.1:\(port);
          client_max_body_size 0;
          location / {
            proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection "";
            proxy_set_header Host $http_host; proxy_request_buffering off;
          }
        }
      }
      """
    try configuration.write(toFile: directory.file("nginx.conf"), atomically: true, encoding: .utf8)
    return try Program("nginx", ["-c", directory.file("nginx.conf"), "-p", root])
  }

  private func caddy(port: Int, origin: Int) throws -> Program {
    let configuration = """
      {
        admin off
        auto_https off
        storage file_system \(directory.file("caddy"))
      }
      http://127.0.0.1:\(port) {
        reverse_proxy 127.0.0.1:\(origin)
      }
      """
    try configuration.write(toFile: directory.file("Caddyfile"), atomically: true, encoding: .utf8)
    return try Program(
      "caddy", ["run", "--adapter", "caddyfile", "--config", directory.file("Caddyfile")],
      environment: ["HOME": directory.path, "XDG_CONFIG_HOME": directory.path, "XDG_DATA_HOME": directory.path])
  }

  @Test func `nginx passes uploads, ranges and waiting reloads`() throws {
    try check { try nginx(port: $0, origin: $1) }
  }

  @Test func `Caddy passes uploads, ranges and waiting reloads`() throws {
    try check { try caddy(port: $0, origin: $1) }
  }

  private func check(_ start: (_ port: Int, _ origin: Int) throws -> Program) throws {
    let token = directory.file("token")
    try "hush-hush-hush-hush\n".write(toFile: token, atomically: true, encoding: .utf8)
    let origin = try Origin(root: directory.file("root"), arguments: ["--token-file", token])
    let port = try freePort()
    let proxy = try start(port, origin.port)
    defer { proxy.send(signal: SIGTERM) }
    let address = "http://127.0.0.1:\(port)"
    #expect(try eventually(within: 60) { try Program.run("curl", ["-s", "-f", "\(address)/healthz"]).status == 0 })
    let recorder = try Program(
      segrecBinary,
      [
        "record", "--recording", "live", "--spool", directory.file("spool"), "--upload", address, "--token-file", token,
        "--input-format", "lavfi", "--input", "testsrc2=size=320x180:rate=25", "--realtime", "--segment-duration", "1s",
        "--duration", "6s",
      ])
    let list = "\(address)/live/main/live.m3u8"
    #expect(try eventually(within: 20) { try HTTP.get(list).body.contains("EXTINF") })
    // Number 2 does not exist yet: the answer waits for it, through the proxy.
    let reload = try Program.tool("curl", ["-s", "-f", "--max-time", "15", "\(list)?_HLS_msn=2"])
    #expect(reload.contains("/00000002_"))
    #expect(reload.contains("CAN-BLOCK-RELOAD=YES"))
    #expect(try recorder.wait().status == 0, "\(recorder.errors)")
    #expect(try eventually(within: 60) { try HTTP.get("\(address)/live/vod.m3u8").status == 200 })
    try Media.decode("\(address)/live/vod.m3u8")
    let segment = reload.split(separator: "\n").last { $0.hasSuffix(".m4s") } ?? ""
    let range = try Program.tool(
      "curl", ["-s", "-r", "4-7", "-w", " %{http_code}", "\(address)/live/main/\(segment)"])
    #expect(range == "moof 206" || range.hasSuffix("206"))
    let packed = try Program.tool(
      "curl", ["-s", "-D", "-", "-o", "/dev/null", "-H", "Accept-Encoding: gzip", "\(address)/live/main/vod.m3u8"])
    #expect(packed.lowercased().contains("content-type: application/vnd.apple.mpegurl"))
    let refused = try Program.run(
      "curl", ["-s", "-o", "/dev/null", "-w", "%{http_code}", "-T", token, "\(address)/live/main/\(segment)"])
    #expect(refused.output == "401")
    #expect(!proxy.errors.contains("hush") && !origin.program.errors.contains("hush"))
  }
}
