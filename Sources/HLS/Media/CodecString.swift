/// Codec strings from sample entries and the configuration boxes inside them.
enum CodecString {
  struct Sound {
    var codec: String
    /// Where the codec's own configuration knows better than the sample entry.
    var channels: Int?
    var sampleRate: Int?
  }

  static func video(_ type: FourCC, _ boxes: [Box]) throws(MediaFormatError) -> String {
    switch type {
    case FourCC("avc1"), FourCC("avc3"):
      return try avc(type, boxes.required("avcC", of: type.description))
    case FourCC("hvc1"), FourCC("hev1"):
      return try hevc(type, boxes.required("hvcC", of: type.description))
    case FourCC("av01"):
      return try av1(boxes.required("av1C", of: "av01"))
    case FourCC("vp09"):
      return try vp9(boxes.required("vpcC", of: "vp09"))
    default:
      return type.description
    }
  }

  static func audio(_ type: FourCC, _ boxes: [Box]) throws(MediaFormatError) -> Sound {
    switch type {
    case FourCC("mp4a"):
      return try mpeg4(boxes.required("esds", of: "mp4a"))
    case FourCC("Opus"):
      var reader = try boxes.required("dOps", of: "Opus").reader
      try reader.skip(1)
      return Sound(codec: "Opus", channels: Int(try reader.u8()))
    case FourCC("ac-3"):
      // fscod 2, bsid 5, bsmod 3, acmod 3, lfeon 1 (ETSI TS 102 366 §F.4)
      var reader = try boxes.required("dac3", of: "ac-3").reader
      let bits = try reader.u24()
      return Sound(codec: "ac-3", channels: dolbyChannels(mode: Int(bits >> 11 & 7), bass: Int(bits >> 10 & 1)))
    case FourCC("ec-3"):
      // After 16 bits of rate and count: fscod 2, bsid 5, 1, asvc 1, bsmod 3, acmod 3, lfeon 1 (§F.6)
      var reader = try boxes.required("dec3", of: "ec-3").reader
      try reader.skip(2)
      let bits = try reader.u24()
      return Sound(codec: "ec-3", channels: dolbyChannels(mode: Int(bits >> 9 & 7), bass: Int(bits >> 8 & 1)))
    default:
      return Sound(codec: type.description)
    }
  }

  /// ISO 14496-15 §E.2: profile, compatibility and level bytes of the decoder configuration.
  private static func avc(_ type: FourCC, _ avcC: Box) throws(MediaFormatError) -> String {
    var reader = avcC.reader
    try reader.skip(1)
    return "\(type)." + (try reader.bytes(3).map { hexadecimal(UInt32($0), digits: 2) }.joined())
  }

  /// ISO 14496-15 §E.3: profile space and number, compatibility flags with their bits reversed, tier and level, then
  /// the constraint bytes without trailing zeros.
  private static func hevc(_ type: FourCC, _ hvcC: Box) throws(MediaFormatError) -> String {
    var reader = hvcC.reader
    try reader.skip(1)
    let profile = try reader.u8()
    let compatibility = try reader.u32()
    let constraints = Array(try reader.bytes(6))
    let level = try reader.u8()
    let space = ["", "A", "B", "C"][Int(profile >> 6)]
    var reversed: UInt32 = 0
    for bit in 0..<32 where compatibility >> bit & 1 == 1 { reversed |= 1 << (31 - bit) }
    var text = "\(type).\(space)\(profile & 0x1F).\(hexadecimal(reversed).uppercased())"
    text += ".\(profile & 0x20 != 0 ? "H" : "L")\(level)"
    let kept = constraints.lastIndex { $0 != 0 }.map { constraints[...$0] } ?? []
    for byte in kept { text += ".\(hexadecimal(UInt32(byte)).uppercased())" }
    return text
  }

