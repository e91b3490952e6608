/// Reads just enough of ISO/IEC 14496-12 to look at what the muxer wrote, independently of the product's own reader.
struct FragmentBoxes {
  struct Sample: Equatable {
    var duration: UInt32
    var size: UInt32
    var flags: UInt32
    var offset: Int32
    var isSync: Bool { flags & 0x10000 == 0 }
  }
  struct Fragment: Equatable {
    var track: UInt32
    var decodeTime: UInt64
    var samples: [Sample]
    var isBaseMoof: Bool
    var end: UInt64 { decodeTime + samples.reduce(0) { $0 + UInt64($1.duration) } }
  }

  private(set) var topLevel: [String] = []
  private(set) var fragments: [Fragment] = []
  /// The bytes of each fragment's samples, found by its offset from the start of the moof.
  private(set) var media: [[UInt8]] = []
  private let bytes: [UInt8]

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    for box in boxes(in: 0..<bytes.count) {
      topLevel.append(box.type)
      guard box.type == "moof" else { continue }
      for traf in boxes(in: box.body) where traf.type == "traf" { fragments.append(fragment(traf.body)) }
    }
  }

  func fragments(ofTrack track: UInt32) -> [Fragment] { fragments.filter { $0.track == track } }

  /// True when a box of this type stands anywhere below moov's containers.
  func contains(_ type: String) -> Bool {
    func search(_ range: Range<Int>) -> Bool {
      boxes(in: range).contains { box in
        box.type == type
          || (["moov", "trak", "mdia", "minf", "stbl", "edts", "mvex"].contains(box.type) && search(box.body))
      }
    }
    return search(0..<bytes.count)
  }

  /// Type of the sample entries, in the order of the tracks.
  var sampleEntries: [String] {
    var found: [String] = []
    func search(_ range: Range<Int>) {
      for box in boxes(in: range) {
        if box.type == "stsd" {
          found.append(boxes(in: box.body.dropFirst(8)).first?.type ?? "")
        } else if ["moov", "trak", "mdia", "minf", "stbl"].contains(box.type) {
          search(box.body)
        }
      }
    }
    search(0..<bytes.count)
    return found
  }

  private func boxes(in range: Range<Int>) -> [(type: String, body: Range<Int>)] {
    var found: [(String, Range<Int>)] = []
    var offset = range.lowerBound
    while offset + 8 <= range.upperBound {
      let size = Int(u32(offset))
      guard size >= 8, offset + size <= range.upperBound else { return found + [("broken", offset..<offset)] }
      found.append((String(decoding: bytes[offset + 4..<offset + 8], as: UTF8.self), offset + 8..<offset + size))
      offset += size
    }
    return found
  }

  private mutating func fragment(_ range: Range<Int>) -> Fragment {
    var result = Fragment(track: 0, decodeTime: 0, samples: [], isBaseMoof: false)
    var standard = Sample(duration: 0, size: 0, flags: 0, offset: 0)
    for box in boxes(in: range) {
      var at = box.body.lowerBound
      let flags = u32(at) & 0xFF_FFFF
      func next() -> UInt32 {
        defer { at += 4 }
        return u32(at)
      }
      _ = next()
      switch box.type {
      case "tfhd":
        result.track = next()
        result.isBaseMoof = flags & 0x20000 != 0
        if flags & 0x1 != 0 { at += 8 }
        if flags & 0x2 != 0 { at += 4 }
        if flags & 0x8 != 0 { standard.duration = next() }
        if flags & 0x10 != 0 { standard.size = next() }
        if flags & 0x20 != 0 { standard.flags = next() }
      case "tfdt":
        result.decodeTime = UInt64(next()) << 32 | UInt64(next())
      case "trun":
        let count = next()
        let start = flags & 0x1 != 0 ? Int(next()) : 0
        let first = flags & 0x4 != 0 ? next() : nil
        for index in 0..<count {
          var sample = standard
          if index == 0, let first { sample.flags = first }
          if flags & 0x100 != 0 { sample.duration = next() }
          if flags & 0x200 != 0 { sample.size = next() }
          if flags & 0x400 != 0 { sample.flags = next() }
          if flags & 0x800 != 0 { sample.offset = Int32(bitPattern: next()) }
          result.samples.append(sample)
        }
        let size = result.samples.reduce(0) { $0 + Int($1.size) }
        media.append(start + size <= bytes.count ? Array(bytes[start..<start + size]) : [])
      default: break
      }
    }
    return result
  }

  private func u32(_ offset: Int) -> UInt32 {
    bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
  }
}
