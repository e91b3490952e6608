import LibAV
import TestKit
import Testing

@testable import Recording

@Suite struct `Picture filter` {
  private func filter(
    _ width: Int, _ height: Int, aspect: RationalTime = RationalTime(1, 1), rotation: Rotation = .none,
    interlaced: Bool = false, format: String = "yuv420p", fullRange: Bool = false
  ) -> PictureFilter {
    var color = ColorProperties.unspecified
    color.isFullRange = fullRange
    return PictureFilter(
      width: width, height: height, sampleAspect: aspect, rotation: rotation, isInterlaced: interlaced,
      format: PixelFormat(name: format) ?? .yuv420p, color: color, outputFormat: .yuv420p)
  }

  @Test(arguments: [(320, 180, 6), (1280, 720, 6), (1920, 1080, 3), (3840, 2160, 3)])
  func `frames of a live source take 9.5 MB at most, and three there are always`(
    width: Int, height: Int, frames: Int
  ) {
    #expect(PictureEncoder.mostFrames(width: width, height: height) == frames)
  }

  @Test func `a picture that fits is passed through untouched`() {
    #expect(filter(1920, 1080).description(size: (1920, 1080), keepsAspect: true) == "format=yuv420p")
  }

  @Test func `pixels become square by stretching the longer way`() {
    #expect(filter(720, 576, aspect: RationalTime(64, 45)).outputSize(nil) == (1024, 576))
    #expect(filter(1440, 1080, aspect: RationalTime(3, 4)).outputSize(nil) == (1440, 1440))
  }

  @Test func `portrait stays portrait`() {
    let turned = filter(1920, 1080, rotation: Rotation(clockwise: 90, isMirrored: false))
    #expect(turned.outputSize(nil) == (1080, 1920))
    #expect(turned.description(size: (1080, 1920), keepsAspect: true) == "transpose=clock,format=yuv420p")
    #expect(turned.outputSize(.init(width: nil, height: 960)) == (540, 960))
  }

  @Test(arguments: [
    ((1920, 1080), 480, (854, 480)), ((1080, 1920), 480, (480, 854)), ((1920, 1080), 1080, (1920, 1080)),
    ((640, 480), 1080, (640, 480)), ((2560, 1080), 720, (1706, 720)), ((100, 99), 65, (66, 66)),
  ])
  func `a rung limits the shorter side, and makes nothing larger`(
    size: (Int, Int), side: Int, expected: (Int, Int)
  ) {
    #expect(PictureFilter.limited(size, side: side) == expected)
  }

  @Test func `a source that changes its shape is fitted in with bars`() {
    let description = filter(1080, 1920).description(size: (1920, 1080), keepsAspect: true)
    #expect(description.contains("scale=w=608:h=1080") && description.contains("pad=w=1920:h=1080"))
  }

  @Test func `screens are converted with the matrix they are tagged with, full range to video range`() {
    #expect(
      filter(1920, 1080, format: "bgr0").description(size: (1920, 1080), keepsAspect: true).contains(
        "out_color_matrix=bt709"))
    #expect(filter(64, 64, format: "yuvj420p").description(size: (64, 64), keepsAspect: true).contains("out_range=tv"))
  }
}

@Suite struct `Access unit` {
  private func kind(_ bytes: [UInt8], _ codec: CodecID, isKey: Bool = true, lengthSize: Int? = nil) -> PictureKind {
    PictureKind(codec: codec, isKey: isKey, lengthSize: lengthSize, bytes: bytes.span.bytes)
  }

  @Test func `an IDR picture is found behind its parameter sets, in both forms`() {
    let annexB: [UInt8] = [0, 0, 0, 1, 0x09, 0xF0, 0, 0, 0, 1, 0x67, 1, 2, 0, 0, 1, 0x68, 3, 0, 0, 1, 0x65, 9, 9]
    #expect(kind(annexB, .h264) == .start)
    #expect(kind([0, 0, 0, 2, 0x67, 1, 0, 0, 0, 3, 0x65, 9, 9], .h264, lengthSize: 4) == .start)
    #expect(kind([0, 0, 1, 0x41, 9, 9, 9], .h264) == .openStart, "a recovery point")
    #expect(kind([0, 0, 1, 0x41, 9, 9, 9], .h264, isKey: false) == .other)
  }

  @Test(
    arguments: [
      (UInt8(19), PictureKind.start), (21, .openStart), (9, .skippedLeading), (8, .skippedLeading), (1, .other),
    ] as [(UInt8, PictureKind)])
  func `HEVC pictures are told by their type`(_ type: UInt8, _ expected: PictureKind) {
    #expect(kind([0, 0, 0, 1, 32 << 1, 1, 0, 0, 1, type << 1, 1, 7, 7], .hevc) == expected)
  }

  @Test func `any bytes are safe to look at`() {
    var random = SplitMix(seed: 11)
    for _ in 0..<20_000 {
      let bytes = (0..<Int(random.next() % 40)).map { _ in
        UInt8(truncatingIfNeeded: random.next() % 5 == 0 ? random.next() : random.next() % 3)
      }
      for codec in [CodecID.h264, .hevc, .av1] {
        for size in [nil, 1, 2, 3, 4] as [Int?] { _ = kind(bytes, codec, lengthSize: size) }
      }
    }
  }
}
