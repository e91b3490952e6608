import Foundation
import LibAV
import Recording
import TestKit
import Testing

private func copy(_ path: String, _ configure: (inout RecordingConfiguration) -> Void = { _ in }) throws -> Recorded {
  try Recorded(path) {
    $0.video = .copy
    $0.audio = .copy
    configure(&$0)
  }
}

/// Flash and tone at 2 s.
private func source(_ name: String, in directory: TemporaryDirectory, seconds: Int, _ arguments: [String]) throws
  -> String
{
  try Generated.file(
    name, in: directory,
    "testsrc2=s=160x90:r=25:d=\(seconds),drawbox=c=white:t=fill:enable='between(t,1.999,2.39)'[out0];"
      + "aevalsrc=exprs='if(between(t,2,2.4),0.8*sin(2*PI*1000*t),0.01*sin(2*PI*250*t))':s=48000:d=\(seconds)[out1]",
    arguments)
}

extension Recorded {
  /// Decodes the first run without concealing anything; throws at the first damage.
  fileprivate func decodeStrictly() throws -> (pictures: Int, packets: Int) {
    let run = try #require(runs.first)
    var bytes = Data()
    for file in run.files { bytes += try Data(contentsOf: URL(fileURLWithPath: run.path + "/" + file)) }
    let path = directory.file("strict.mp4")
    try bytes.write(to: URL(fileURLWithPath: path))
    var counts = (pictures: 0, packets: 0)
    for isVideo in [true, false] {
      var input = try MediaInput(InputRequest(url: path), interruption: Interruption())
      let found = isVideo ? input.bestVideo : input.bestAudio
      guard let stream = found else { continue }
      var decoder = try Decoder(parameters: stream.parameters, timeBase: stream.timeBase, isStrict: true)
      var packet = try Packet()
      var frame = try Frame()
      while try input.read(into: &packet) {
        guard packet.streamIndex == stream.index else { continue }
        if isVideo { counts.packets += 1 }
        try decoder.send(packet)
        while try decoder.receive(into: &frame) == .produced { if isVideo { counts.pictures += 1 } }
      }
      try decoder.drain()
      while try decoder.receive(into: &frame) == .produced { if isVideo { counts.pictures += 1 } }
    }
    return counts
  }
}

