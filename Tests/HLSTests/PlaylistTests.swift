import TestKit
import Testing

@testable import HLS

@Suite struct `Whole list` {
  let first = Scene.run()
  let second = Scene.run(1, after: 100)

  private func listing(_ run: RunName, _ numbers: [Int], _ marker: MarkerName? = nil) -> RunListing {
    var listing = RunListing(run: run)
    listing.hasInitSection = true
    listing.segments = numbers.map { Scene.name($0, of: run) }
    listing.marker = marker
    return listing
  }

  @Test func `everything is in it, ended and of type VOD`() throws {
    let list = try #require(
      MediaPlaylist.whole([listing(second, [0]), listing(first, [2, 0, 1], MarkerName(count: 3, kind: .next))]))
    #expect(list.entries.map(\.run) == [first, first, first, second])
    #expect(list.kind == .vod)
    #expect(list.isEnded)
    #expect(list.targetDuration == 5)
    #expect(list.entries.map(\.isDiscontinuity) == [false, false, false, true])
  }

  @Test func `a hole is a gap, a long segment is whole`() throws {
    var listing = listing(first, [0, 2])
    listing.segments.append(SegmentName(sequence: 3, start: Scene.name(3, of: first).start, ticks: 1_200_000))
    let list = try #require(MediaPlaylist.whole([listing]))
    #expect(list.entries.map(\.isGap) == [false, true, false, false])
    #expect(list.targetDuration == 13)
  }

  @Test func `runs without an init section or without segments are left out`() {
    var bare = RunListing(run: second)
    bare.segments = [Scene.name(0, of: second)]
    #expect(MediaPlaylist.whole([bare, listing(first, [])]) == nil)
    #expect(MediaPlaylist.whole([bare, listing(first, [0])])?.entries.count == 1)
  }

  @Test func `its text is what players are promised`() throws {
    let list = try #require(MediaPlaylist.whole([listing(first, [0, 2], nil), listing(second, [0], nil)]))
    let start = "#EXT-X-PROGRAM-DATE-TIME:2026-11-30T00:"
    let expected = """
      #EXTM3U
      #EXT-X-VERSION:8
      #EXT-X-TARGETDURATION:5
      #EXT-X-MEDIA-SEQUENCE:0
      #EXT-X-PLAYLIST-TYPE:VOD
      #EXT-X-MAP:URI="20261130T005320.000Z_0000/init.mp4"
      \(start)53:20.000Z
      #EXTINF:5.000000,
      20261130T005320.000Z_0000/00000000_20261130T005320.000Z_450000.m4s
      #EXT-X-GAP
      #EXTINF:5.000000,
      20261130T005320.000Z_0000/00000001.m4s
      #EXTINF:5.000000,
      20261130T005320.000Z_0000/00000002_20261130T005330.000Z_450000.m4s
      #EXT-X-DISCONTINUITY
      #EXT-X-MAP:URI="20261130T005500.000Z_0001/init.mp4"
      \(start)55:00.000Z
      #EXTINF:5.000000,
      20261130T005500.000Z_0001/00000000_20261130T005500.000Z_450000.m4s
      #EXT-X-ENDLIST

      """
    #expect(String(decoding: list.rendered(), as: UTF8.self) == expected)
  }

  @Test func `names in a list are those on disk, whatever the day`() {
    var random = SplitMix(seed: 5)
    for _ in 0..<500 {
      let time = WallClockTime(milliseconds: Int64(random.next(below: 250_000_000_000_000)) - 60_000_000_000_000)
      let run = RunName(start: time, suffix: UInt16(random.next(below: 65_536)))
      let name = SegmentName(sequence: random.next(below: 100_000_000), start: time, ticks: 450_000)
      var text = PlaylistText()
      text.append(run)
      text.append("/")
      text.append(name)
      #expect(String(decoding: text.bytes, as: UTF8.self) == "\(run)/\(name)")
    }
  }

  @Test func `durations read back to the tick`() throws {
    var random = SplitMix(seed: 77)
    for _ in 0..<2_000 {
      let ticks = Int64(random.next(below: 1_000_000) + 1)
      let entry = MediaPlaylist.Entry(gapIn: first, sequence: 0, ticks: ticks, date: first.start)
      let list = MediaPlaylist(kind: .sliding, targetDuration: 12, entries: [entry])
      #expect(try MediaPlaylist(parsing: list.rendered()).entries.first?.ticks == ticks)
    }
  }
}

