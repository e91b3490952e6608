import Foundation
import HLS
import TestKit

/// The files of a run as a recorder would upload them, made by ffmpeg: a test picture and a tone.
struct SampleRun {
  let key: RunKey
  /// Name and content in the order of sending: init section, then segments.
  let files: [(name: String, bytes: [UInt8])]

  /// - Parameters:
  ///   - start: wall-clock start in milliseconds since the epoch.
  ///   - seconds: a multiple of `each`, which is what a segment lasts.
  ///   - size: of the picture; nil for sound alone.
  ///   - bitRate: of the picture, in kb/s; nil for a still-going scene that needs little.
  init(
    recording: String, rendition: RenditionName = .main, start: Int64, seconds: Int, size: String? = "640x360",
    tone: Int = 440, bitRate: Int? = nil, each: Int = 5
  ) throws {
    let directory = try TemporaryDirectory()
    let result = try Program(
      "ffmpeg",
      [
        "-v", "error", "-f", "lavfi", "-i",
        "testsrc2=size=\(size ?? "16x16"):rate=25\(bitRate == nil ? "" : ",noise=alls=60:allf=t")", "-f", "lavfi", "-i",
        "sine=frequency=\(tone):sample_rate=48000", "-t", "\(seconds)", "-c:v", "libx264", "-preset", "ultrafast", "-g",
        "\(each * 25)", "-keyint_min", "\(each * 25)", "-sc_threshold", "0", "-bf", "0", "-b:v", "\(bitRate ?? 500)k",
        "-maxrate",
        "\(bitRate ?? 500)k", "-bufsize", "\(bitRate ?? 500)k", "-pix_fmt", "yuv420p", "-c:a",
        "aac",
      ] + (size == nil ? ["-map", "1:a"] : []) + [
        "-f", "hls", "-hls_time", "\(each)", "-hls_segment_type", "fmp4", "-hls_fmp4_init_filename", "init.mp4",
        "-hls_segment_filename", directory.file("%d.m4s"), "-hls_list_size", "0", directory.file("list.m3u8"),
      ]
    ).wait()
    guard result.status == 0 else { throw SampleFailure(description: result.errors) }
    guard let recording = RecordingName(recording) else { throw SampleFailure(description: "bad name") }
    let begin = WallClockTime(milliseconds: start)
    key = RunKey(recording: recording, rendition: rendition, run: RunName(start: begin, suffix: 0xa3f1))
    func content(_ name: String) throws -> [UInt8] {
      [UInt8](try Data(contentsOf: URL(fileURLWithPath: directory.file(name))))
    }
    var files = [(name: "init.mp4", bytes: try content("init.mp4"))]
    let ticks = Int64(each) * 90_000
    for number in 0..<(seconds / each) {
      let name = SegmentName(
        sequence: number, start: begin.advanced(byTicks: Int64(number) * ticks), ticks: ticks)
      files.append((name.description, try content("\(number).m4s")))
    }
    self.files = files
  }

  /// Uploads the files, those of `missing` numbers left out, and a marker when there is one.
  func upload(to client: RawHTTPClient, missing: Set<Int> = [], marker: String? = nil) throws {
    for (index, file) in files.enumerated() where !missing.contains(index - 1) {
      try put(file.name, file.bytes, client)
    }
    if let marker { try put(marker, [], client) }
  }

  func put(_ name: String, _ bytes: [UInt8], _ client: RawHTTPClient) throws {
    let answer = try client.request("PUT", "/\(key)/\(name)", body: bytes)
    guard answer.status == 201 else { throw SampleFailure(description: "\(name): \(answer.status) \(answer.text)") }
  }
}

struct SampleFailure: Error, CustomStringConvertible {
  let description: String
}