@Suite struct `Damaged sources` {
  /// Bytes are lost in the middle, and bits turned for a while after that.
  @Test(arguments: ["aac", "ac3"])
  func `what does not decode of a damaged stream is left out of its copy, and sound stays with the picture`(
    sound: String
  ) throws {
    let directory = try TemporaryDirectory()
    let path = try source(
      "d.ts", in: directory, seconds: 12,
      ["-c:v", "libx264", "-g", "25", "-bf", "2", "-preset", "veryfast", "-c:a", sound])
    var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    var random = SeededRandom(7)
    for _ in 0..<60 {
      let packet = Int.random(in: bytes.count * 55 / 100..<bytes.count * 70 / 100, using: &random) / 188 * 188
      bytes[packet + Int.random(in: 40..<188, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    }
    bytes.removeSubrange(bytes.count / 2..<bytes.count / 2 + 6007)
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    let recorded = try copy(path)
    #expect(recorded.error == nil && recorded.runs.count == 1)
    #expect(recorded.summary?.progress.damaged ?? 0 > 5)
    let counts = try recorded.decodeStrictly()
    #expect(counts.pictures == counts.packets && (150..<290).contains(counts.pictures))
    #expect(abs(Double(recorded.summary?.progress.ticks ?? 0) / 90_000 - 12) < 0.1)
    let played = try recorded.played()
    let times = played.soundPackets.map(\.time)
    #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 < 0.06 }, "silence is in place of lost sound")
    let bright = try #require(played.firstBright)
    #expect(abs((played.firstLoud ?? 9) - bright) < 0.03)
  }

  @Test func `a packet that its container calls damaged and that decodes is kept`() throws {
    let directory = try TemporaryDirectory()
    let path = try source(
      "s.ts", in: directory, seconds: 4, ["-c:v", "libx264", "-g", "25", "-c:a", "aac"])
    var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    // The lengths that packets of the sound's elementary stream tell are wrong by one (ISO/IEC 13818-1 §2.4.3.7).
    for start in stride(from: 0, to: bytes.count - 187, by: 188) where bytes[start + 1] & 0x40 != 0 {
      let pes = start + 4 + (bytes[start + 3] & 0x20 == 0 ? 0 : 1 + Int(bytes[start + 4]))
      if pes + 6 < start + 188, Array(bytes[pes..<pes + 4]) == [0, 0, 1, 0xC0] { bytes[pes + 5] &+= 1 }
    }
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    let recorded = try copy(path)
    #expect(recorded.summary?.progress.damaged == 0)
    #expect(try recorded.decodeStrictly().pictures == 100)
  }
}

/// Sends bytes to whoever connects first, and closes. Returns the address.
private func serving(_ bytes: Data) throws -> String {
  let (listener, port) = try boundSocket()
  try #require(listen(listener, 1) == 0)
  Thread {
    let connection = FileHandle(fileDescriptor: accept(listener, nil, nil), closeOnDealloc: true)
    close(listener)
    try? connection.write(contentsOf: bytes)
  }.start()
  return "tcp://127.0.0.1:\(port)"
}

@Suite struct `Sources that lost something` {
  @Test func `what was lost of a live transport stream is left out without decoding what is there`() throws {
    let directory = try TemporaryDirectory()
    let path = try source(
      "l.ts", in: directory, seconds: 7,
      ["-c:v", "libx264", "-g", "25", "-bf", "2", "-b:v", "800k", "-preset", "veryfast", "-c:a", "aac"])
    let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    var random = SeededRandom(11)
    var bytes: [UInt8] = []
    for start in stride(from: 0, to: whole.count, by: 1316) {
      if start > whole.count / 5, start < whole.count * 4 / 5, Int.random(in: 0..<60, using: &random) == 0 { continue }
      bytes += whole[start..<min(start + 1316, whole.count)]
    }
    let recorded = try copy(serving(Data(bytes))) {
      $0.reconnects = false
      $0.isPaced = true
    }
    #expect(recorded.error == nil && recorded.runs.count == 1)
    #expect(recorded.summary?.progress.damaged ?? 0 > 20)
    let counts = try recorded.decodeStrictly()
    #expect(counts.pictures == counts.packets && (80..<165).contains(counts.pictures))
    #expect(abs(Double(recorded.summary?.progress.ticks ?? 0) / 90_000 - 7) < 0.1)
  }

  @Test(arguments: ["c.ts", "c.h264", "c.flv", "c.mkv"])
  func `the last picture of what was cut is left out only where it is not whole, and sound ends with the picture`(
    name: String
  ) throws {
    let directory = try TemporaryDirectory()
    let hasSound = !name.hasSuffix("h264")
    let path = try source(
      name, in: directory, seconds: 6,
      ["-c:v", "libx264", "-g", "50", "-bf", "2", "-preset", "veryfast"] + (hasSound ? ["-c:a", "aac"] : ["-an"]))
    let whole = try copy(path)
    #expect(try whole.decodeStrictly().packets == 150 && whole.summary?.progress.damaged == 0)
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    for part in [71, 78, 84, 91] {
      try bytes.prefix(bytes.count * part / 100).write(to: URL(fileURLWithPath: path))
      let recorded = try copy(path)
      let counts = try recorded.decodeStrictly()
      #expect(counts.pictures == counts.packets && (80..<145).contains(counts.pictures))
      guard hasSound else { continue }
      let played = try recorded.played()
      let shown = played.videoPackets.map(\.time).max() ?? 9
      #expect(played.soundEnd > shown + 0.02)
    }
  }
}

@Suite struct `Open groups of pictures without IDR pictures` {
  private static let kinds = ["cabac=1", "cabac=0", "interlaced=1:tff=1", "slices=3", "b-pyramid=strict:weightp=2"]

  private func full(_ kind: String, _ directory: TemporaryDirectory, _ name: String = "full.ts") throws -> String {
    try source(
      name, in: directory, seconds: 12,
      [
        "-c:v", "libx264", "-s", "160x96", "-g", "50", "-b:v", "300k", "-x264-params",
        "open-gop=1:bframes=3:ref=4:keyint_min=50:scenecut=0:\(kind)", "-c:a", "aac",
      ])
  }

  /// The stream is joined in its middle, and some of it is lost later.
  @Test(arguments: kinds) func `a copy begins and goes on with pictures that decode, and all are the source's`(
    kind: String
  ) throws {
    let directory = try TemporaryDirectory()
    let path = try full(kind, directory)
    let original = Set(try Played(path).pictures.map(\.brightness))
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    var random = SeededRandom(5)
    let start = bytes.count * 3 / 10 / 188 * 188
    var joined = Data()
    for packet in stride(from: start, to: bytes.count, by: 1316) {
      let place = Double(packet) / Double(bytes.count)
      if place > 0.6, place < 0.7, Int.random(in: 0..<8, using: &random) == 0 { continue }
      joined += bytes[packet..<min(packet + 1316, bytes.count)]
    }
    try joined.write(to: URL(fileURLWithPath: path))
    let recorded = try copy(path)
    #expect(recorded.runs.count == 1 && recorded.summary?.progress.damaged ?? 0 > 5)
    let counts = try recorded.decodeStrictly()
    #expect(counts.pictures == counts.packets && counts.pictures > 40)
    let played = try recorded.played()
    #expect(played.videoPackets.first?.isKey == true)
    #expect(played.pictures.allSatisfy { original.contains($0.brightness) })
    #expect(abs((played.pictures.first?.time ?? 9) - (played.soundStart ?? -9)) < 0.05)
  }

  @Test func `any bytes are safe to number anew`() throws {
    let directory = try TemporaryDirectory()
    for (name, kind) in [("a.ts", Self.kinds[0]), ("b.mp4", Self.kinds[4])] {
      let path = try full(kind, directory, name)
      var random = SeededRandom(3)
      var input = try MediaInput(InputRequest(url: path), interruption: Interruption())
      let found = input.bestVideo
      let stream = try #require(found)
      let lengthSize = stream.extradata.first == 1 ? 4 : nil
      var packet = try Packet()
      var open: ClosedStart?
      while try input.read(into: &packet) {
        guard packet.streamIndex == stream.index else { continue }
        var bytes = packet.bytes
        var extradata = stream.extradata
        for _ in 0..<20 {
          bytes[Int.random(in: 0..<min(64, bytes.count), using: &random)] = .random(in: 0...255, using: &random)
        }
        extradata[Int.random(in: 0..<extradata.count, using: &random)] = .random(in: 0...255, using: &random)
        var changed = ClosedStart(extradata: extradata, lengthSize: lengthSize)
        _ = changed?.renumber(packet.bytes)
        if open == nil { open = ClosedStart(extradata: stream.extradata, lengthSize: lengthSize) }
        _ = open?.renumber(bytes)
        _ = open?.renumber(Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random))))
      }
    }
  }
}

