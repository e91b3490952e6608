import Foundation
import TestKit
import Testing

/// nginx with its DAV module, for those who have a server already.
@Suite(.serialized) struct `Another server` {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func nginx(port: Int) throws -> Program {
    let root = directory.path
    let configuration = """
      load_module /usr/lib/nginx/modules/ngx_http_dav_ext_module.so;
      daemon off; pid \(root)/nginx.pid; error_log stderr; worker_processes 1; user root;
      events { worker_connections 64; }
      http {
        access_log off; client_body_temp_path \(root)/body; proxy_temp_path \(root)/p; fastcgi_temp_path \(root)/f;
        uwsgi_temp_path \(root)/u; scgi_temp_path \(root)/s;
        server {
          listen 127.0.0.1:\(port);
          location /rec/ { root \(root)/www; dav_methods PUT; create_full_put_path on; client_max_body_size 64m; }
        }
      }
      """
    try configuration.write(toFile: directory.file("nginx.conf"), atomically: true, encoding: .utf8)
    try FileManager.default.createDirectory(atPath: directory.file("www/rec"), withIntermediateDirectories: true)
    return try Program("nginx", ["-c", directory.file("nginx.conf"), "-p", root])
  }

  @Test func `nginx stores and segrec stitches beside it`() throws {
    let port = try freePort()
    let server = try nginx(port: port)
    defer { server.send(signal: SIGTERM) }
    #expect(try eventually(within: 60) { try Program.run("curl", ["-s", "http://127.0.0.1:\(port)/"]).status == 0 })
    let root = directory.file("www/rec")
    let stitcher = try Program(segrecBinary, ["stitch", root, "--watch"])
    try stitcher.wait(for: "watching")
    let input = directory.file("input.mp4")
    try Media.generate(input, seconds: 11)
    let result = try Program.run(
      segrecBinary,
      [
        "record", "--input", input, "--recording", "talk", "--spool", directory.file("spool"), "--upload",
        "http://127.0.0.1:\(port)/rec",
      ])
    #expect(result.status == 0, "\(result.errors)")
    let playlist = "\(root)/talk/vod.m3u8"
    #expect(eventually(within: 60) { FileManager.default.fileExists(atPath: playlist) })
    try Media.decode(playlist)
    #expect(try Media.stream(playlist, "v")?.frames == 275)
    stitcher.send(signal: SIGTERM)
    #expect(try stitcher.wait().status == 0)
  }
}
