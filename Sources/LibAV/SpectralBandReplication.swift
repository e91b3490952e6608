extension CodecParameters {
  /// HE-AAC under a configuration that says so; all others as they are.
  ///
  /// Streams, those with ADTS above all, may leave SBR for the decoder to find (ISO/IEC 14496-3 §1.6.5.3), or tell of it
  /// after what looks like plain AAC. Players that are asked whether they can play it were told so, and of half the rate.
  /// Parametric stereo stays for the decoder to find: of mono with SBR nobody can tell before.
  func announcingSBR() throws(AVError) -> CodecParameters {
    let config = extradata
    guard codec == .aac, config.count >= 2, config[0] >> 3 == 2 else { return self }
    // AudioSpecificConfig (§1.6.2.1): the object type, the index of the rate, the channels, three flags of the core.
    let index = UInt32(config[0] & 7) << 1 | UInt32(config[1] >> 7)
    let channels = UInt32(config[1] >> 3 & 15)
    let rates = [48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000]
    // Three further down the list of rates lies twice as much. Layouts with a description of their own are left alone.
    guard (3..<12).contains(index), channels > 0, sampleRate == 2 * rates[Int(index) - 3] else { return self }
    let word = 5 << 27 | index << 23 | channels << 19 | (index - 3) << 15 | 2 << 10 | UInt32(config[1] & 7) << 7
    return try replacing(extradata: (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * $0)) })
  }
}