@Suite struct `Sources stored in an odd way` {
  /// All sound of the file lies behind all pictures.
  ///
  /// - Parameter times: gives the packets of a track, picture first, other times, in order.
  private func apart(
    _ directory: TemporaryDirectory, seconds: Int, _ arguments: [String],
    times: (_ track: Int, _ index: Int, Int64?) -> Int64? = { $2 }
  ) throws -> String {
    let whole = try source("whole.mp4", in: directory, seconds: seconds, arguments)
    let path = directory.file("apart.mkv")
    var input = try MediaInput(InputRequest(url: whole), interruption: Interruption())
    let streams = [input.bestVideo, input.bestAudio].compactMap { $0 }
    try #require(streams.count == 2)
    var muxer = try OutputMuxer(
      format: "matroska", url: path, tracks: streams.map { FragmentTrack(parameters: $0.parameters) },
      options: [MediaOption("max_interleave_delta", "1")])
    for (track, stream) in streams.enumerated() {
      input = try MediaInput(InputRequest(url: whole), interruption: Interruption())
      var packet = try Packet()
      var count = 0
      while try input.read(into: &packet) {
        guard packet.streamIndex == stream.index else { continue }
        packet.pts = times(track, count, packet.pts)
        packet.dts = packet.pts
        count += 1
        try muxer.write(&packet, track: track)
      }
    }
    try muxer.finish()
    return path
  }