@Suite struct `Bandwidth` {
  @Test func `peak is over sets of half to one and a half target durations`() {
    var meter = BandwidthMeter(targetDuration: 6)
    for bytes: Int64 in [600_000, 300_000, 900_000] { meter.add(bytes: bytes, ticks: 270_000) }
    // 3 s each: 2.4 Mb/s for the last alone, which lasts half a target duration.
    #expect(meter.peak == 2_400_000)
    #expect(meter.average == 1_600_000)
    var short = BandwidthMeter(targetDuration: 6)
    for bytes: Int64 in [600_000, 300_000, 900_000] { short.add(bytes: bytes, ticks: 180_000) }
    #expect(short.peak == 2_400_000)
  }

  @Test func `no set reaches across a gap`() {
    var meter = BandwidthMeter(targetDuration: 4)
    meter.add(bytes: 1_000_000, ticks: 90_000)
    meter.addGap()
    meter.add(bytes: 1_000_000, ticks: 90_000)
    #expect(meter.peak == meter.average)
  }

  @Test func `many tiny segments cost bounded work`() {
    var meter = BandwidthMeter(targetDuration: 6)
    for _ in 0..<20_000 { meter.add(bytes: 10, ticks: 90) }
    #expect(meter.average == 80_000)
  }
}

@Suite struct `Multivariant playlist` {
  private func summary(_ tracks: [TrackBytes], frames rate: UInt32? = nil, peak: Int64 = 2_000) throws
    -> RenditionSummary
  {
    var frames = FrameDurations()
    if let rate { frames.add(90_000 / rate, timescale: 90_000, count: 100) }
    return RenditionSummary(
      initSections: [try InitSection(parsing: initSectionBytes(tracks))], frames: frames, peak: peak,
      average: peak / 2, isIndependent: true)
  }

  static let aac = `Init section`.esds(0x40, [0x11, 0x90])
  static let video = TrackBytes(entry: visualEntry("avc1", [box("avcC", [1, 0x64, 0, 0x1F, 0xFF])]))
  static let sound = TrackBytes(id: 2, handler: "soun", entry: audioEntry("mp4a", [aac]))
  static let mono = TrackBytes(
    handler: "soun", entry: audioEntry("mp4a", channels: 1, [`Init section`.esds(0x40, [0x11, 0x88])]))

  private func text(_ renditions: [RenditionName: RenditionSummary], _ list: String = "live.m3u8") -> String {
    String(decoding: MultivariantPlaylist(renditions: renditions, list: list).rendered(), as: UTF8.self)
  }

