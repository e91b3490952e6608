/// A FLAC frame of silence (RFC 9639 §9): a constant of 0 in each channel. Pure.
///
/// - Parameter info: the STREAMINFO block (§8.2), whose sizes the frame keeps to.
/// - Returns: its bytes, and how many samples it lasts; nil where the block makes no sense.
func silentFLACFrame(_ info: [UInt8]) -> (bytes: [UInt8], samples: Int)? {
  guard info.count >= 34 else { return nil }
  let samples = Int(info[2]) << 8 | Int(info[3])
  let channels = info[12] >> 1 & 7
  let depth = Int(info[12] & 1) << 4 | Int(info[13] >> 4)
  guard samples >= 16 else { return nil }
  // Blocks of one size, or of several; a size in two bytes, all else as the stream has it; the frame's number.
  let isFixed = info[0] == info[2] && info[1] == info[3]
  var frame: [UInt8] = [
    0xFF, isFixed ? 0xF8 : 0xF9, 0x70, channels << 4, 0, UInt8((samples - 1) >> 8), UInt8((samples - 1) & 0xFF),
  ]
  frame.append(UInt8(remainder(of: frame, by: 0x07, bits: 8)))
  // For each channel a byte that says what it is, and one sample.
  frame += Array(repeating: 0, count: ((Int(channels) + 1) * (8 + depth + 1) + 7) / 8)
  let check = remainder(of: frame, by: 0x8005, bits: 16)
  return (frame + [UInt8(check >> 8), UInt8(check & 0xFF)], samples)
}

/// Cyclic redundancy check of up to 16 bits, highest first, from 0.
private func remainder(of bytes: [UInt8], by polynomial: Int, bits: Int) -> Int {
  var value = 0
  for byte in bytes {
    value ^= Int(byte) << (bits - 8)
    for _ in 0..<8 { value = value & 1 << (bits - 1) == 0 ? value << 1 : value << 1 ^ polynomial }
  }
  return value & (1 << bits - 1)
}