  @Test(arguments: [true, false])
  func `sound that lies far behind its picture in a file is not lost`(isCopied: Bool) throws {
    let directory = try TemporaryDirectory()
    let path = try apart(
      directory, seconds: 40, ["-c:v", "libx264", "-g", "25", "-bf", "0", "-preset", "ultrafast", "-c:a", "aac"])
    let recorded = try isCopied ? copy(path) : Recorded(path)
    #expect(recorded.summary?.progress.damaged == 0 && recorded.summary?.progress.silence == 0)
    #expect(!recorded.events.contains { $0.message.contains("too late") })
    for segment in 0..<8 {
      let played = try recorded.played(segment: segment)
      #expect(abs((played.soundPackets.first?.time ?? -9) - (played.pictures.first?.time ?? 9)) < 0.05)
    }
    let played = try recorded.played()
    #expect(abs((played.firstLoud ?? 9) - (played.firstBright ?? -9)) < 0.03)
    #expect(abs(played.soundEnd - 40) < 0.1)
  }

  @Test(arguments: [true, false])
  func `packets that have the time of the one after them cost nothing`(isCopied: Bool) throws {
    let directory = try TemporaryDirectory()
    let path = try apart(directory, seconds: 6, ["-c:v", "libx264", "-g", "25", "-bf", "0", "-c:a", "ac3"]) {
      track, index, time in
      let late: [[Int: Int64]] = [[80: 1024, 81: 512], [100: 1536]]
      return time.map { $0 + (late[track][index] ?? 0) }
    }
    #expect(try Played(path).videoPackets.count == 150)
    let recorded = try isCopied ? copy(path) : Recorded(path)
    #expect(recorded.summary?.progress.damaged == 0)
    let played = try recorded.played()
    let sound = played.soundPackets.map(\.time)
    #expect(zip(sound, sound.dropFirst()).allSatisfy { $1 - $0 < 0.04 })
    let shown = played.videoPackets.map(\.time)
    #expect(isCopied || zip(shown, shown.dropFirst()).allSatisfy { $1 - $0 > 0.03 })
  }

  @Test(arguments: [true, false])
  func `a header that tells too low a rate is not believed`(isCopied: Bool) throws {
    let directory = try TemporaryDirectory()
    let path = try Generated.file(
      "slow.mkv", in: directory, "testsrc2=s=64x64:r=25:d=6[out0];sine=r=48000:d=6[out1]",
      ["-c:v", "libx264", "-bf", "2", "-g", "50", "-c:a", "aac"])
    var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    // DefaultDuration of the picture, in nanoseconds: 40 ms become 120 ms.
    let known: [UInt8] = [0x23, 0xE3, 0x83, 0x84, 0x02, 0x62, 0x5A, 0x00]
    let place = try #require(bytes.indices.first { bytes[$0...].starts(with: known) })
    bytes.replaceSubrange(place + 4..<place + 8, with: [0x07, 0x27, 0x0E, 0x00])
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    let recorded = try isCopied ? copy(path) : Recorded(path)
    #expect(recorded.summary?.progress.ticks == 540_000)
    let run = try #require(recorded.runs.first)
    let played = try recorded.played(run)
    #expect(played.videoPackets.count == 150)
    #expect(played.videoPackets.allSatisfy { abs($0.duration - 0.04) < 0.002 })
  }

  @Test func `copied sound whose rate and channels change goes on as what it is, in a run of its own`() throws {
    let directory = try TemporaryDirectory()
    let description = "testsrc2=s=64x64:r=25:d=4[out0];sine=r=48000:d=4[out1]"
    let common = ["-c:v", "libx264", "-g", "50", "-bf", "0", "-c:a", "aac"]
    var bytes = Data()
    for (name, arguments) in [
      ("a.ts", ["-ar", "44100", "-ac", "2"]), ("b.ts", ["-ar", "48000", "-ac", "1", "-output_ts_offset", "4"]),
    ] {
      let path = try Generated.file(name, in: directory, description, common + arguments)
      bytes += try Data(contentsOf: URL(fileURLWithPath: path))
    }
    let path = directory.file("change.ts")
    try bytes.write(to: URL(fileURLWithPath: path))
    let recorded = try copy(path)
    #expect(recorded.runs.count == 2)
    for (run, form) in [(44_100, 2), (48_000, 1)].enumerated() {
      let played = try recorded.played(run: run)
      #expect(played.soundRate == form.0 && played.channels == form.1)
      #expect(played.pictures.count >= 50)
    }
    let encoded = try Recorded(path)
    #expect(encoded.runs.count == 1 && !encoded.events.contains { $0.message.contains("too late") })
  }
}
