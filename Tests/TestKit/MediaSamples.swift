/// Media that is just real enough: an init section with H.264 and AAC, and segments whose boxes say what a scan reads.
package enum MediaSamples {
  package static let initSection = initSectionBytes([
    TrackBytes(entry: visualEntry("avc1", [box("avcC", [1, 0x64, 0x00, 0x1F, 0xFF, 0xE0])])),
    TrackBytes(id: 2, handler: "soun", timescale: 48_000, entry: audioEntry("mp4a", [esds])),
  ])

  package static let soundOnly = initSectionBytes([
    TrackBytes(handler: "soun", timescale: 48_000, entry: audioEntry("mp4a", channels: 2, [esds]))
  ])

  /// AAC LC, 48 kHz, stereo.
  private static let esds = fullBox(
    "esds", [3, 25, 0, 1, 0, 4, 17, 0x40, 0x15] + [UInt8](repeating: 0, count: 11) + [5, 2, 0x11, 0x90, 6, 1, 2])

  /// 25 pictures a second from `second` on, in one chunk.
  package static func segment(
    second: Int, seconds: Int = 5, bytesPerPicture: Int = 40, startsWithSync: Bool = true
  ) -> [UInt8] {
    let samples = (0..<seconds * 25).map {
      SampleBytes(duration: 3_600, size: bytesPerPicture, isSync: $0 == 0 && startsWithSync)
    }
    return chunkBytes(decodeTime: UInt64(second) * 90_000, samples)
  }
}