  @Test func `a recording with one rendition is one variant`() throws {
    #expect(
      text([.main: try summary([Self.video, Self.sound], frames: 25)]) == """
        #EXTM3U
        #EXT-X-INDEPENDENT-SEGMENTS
        #EXT-X-STREAM-INF:BANDWIDTH=2000,AVERAGE-BANDWIDTH=1000,CODECS="avc1.64001f,mp4a.40.2",RESOLUTION=1280x720,\
        FRAME-RATE=25.000
        main/live.m3u8

        """)
  }

  @Test func `a microphone is a choice of sound beside the programme, and counts in the bandwidth`() throws {
    let both = [
      RenditionName.main: try summary([Self.video, Self.sound], frames: 30),
      .mic: try summary([Self.mono], peak: 100),
    ]
    #expect(
      text(both, "vod.m3u8") == """
        #EXTM3U
        #EXT-X-INDEPENDENT-SEGMENTS
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="sound",NAME="Programme",DEFAULT=YES,AUTOSELECT=YES,CHANNELS="2"
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="sound",NAME="Microphone",DEFAULT=NO,AUTOSELECT=NO,CHANNELS="1",\
        URI="mic/vod.m3u8"
        #EXT-X-STREAM-INF:BANDWIDTH=2100,AVERAGE-BANDWIDTH=1050,CODECS="avc1.64001f,mp4a.40.2",RESOLUTION=1280x720,\
        FRAME-RATE=30.000,AUDIO="sound"
        main/vod.m3u8

        """)
  }

  @Test func `further qualities are variants below the programme, largest first, with the same choice of sound`() throws
  {
    func video(_ width: Int, _ height: Int) -> TrackBytes {
      TrackBytes(
        entry: visualEntry("avc1", width: width, height: height, [box("avcC", [1, 0x64, 0, 0x1F, 0xFF])]))
    }
    let all = [
      RenditionName.main: try summary([video(1920, 1080), Self.sound], frames: 30),
      try #require(RenditionName("480p")): try summary([video(854, 480), Self.sound], frames: 30, peak: 800),
      try #require(RenditionName("720p")): try summary([video(1280, 720), Self.sound], frames: 30, peak: 1000),
      .mic: try summary([Self.mono], peak: 100),
    ]
    let list = MultivariantPlaylist(renditions: all, list: "live.m3u8")
    #expect(list.variants.map(\.uri) == ["main/live.m3u8", "720p/live.m3u8", "480p/live.m3u8"])
    #expect(list.variants.map(\.bandwidth) == [2100, 1100, 900])
    #expect(list.variants.map(\.resolution?.height) == [1080, 720, 480])
    #expect(list.variants.allSatisfy { $0.hasSoundGroup && $0.codecs == ["avc1.64001f", "mp4a.40.2"] })
    // The programme's sound is in every variant, so that its entry has no address.
    #expect(list.sounds.map(\.uri) == [nil, "mic/live.m3u8"])
  }

  @Test func `a microphone beside silent pictures is the sound`() throws {
    let list = MultivariantPlaylist(
      renditions: [.main: try summary([Self.video], frames: 25), .mic: try summary([Self.mono])], list: "live.m3u8")
    #expect(list.sounds.map(\.isDefault) == [true])
    #expect(list.variants.first?.codecs == ["avc1.64001f", "mp4a.40.2"])
  }

  @Test func `a recording of sound alone is a variant without pictures`() throws {
    #expect(
      text([.mic: try summary([Self.mono])]) == """
        #EXTM3U
        #EXT-X-INDEPENDENT-SEGMENTS
        #EXT-X-STREAM-INF:BANDWIDTH=2000,AVERAGE-BANDWIDTH=1000,CODECS="mp4a.40.2"
        mic/live.m3u8

        """)
  }

  @Test func `codecs of every run are named, and the largest picture`() throws {
    let hevc = TrackBytes(
      entry: visualEntry("hvc1", width: 1920, height: 1080, [box("hvcC", `Init section`.hevcMain)]))
    var main = try summary([Self.video, Self.sound], frames: 25)
    main.initSections.append(try InitSection(parsing: initSectionBytes([hevc])))
    let variant = try #require(MultivariantPlaylist(renditions: [.main: main], list: "live.m3u8").variants.first)
    #expect(variant.codecs == ["avc1.64001f", "hvc1.1.6.L93.90", "mp4a.40.2"])
    #expect(variant.resolution == .init(width: 1920, height: 1080))
  }

  @Test func `one rendition that cannot be entered anywhere takes the claim from all`() throws {
    var main = try summary([Self.video], frames: 25)
    #expect(MultivariantPlaylist.claimsIndependence(Array(text([.main: main]).utf8)))
    main.isIndependent = false
    #expect(!MultivariantPlaylist.claimsIndependence(Array(text([.main: main, .mic: try summary([Self.mono])]).utf8)))
  }
}
