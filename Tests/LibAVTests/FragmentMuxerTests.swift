import LibAV
import TestKit
import Testing

/// Cuts a scene into chunks, a flush before each packet of track 0 that `cuts` names.
private func fragment(
  _ tracks: [Scene.Track], isPlain: Bool = true, cut: (_ isKey: Bool, _ index: Int) -> Bool
) throws -> (initSection: [UInt8], chunks: [[UInt8]], lead: Int64) {
  var muxer = try FragmentMuxer(
    tracks: tracks.map { FragmentTrack(parameters: $0.parameters, frameRate: $0.frameRate) }, isPlain: isPlain)
  var chunks: [[UInt8]] = []
  var index = 0
  func flush() throws {
    var chunk: [UInt8] = []
    if try muxer.flushChunk({ chunk.append($0) }) { chunks.append(chunk) }
  }
  try Scene.interleave(tracks) { packet, track in
    let isKey = packet.isKey
    try muxer.write(&packet, track: track)
    if track == 0 {
      if index > 0 && cut(isKey, index) { try flush() }
      index += 1
    }
  }
  try muxer.releaseHeld()
  try flush()
  return (try require(muxer.initSection), chunks, try require(muxer.lead))
}

extension [UInt8] {
  mutating func append(_ bytes: RawSpan) {
    bytes.withUnsafeBytes { append(contentsOf: $0) }
  }
}

@Suite struct `Fragment muxer` {
  @Test(arguments: [false, true])
  func `each fragment of a track starts at the tick where the one before it ended`(bFrames: Bool) throws {
    let tracks = try Scene(bFrames: bFrames).tracks()
    let result = try fragment(tracks) { _, index in index % 10 == 0 }
    #expect(result.chunks.count == 10)
    for track in [UInt32(1), 2] {
      let fragments = result.chunks.flatMap { FragmentBoxes($0).fragments(ofTrack: track) }
      #expect(fragments.count == 10)
      for (earlier, later) in zip(fragments, fragments.dropFirst()) {
        #expect(later.decodeTime == earlier.end)
      }
    }
    let video = result.chunks.flatMap { FragmentBoxes($0).fragments(ofTrack: 1) }
    #expect(video.reduce(0) { $0 + $1.samples.count } == 100)
    #expect(video.flatMap(\.samples).allSatisfy { $0.duration == 3600 })
    // The priming of AAC is 1,024 samples before 0.
    #expect(video.first?.decodeTime == (bFrames ? 0 : 1920))
    #expect(result.chunks.flatMap { FragmentBoxes($0).fragments(ofTrack: 2) }.first?.decodeTime == (bFrames ? 2816 : 0))
  }

  @Test func `a chunk is one moof and one mdat, addressed from its moof, and nothing else`() throws {
    let result = try fragment(try Scene(seconds: 2).tracks()) { _, index in index % 25 == 0 }
    for chunk in result.chunks {
      let boxes = FragmentBoxes(chunk)
      #expect(boxes.topLevel == ["moof", "mdat"])
      #expect(boxes.fragments.allSatisfy { $0.isBaseMoof })
    }
  }

  @Test func `the init section has no samples, no edit list and the brand of movie fragments`() throws {
    let result = try fragment(try Scene(seconds: 1).tracks()) { _, _ in false }
    let boxes = FragmentBoxes(result.initSection)
    #expect(boxes.topLevel == ["ftyp", "moov"])
    #expect(boxes.contains("mvex"))
    #expect(!boxes.contains("elst"))
    #expect(boxes.sampleEntries == ["avc1", "mp4a"])
    #expect(String(decoding: result.initSection[8..<12], as: UTF8.self) == "iso6")
  }