  /// AV1 Codec ISO Media File Format Binding §5: profile, level and tier, bit depth; the rest has its defaults.
  private static func av1(_ av1C: Box) throws(MediaFormatError) -> String {
    var reader = av1C.reader
    try reader.skip(1)
    let profileAndLevel = try reader.u8()
    let flags = try reader.u8()
    let profile = profileAndLevel >> 5
    var depth = 8
    if flags & 0x40 != 0 { depth = profile == 2 && flags & 0x20 != 0 ? 12 : 10 }
    let tier = flags & 0x80 != 0 ? "H" : "M"
    return "av01.\(profile).\(decimal(Int(profileAndLevel & 0x1F)))\(tier).\(decimal(depth))"
  }

  /// VP Codec ISO Media File Format Binding: profile, level, bit depth.
  private static func vp9(_ vpcC: Box) throws(MediaFormatError) -> String {
    var reader = vpcC.reader
    _ = try reader.fullBoxHeader()
    let profile = Int(try reader.u8())
    let level = Int(try reader.u8())
    let depth = Int(try reader.u8() >> 4)
    return "vp09.\(decimal(profile)).\(decimal(level)).\(decimal(depth))"
  }

  /// RFC 6381 §3.3: the object type indication of the `esds` and, for MPEG-4 audio (0x40), the audio object type that
  /// opens the AudioSpecificConfig. SBR and parametric stereo that are signalled explicitly come first there, as 5 and
  /// 29; those a decoder has to find by itself are, to RFC 6381, plain AAC.
  private static func mpeg4(_ esds: Box) throws(MediaFormatError) -> Sound {
    var reader = esds.reader
    _ = try reader.fullBoxHeader()
    try openDescriptor(3, in: &reader)
    try reader.skip(2)
    let flags = try reader.u8()
    if flags & 0x80 != 0 { try reader.skip(2) }
    if flags & 0x40 != 0 { try reader.skip(Int(try reader.u8())) }
    if flags & 0x20 != 0 { try reader.skip(2) }
    try openDescriptor(4, in: &reader)
    let objectType = try reader.u8()
    try reader.skip(12)
    guard objectType == 0x40 else { return Sound(codec: "mp4a.\(hexadecimal(UInt32(objectType), digits: 2))") }
    try openDescriptor(5, in: &reader)
    var bits = BitReader(reader)
    var audioObjectType = try bits.read(5)
    if audioObjectType == 31 { audioObjectType = 32 + (try bits.read(6)) }
    let rateIndex = try bits.read(4)
    let rates = [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350]
    let rate = rateIndex == 15 ? try bits.read(24) : rates.indices.contains(rateIndex) ? rates[rateIndex] : 0
    let configuration = try bits.read(4)
    // 0 leaves the layout to the program configuration; 7 is 7.1 (ISO 14496-3 table 1.19).
    let channels = configuration == 0 || configuration > 7 ? nil : configuration == 7 ? 8 : configuration
    return Sound(codec: "mp4a.40.\(audioObjectType)", channels: channels, sampleRate: rate > 0 ? rate : nil)
  }

  /// Steps over the tag and the 7-bit length groups of a descriptor (ISO 14496-1 §8.3.3).
  private static func openDescriptor(_ tag: UInt8, in reader: inout ByteReader) throws(MediaFormatError) {
    guard try reader.u8() == tag else { throw MediaFormatError(box: "esds", reason: "lacks descriptor \(tag)") }
    for _ in 0..<4 where try reader.u8() & 0x80 == 0 { return }
  }

  private static func dolbyChannels(mode: Int, bass: Int) -> Int {
    [2, 1, 2, 3, 3, 4, 4, 5][mode & 7] + bass
  }

  private static func decimal(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }

  private static func hexadecimal(_ value: UInt32, digits: Int = 1) -> String {
    let text = String(value, radix: 16)
    return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
  }
}

/// Reads bits, most significant first.
private struct BitReader {
  private var bytes: ByteReader
  private var byte: UInt8 = 0
  private var left = 0

  init(_ bytes: ByteReader) {
    self.bytes = bytes
  }

  mutating func read(_ count: Int) throws(MediaFormatError) -> Int {
    var value = 0
    for _ in 0..<count {
      if left == 0 {
        byte = try bytes.u8()
        left = 8
      }
      left -= 1
      value = value << 1 | Int(byte >> UInt8(left) & 1)
    }
    return value
  }
}
