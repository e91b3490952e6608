/// HE-AAC as no encoder at hand makes it: AAC-LC in ADTS to whose frames SBR has been added, as a fill element before the
/// element that ends them (ISO/IEC 14496-3 §4.4.2.7). Nothing but those elements tells of it.
///
/// - Parameter adts: stereo of at most 24 kHz, by libav's encoder: the end of a frame is its last bit that is set.
public func addingSBR(toADTS adts: [UInt8]) -> [UInt8] {
  var result: [UInt8] = []
  var rest = adts[...]
  while rest.count > 7 {
    let header = Array(rest.prefix(7))
    let length = Int(header[3] & 3) << 11 | Int(header[4]) << 3 | Int(header[5]) >> 5
    var bits = rest.prefix(length).dropFirst(7).flatMap { byte in (0..<8).map { byte >> (7 - $0) & 1 } }
    rest = rest.dropFirst(length)
    while bits.last == 0 { bits.removeLast() }
    bits.removeLast(3)
    // A fill element of 30 bytes (15 and 15 more, §4.4.2.7), type 13: SBR data. A header (bs_amp_res, start and stop at
    // 5), coupled channels, one envelope; all that follows is 0.
    let element = "110" + "1111" + "00010000" + "1101" + "1" + "1" + "0101" + "0101" + "0000000" + "01"
    bits += element.utf8.map { $0 - 48 }
    bits += Array(repeating: 0, count: 30 * 8 - (element.utf8.count - 15)) + [1, 1, 1]
    bits += Array(repeating: 0, count: (8 - bits.count % 8) % 8)
    let size = 7 + bits.count / 8
    result += header[..<3]
    result += [
      header[3] & 0xFC | UInt8(size >> 11), UInt8(size >> 3 & 0xFF), UInt8(size & 7) << 5 | header[5] & 31, header[6],
    ]
    result += stride(from: 0, to: bits.count, by: 8).map { start in bits[start..<start + 8].reduce(0) { $0 << 1 | $1 } }
  }
  return result
}
