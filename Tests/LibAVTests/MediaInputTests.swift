import Foundation
import LibAV
import TestKit
import Testing

private func failure(_ request: InputRequest, interruption: Interruption = Interruption()) -> AVError? {
  do throws(AVError) {
    let input = try MediaInput(request, interruption: interruption)
    _ = input.streams
    return nil
  } catch {
    return error
  }
}

@Suite struct `Media input` {
  @Test func `a file tells its streams, rates and duration`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("it's a \"тест\" 01.mp4")
    try Scene(seconds: 2).write(to: path, format: "mp4")
    let input = try MediaInput(InputRequest(url: path), interruption: Interruption())
    let video = try require(input.bestVideo)
    #expect(video.codec == .h264)
    #expect((video.width, video.height) == (160, 90))
    #expect(video.frameRate == RationalTime(25, 1))
    let audio = try require(input.bestAudio)
    #expect(audio.codec == .aac)
    #expect((audio.sampleRate, audio.channels) == (48_000, 2))
    #expect(input.isLive == false)
    #expect(try require(input.duration) >= 2_000_000)
  }

  @Test(arguments: [("mp4", false), ("mp4", true), ("mpegts", false), ("mpegts", true)])
  func `packets that are copied are the same as those that are decoded`(format: String, bFrames: Bool) throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("a")
    try Scene(seconds: 2, bFrames: bFrames).write(to: path, format: format)
    func packets(isCopied: Bool) throws -> [String] {
      var request = InputRequest(url: path)
      request.isCopied = isCopied
      var input = try MediaInput(request, interruption: Interruption())
      let stream = try require(input.bestVideo)
      let sound = try require(input.bestAudio)
      var all = [
        "\(stream.frameRate) \(stream.parameters.reorderDepth) \(stream.width) \(stream.extradata)",
        "\(sound.sampleRate) \(sound.channels) \(sound.parameters.channelLayout) \(sound.extradata)",
      ]
      var packet = try Packet()
      while try input.read(into: &packet) {
        // MP4 with reordered pictures tells no durations; the timeline takes them from the next picture.
        let times =
          "\(packet.pts ?? -1) \(packet.dts ?? -1) \(bFrames ? 0 : packet.duration) \(packet.skippedSamples?.front ?? 0)"
        let bytes = packet.withBytes { bytes in bytes.withUnsafeBytes { Array($0) } }
        all.append("\(packet.streamIndex) \(times) \(packet.isKey) \(bytes.hashValue)")
      }
      return all
    }
    let (copied, decoded) = try (packets(isCopied: true), packets(isCopied: false))
    #expect(copied.count == decoded.count)
    for (copied, decoded) in zip(copied, decoded) { #expect(copied == decoded) }
  }

  @Test func `where decoding starts nowhere, the size of pictures that are copied is found all the same`() throws {
    let directory = try TemporaryDirectory()
    let whole = directory.file("whole.ts")
    try Media.generate(
      whole, seconds: 6,
      arguments: ["-c:v", "libx264", "-preset", "ultrafast", "-x264-params", "intra-refresh=1:keyint=50"])
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: whole)))
    try write(Array(bytes.suffix(from: bytes.count / 2 / 188 * 188)), to: directory.file("half.ts"))
    var request = InputRequest(url: directory.file("half.ts"))
    request.isCopied = true
    let input = try MediaInput(request, interruption: Interruption())
    #expect(try require(input.bestVideo).width == 320)
  }

  @Test func `the shape of pixels that only the container tells belongs to what is copied`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("wide.mp4")
    try Media.generate(path, seconds: 1, size: "64x64")
    let wider = directory.file("wider.mp4")
    try Program.tool("ffmpeg", ["-nostdin", "-v", "error", "-i", path, "-c", "copy", "-aspect", "2:1", wider])
    var request = InputRequest(url: wider)
    request.isCopied = true
    let input = try MediaInput(request, interruption: Interruption())
    #expect(try require(input.bestVideo).parameters.sampleAspect == RationalTime(2, 1))
  }

  @Test func `what cannot be opened says what it is and why`() throws {
    let directory = try TemporaryDirectory()
    let absent = try #require(failure(InputRequest(url: directory.file("absent.mp4"))))
    #expect(absent.kind == .notFound)
    #expect("\(absent)" == "cannot open \(directory.file("absent.mp4")): No such file or directory")
    try write([], to: directory.file("empty.mp4"))
    #expect(failure(InputRequest(url: directory.file("empty.mp4")))?.kind == .invalidData)
    var generator = SystemRandomNumberGenerator()
    try write((0..<4096).map { _ in UInt8.random(in: 128...255, using: &generator) }, to: directory.file("noise.mp4"))
    #expect(failure(InputRequest(url: directory.file("noise.mp4")))?.kind == .invalidData)
    #expect(failure(InputRequest(url: "nosuch://host/x"))?.kind == .unsupported)
    #expect(failure(InputRequest(url: "x", format: "nosuch"))?.kind == .unsupported)
    #expect(failure(InputRequest(url: "http://127.0.0.1:1/x.mp4"))?.kind == .unavailable)
    #expect(failure(InputRequest(url: directory.path))?.kind == .invalidData)
  }

  @Test func `a file without picture or sound has no streams`() throws {
    let directory = try TemporaryDirectory()
    try write(Array("1\n00:00:00,000 --> 00:00:02,000\nwords\n\n".utf8), to: directory.file("a.srt"))
    let error = try #require(failure(InputRequest(url: directory.file("a.srt"))))
    #expect(error.kind == .noStreams)
    #expect("\(error)".hasSuffix("no video or audio in it"))
  }

  @Test func `an option nobody knows is named`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("a.mp4")
    try Scene(seconds: 1, hasAudio: false).write(to: path, format: "mp4")
    let error = try #require(failure(InputRequest(url: path, options: [MediaOption("frobnicate", "1")])))
    #expect(error.kind == .unknownOption)
    #expect("\(error)" == "\(path) does not know the option frobnicate")
    #expect(failure(InputRequest(url: path, options: [MediaOption("probesize", "100000")])) == nil)
  }

  @Test func `standard input is read from a pipe, and sought where it is a file`() throws {
    let directory = try TemporaryDirectory()
    try Scene(seconds: 2).write(to: directory.file("a.ts"), format: "mpegts")
    try Scene(seconds: 2).write(to: directory.file("a.mp4"), format: "mp4")
    let pipe = Pipe()
    let bytes = try Data(contentsOf: URL(fileURLWithPath: directory.file("a.ts")))
    Thread.detachNewThread {
      pipe.fileHandleForWriting.write(bytes)
      pipe.fileHandleForWriting.closeFile()
    }
    #expect(try countVideoPackets(descriptor: pipe.fileHandleForReading.fileDescriptor) == 50)
    // The index of this MP4 stands at its end.
    let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: directory.file("a.mp4")))
    #expect(try countVideoPackets(descriptor: file.fileDescriptor) == 50)
  }

  private func countVideoPackets(descriptor: Int32) throws -> Int {
    var request = InputRequest(url: "-")
    request.standardInput = descriptor
    var input = try MediaInput(request, interruption: Interruption())
    var packet = try Packet()
    var count = 0
    while try input.read(into: &packet) { count += packet.streamIndex == input.bestVideo?.index ? 1 : 0 }
    return count
  }

  @Test func `a silent pipe is given up at its deadline`() throws {
    let pipe = Pipe()
    var request = InputRequest(url: "-")
    request.standardInput = pipe.fileHandleForReading.fileDescriptor
    request.openTimeout = .milliseconds(150)
    let error = try #require(failure(request))
    #expect(error.kind == .timedOut)
    #expect("\(error)" == "cannot open standard input: nothing came in time")
  }

  @Test func `a stop ends a read that waits`() throws {
    let pipe = Pipe()
    var request = InputRequest(url: "-")
    request.standardInput = pipe.fileHandleForReading.fileDescriptor
    let interruption = Interruption()
    Thread.detachNewThread { interruption.stop() }
    #expect(failure(request, interruption: interruption)?.kind == .stopped)
  }

  @Test func `a read that nothing comes for times out, once`() throws {
    let directory = try TemporaryDirectory()
    try Scene(seconds: 1, hasAudio: false).write(to: directory.file("a.ts"), format: "mpegts")
    let pipe = Pipe()
    let bytes = try Data(contentsOf: URL(fileURLWithPath: directory.file("a.ts")))
    // All of it fits into the pipe.
    #expect(bytes.count < 65_536)
    pipe.fileHandleForWriting.write(bytes)
    var request = InputRequest(url: "-", options: [MediaOption("probesize", "20000")])
    request.standardInput = pipe.fileHandleForReading.fileDescriptor
    request.readTimeout = .seconds(1)
    var input = try MediaInput(request, interruption: Interruption())
    var packet = try Packet()
    var count = 0
    // The first one that waits gets what the parser has kept.
    var waits: [Duration] = []
    func time(since start: ContinuousClock.Instant) {
      let waited = ContinuousClock.now - start
      if waited > .milliseconds(900) { waits.append(waited) }
    }
    do throws(AVError) {
      while true {
        let start = ContinuousClock.now
        defer { time(since: start) }
        guard try input.read(into: &packet) else { break }
        count += 1
      }
      Issue.record("ended")
    } catch {
      #expect(error.kind == .timedOut)
    }
    #expect(count > 10)
    #expect(waits.count == 1, "\(waits)")
  }

  @Test func `generated sources wait for the reader, real-time protocols do not`() throws {
    let input = try MediaInput(
      InputRequest(url: "testsrc2=size=64x64:rate=5", format: "lavfi"), interruption: Interruption())
    #expect(input.isLive == false)
    #expect(input.bestVideo?.codec.description == "wrapped_avframe" || input.bestVideo?.codec.description == "rawvideo")
    #expect(input.bestAudio == nil)
  }

  @Test func `a turned picture tells how to turn it back`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("a.mp4")
    try Scene(seconds: 1, hasAudio: false).write(to: path, format: "mp4")
    // tkhd's matrix of a phone held upright: [0 1 0; -1 0 0; w 0 1] in 16.16 (ISO/IEC 14496-12 §8.3.2).
    var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    let tkhd = try #require(bytes.firstRange(of: Array("tkhd".utf8)))
    let matrix: [UInt32] = [0, 0x10000, 0, 0xFFFF_0000, 0, 0, 90 << 16, 0, 0x4000_0000]
    let start = tkhd.lowerBound + 44
    for (index, value) in matrix.enumerated() {
      for byte in 0..<4 { bytes[start + index * 4 + byte] = UInt8(truncatingIfNeeded: value >> UInt32(24 - 8 * byte)) }
    }
    try write(bytes, to: path)
    let input = try MediaInput(InputRequest(url: path), interruption: Interruption())
    let rotation = try require(input.bestVideo?.rotation)
    #expect(rotation == Rotation(clockwise: 90, isMirrored: false))
    #expect(rotation.filter == "transpose=clock")
    #expect(rotation.swapsSides)
  }
}
