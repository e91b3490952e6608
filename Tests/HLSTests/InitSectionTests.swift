import TestKit
import Testing

@testable import HLS

@Suite struct `Init section` {
  private func track(_ handler: String, _ entry: [UInt8]) throws -> MediaTrack {
    let bytes = initSectionBytes([TrackBytes(handler: handler, entry: entry)])
    return try #require(try InitSection(parsing: bytes).tracks.first)
  }

  static let hevcMain: [UInt8] = [1, 0x01, 0x60, 0, 0, 0, 0x90, 0, 0, 0, 0, 0, 93]
  static let hevcMain10High: [UInt8] = [1, 0x22, 0x20, 0, 0, 0, 0xB0, 0, 0, 0, 0, 0x10, 153]

  @Test(
    arguments: [
      ("avc1", box("avcC", [1, 0x64, 0x00, 0x1F, 0xFF]), "avc1.64001f"),
      ("avc3", box("avcC", [1, 0x42, 0xC0, 0x0A, 0xFF]), "avc3.42c00a"),
      ("hvc1", box("hvcC", hevcMain), "hvc1.1.6.L93.90"),
      ("hev1", box("hvcC", hevcMain10High), "hev1.2.4.H153.B0.0.0.0.0.10"),
      ("av01", box("av1C", [0x81, 0x08, 0x0C, 0]), "av01.0.08M.08"),
      ("av01", box("av1C", [0x81, 0x4D, 0xE0, 0]), "av01.2.13H.12"),
      ("vp09", fullBox("vpcC", version: 1, [0, 31, 0x82, 1, 1, 1, 0, 0]), "vp09.00.31.08"),
      ("mp4v", box("esds"), "mp4v"),
    ] as [(String, [UInt8], String)])
  func `a picture codec is named with its parameters`(type: String, configuration: [UInt8], codec: String) throws {
    #expect(try track("vide", visualEntry(type, [configuration])).entry.codec == codec)
  }

  static func esds(_ objectType: UInt8, _ configuration: [UInt8], longLengths: Bool = false) -> [UInt8] {
    func descriptor(_ tag: UInt8, _ body: [UInt8]) -> [UInt8] {
      [tag] + (longLengths ? [0x80, 0x80, 0x80] : []) + [UInt8(body.count)] + body
    }
    let specific = configuration.isEmpty ? [] : descriptor(5, configuration)
    let decoder = descriptor(4, [objectType, 0x15] + [UInt8](repeating: 0, count: 11) + specific)
    return fullBox("esds", descriptor(3, [0, 1, 0] + decoder + descriptor(6, [2])))
  }

  @Test(
    arguments: [
      ("mp4a", esds(0x40, [0x11, 0x90]), "mp4a.40.2", 2, 48_000),
      ("mp4a", esds(0x40, [0x11, 0x88], longLengths: true), "mp4a.40.2", 1, 48_000),
      ("mp4a", esds(0x40, [0x2B, 0x92, 0x08, 0x00]), "mp4a.40.5", 2, 22_050),
      ("mp4a", esds(0x40, [0xEB, 0x8A, 0x08, 0x00]), "mp4a.40.29", 1, 22_050),
      ("mp4a", esds(0x40, [0xF8, 0x48, 0x40]), "mp4a.40.34", 2, 44_100),
      ("mp4a", esds(0x6B, []), "mp4a.6b", 2, 48_000),
      ("Opus", box("dOps", [0, 6, 0, 0, 0, 0, 0xBB, 0x80, 0, 0, 0]), "Opus", 6, 48_000),
      ("ac-3", box("dac3", [0x10, 0x3D, 0x40]), "ac-3", 6, 48_000),
      ("ec-3", box("dec3", [0x07, 0xC0, 0x20, 0x0F, 0x00]), "ec-3", 6, 48_000),
      ("fLaC", box("dfLa"), "fLaC", 2, 48_000),
    ] as [(String, [UInt8], String, Int, Int)])
  func `a sound codec is named with its parameters`(
    type: String, configuration: [UInt8], codec: String, channels: Int, rate: Int
  ) throws {
    let entry = try track("soun", audioEntry(type, [configuration])).entry
    #expect(entry.codec == codec)
    #expect(entry.channels == channels)
    #expect(entry.sampleRate == rate)
  }

  @Test func `picture size and range come with the track`() throws {
    let colour = box("colr", Array("nclx".utf8), be16(9), be16(16), be16(9), [0])
    let avc = box("avcC", [1, 0x64, 0, 0x1F, 0xFF])
    let track = try track("vide", visualEntry("avc1", width: 1920, height: 1080, [avc, colour]))
    #expect((track.entry.width, track.entry.height) == (1920, 1080))
    #expect((track.displayWidth, track.displayHeight) == (1920, 1080))
    #expect(track.entry.videoRange == .pq)
    #expect(track.kind == .video)
    #expect(track.timescale == 90_000)
  }

  @Test func `video leads, sound only where there is no video`() throws {
    let sound = TrackBytes(
      id: 1, handler: "soun", entry: audioEntry("mp4a", [Self.esds(0x40, [0x11, 0x90])]))
    let video = TrackBytes(id: 2)
    #expect(try InitSection(parsing: initSectionBytes([sound, video])).leadingTrack?.id == 2)
    #expect(try InitSection(parsing: initSectionBytes([sound])).leadingTrack?.id == 1)
  }

  @Test(
    arguments: [
      [], box("ftyp"), box("moov"), box("moov", box("trak")), be32(0) + Array("moov".utf8), be32(9),
      initSectionBytes([TrackBytes(), TrackBytes()]), initSectionBytes([TrackBytes(timescale: 0)]),
      initSectionBytes([TrackBytes(entry: visualEntry("avc1", []))]),
      initSectionBytes([TrackBytes(entry: visualEntry("avc1", [box("avcC", [1, 2])]))]),
    ] as [[UInt8]])
  func `what is no init section is refused`(bytes: [UInt8]) {
    #expect(throws: MediaFormatError.self) { try InitSection(parsing: bytes) }
  }

  @Test func `damaged init sections never trap`() {
    var random = SplitMix(seed: 0x1417)
    let sound = TrackBytes(id: 2, handler: "soun", entry: audioEntry("mp4a", [Self.esds(0x40, [0x2B, 0x92, 0x08, 0])]))
    let hevc = TrackBytes(id: 3, entry: visualEntry("hvc1", [box("hvcC", Self.hevcMain)]))
    let good = initSectionBytes([TrackBytes(), sound, hevc])
    var refused = 0
    for _ in 0..<6_000 {
      var bytes = good
      for _ in 0..<random.next(below: 5) + 1 {
        let place = random.next(below: max(1, bytes.count))
        switch random.next(below: 3) {
        case 0 where !bytes.isEmpty: bytes[place] = UInt8(truncatingIfNeeded: random.next())
        case 1 where !bytes.isEmpty: bytes[place] = [0, 0xFF, 0x80, 1][random.next(below: 4)]
        case 2 where random.next(below: 4) == 0: bytes.removeSubrange(place...)
        default: break
        }
      }
      do {
        _ = try InitSection(parsing: bytes)
      } catch {
        refused += 1
      }
    }
    #expect(refused > 1_000)
  }
}