  @Test func `reordered pictures begin late together with the sound, and no offset is negative`() throws {
    let tracks = try Scene(bFrames: true).tracks()
    let result = try fragment(tracks) { _, index in index % 25 == 0 }
    #expect(result.lead == 2 * 3600)
    let first = FragmentBoxes(result.chunks[0])
    let video = try require(first.fragments(ofTrack: 1).first)
    #expect(video.decodeTime == 0)
    #expect(video.samples[0].offset == 7200)
    #expect(
      result.chunks.flatMap { FragmentBoxes($0).fragments(ofTrack: 1) }.flatMap(\.samples).allSatisfy { $0.offset >= 0 }
    )
    // Priming is 1,024 samples before 0; the lead is 0.08 s.
    #expect(first.fragments(ofTrack: 2).first?.decodeTime == 3840 - 1024)
  }

  @Test func `a track that starts late says so in its first fragment`() throws {
    let tracks = try Scene(hasAudio: true).tracks()
    let late = Scene.Track(
      parameters: tracks[1].parameters, frameRate: tracks[1].frameRate, packets: Array(tracks[1].packets.dropFirst(48)))
    let result = try fragment([tracks[0], late]) { _, index in index % 25 == 0 }
    let audio = result.chunks.flatMap { FragmentBoxes($0).fragments(ofTrack: 2) }
    #expect(audio.first?.decodeTime == 47 * 1024)
    #expect(result.chunks.compactMap { FragmentBoxes($0).fragments(ofTrack: 1).first }.first?.decodeTime == 0)
  }

  @Test func `a hole is the duration of the sample before it`() throws {
    let tracks = try Scene(hasAudio: false).tracks()
    let packets = Array(tracks[0].packets[0..<40] + tracks[0].packets[50...])
    let result = try fragment(
      [Scene.Track(parameters: tracks[0].parameters, frameRate: tracks[0].frameRate, packets: packets)]
    ) { isKey, _ in isKey }
    let samples = result.chunks.flatMap { FragmentBoxes($0).fragments(ofTrack: 1) }.flatMap(\.samples)
    #expect(samples[39].duration == 11 * 3600)
    #expect(samples.reduce(0) { $0 + $1.duration } == 100 * 3600)
  }

  @Test func `the last sample lasts one frame where its packet does not say`() throws {
    let tracks = try Scene(seconds: 1, hasAudio: false).tracks()
    for held in tracks[0].packets { held.packet.duration = 0 }
    let result = try fragment(tracks) { _, _ in false }
    let samples = FragmentBoxes(result.chunks[0]).fragments[0].samples
    #expect(samples.last?.duration == 3600)
  }

  @Test func `every segment decodes alone behind the init section`() throws {
    let directory = try TemporaryDirectory()
    let result = try fragment(try Scene(bFrames: true).tracks()) { isKey, _ in isKey }
    #expect(result.chunks.count == 4)
    for (index, chunk) in result.chunks.enumerated() {
      let path = directory.file("\(index).mp4")
      try write(result.initSection + chunk, to: path)
      #expect(try countDecoded(path).pictures == 25)
    }
  }

  @Test(arguments: [(false, 0), (true, 0), (true, 7), (false, 1)])
  func `packets that go in as they are become the fragments that libav would write`(bFrames: Bool, hole: Int) throws {
    let directory = try TemporaryDirectory()
    // Large enough that some samples are handed on by themselves and some are gathered.
    try Scene(width: 640, height: 360, bFrames: bFrames).write(to: directory.file("scene.mp4"), format: "mp4")
    var tracks = try Scene.tracks(in: directory.file("scene.mp4"))
    if hole > 0 {
      for (index, track) in tracks.enumerated() {
        let kept = track.packets.enumerated().filter { $0.offset % 40 != hole }.map(\.element)
        tracks[index] = Scene.Track(parameters: track.parameters, frameRate: track.frameRate, packets: kept)
      }
    }
    for tracks in [tracks, [tracks[0]], [tracks[1]]] {
      let ours = try fragment(tracks) { _, index in index % 10 == 3 }
      let theirs = try fragment(tracks, isPlain: false) { _, index in index % 10 == 3 }
      #expect(ours.initSection == theirs.initSection)
      #expect(ours.chunks.count == theirs.chunks.count)
      for (ours, theirs) in zip(ours.chunks, theirs.chunks) {
        let (ours, theirs) = (FragmentBoxes(ours), FragmentBoxes(theirs))
        #expect(ours.topLevel == theirs.topLevel)
        #expect(ours.fragments == theirs.fragments)
        #expect(ours.media == theirs.media)
      }
    }
  }

  @Test func `a packet held back is not flushed, and nothing pending delivers nothing`() throws {
    let tracks = try Scene(seconds: 1, hasAudio: false).tracks()
    var muxer = try FragmentMuxer(tracks: [FragmentTrack(parameters: tracks[0].parameters)])
    var packet = try tracks[0].packets[0].packet.shared()
    try muxer.write(&packet, track: 0)
    #expect(muxer.hasPending == false)
    #expect(muxer.end(of: 0) == nil)
    var calls = 0
    let isDelivered = try muxer.flushChunk { _ in calls += 1 }
    #expect(isDelivered == false)
    #expect(calls == 0)
    packet = try tracks[0].packets[1].packet.shared()
    try muxer.write(&packet, track: 0)
    #expect(muxer.end(of: 0) == 3600)
    #expect(muxer.hasPending == true)
  }

  @Test func `decode times that do not increase are refused by name`() throws {
    let tracks = try Scene(seconds: 1, hasAudio: false).tracks()
    var muxer = try FragmentMuxer(tracks: [FragmentTrack(parameters: tracks[0].parameters)])
    var packet = try tracks[0].packets[0].packet.shared()
    try muxer.write(&packet, track: 0)
    packet = try tracks[0].packets[0].packet.shared()
    do {
      try muxer.write(&packet, track: 0)
      Issue.record("accepted")
    } catch {
      #expect("\(error)" == "cannot write a fragment: decode time 0 after 0")
    }
  }

  @Test func `what the sink throws comes out as it is`() throws {
    struct Full: Error, Equatable { let call: Int }
    let tracks = try Scene(seconds: 1, hasAudio: false).tracks()
    var muxer = try FragmentMuxer(tracks: [FragmentTrack(parameters: tracks[0].parameters)])
    for held in tracks[0].packets {
      var packet = try held.packet.shared()
      try muxer.write(&packet, track: 0)
    }
    var calls = 0
    #expect(throws: FlushError<Full>.sink(Full(call: 1))) {
      try muxer.flushChunk { (_: RawSpan) throws(Full) in
        calls += 1
        throw Full(call: calls)
      }
    }
  }

  @Test func `AC-3 gets its init section from the first packets`() throws {
    let tracks = try Scene(seconds: 1, audioEncoder: "ac3").tracks()
    var muxer = try FragmentMuxer(
      tracks: tracks.map { FragmentTrack(parameters: $0.parameters, frameRate: $0.frameRate) })
    #expect(muxer.initSection == nil)
    var chunks: [[UInt8]] = []
    try Scene.interleave(tracks) { packet, track in try muxer.write(&packet, track: track) }
    try muxer.releaseHeld()
    var chunk: [UInt8] = []
    try muxer.flushChunk { chunk.append($0) }
    chunks.append(chunk)
    let boxes = FragmentBoxes(try require(muxer.initSection))
    #expect(boxes.sampleEntries == ["avc1", "ac-3"])
    #expect(!boxes.contains("elst"))
    #expect(FragmentBoxes(chunks[0]).topLevel == ["moof", "mdat"])
  }

  @Test func `HEVC is always hvc1`() throws {
    let result = try fragment(try Scene(seconds: 1, hasAudio: false, videoEncoder: "libx265").tracks()) { _, _ in false
    }
    #expect(FragmentBoxes(result.initSection).sampleEntries == ["hvc1"])
  }

  @Test func `a fragment of a thousand samples keeps its boxes whole`() throws {
    let result = try fragment(try Scene(seconds: 50, width: 32, height: 32).tracks()) { _, _ in false }
    #expect(result.chunks.count == 1)
    let boxes = FragmentBoxes(result.chunks[0])
    #expect(boxes.topLevel == ["moof", "mdat"])
    #expect(boxes.fragments(ofTrack: 1).first?.samples.count == 1250)
  }
}
