import CLibAV

/// How a picture is turned and mirrored for display: one of the eight right-angled display matrices (ISO/IEC 14496-12
/// §6.2.2). Anything oblique counts as upright.
package struct Rotation: Hashable, Sendable {
  /// Degrees clockwise: 0, 90, 180 or 270.
  package let clockwise: Int
  /// Mirrored left to right before it is turned.
  package let isMirrored: Bool

  package static let none = Rotation(clockwise: 0, isMirrored: false)

  package init(clockwise: Int, isMirrored: Bool) {
    self.clockwise = clockwise
    self.isMirrored = isMirrored
  }

  package var swapsSides: Bool { clockwise % 180 != 0 }

  /// Filters that turn the pixels so that no matrix is needed any more; nil when upright.
  package var filter: String? {
    var filters: [String] = isMirrored ? ["hflip"] : []
    switch clockwise {
    case 90: filters.append("transpose=clock")
    case 180: filters.append("hflip,vflip")
    case 270: filters.append("transpose=cclock")
    default: break
    }
    return filters.isEmpty ? nil : filters.joined(separator: ",")
  }

  /// From side data of libav's; nil where it is no display matrix.
  init?(_ data: UnsafePointer<UInt8>?, size: Int) {
    guard let data = unsafe data, size >= 36 else { return nil }
    self = unsafe Rotation(matrix: Array(UnsafeBufferPointer(start: data, count: 36)))
  }

  /// From nine native-endian 32-bit numbers, as libav keeps a display matrix.
  init(matrix bytes: [UInt8]) {
    guard bytes.count >= 36 else {
      self = .none
      return
    }
    let m = (0..<9).map { index in
      unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: index * 4, as: Int32.self) }
    }
    // A mirrored matrix has a negative determinant; undone, what is left is a plain rotation: x' = a x + c y.
    let isMirrored = Int64(m[0]) * Int64(m[4]) - Int64(m[1]) * Int64(m[3]) < 0
    let a = isMirrored ? -Int64(m[0]) : Int64(m[0])
    let b = isMirrored ? -Int64(m[1]) : Int64(m[1])
    let degrees =
      if a.magnitude > b.magnitude {
        a >= 0 ? 0 : 180
      } else {
        b > 0 ? 90 : (b < 0 ? 270 : 0)
      }
    self.init(clockwise: degrees, isMirrored: isMirrored)
  }
}
