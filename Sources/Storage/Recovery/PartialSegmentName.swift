import HLS

/// The temporary name of a segment that a recorder is writing: `.00000042_20261130T021308.123Z.part`. It keeps what
/// recovery needs to finish the segment.
struct PartialSegmentName: Hashable, CustomStringConvertible {
  let sequence: Int
  /// Wall-clock time of the first sample.
  let start: WallClockTime

  init(sequence: Int, start: WallClockTime) {
    self.sequence = sequence
    self.start = start
  }

  /// Nil for other names, other temporary ones included.
  init?(_ text: String) {
    // The same grammar as a segment's name between the dot and the duration.
    guard text.hasPrefix("."), text.hasSuffix(".part"),
      let name = SegmentName(text.dropFirst().dropLast(".part".count) + "_1.m4s")
    else { return nil }
    self.init(sequence: name.sequence, start: name.start)
  }

  var description: String {
    // All that stands before a segment's duration.
    let name = SegmentName(sequence: sequence, start: start, ticks: 1).description
    return ".\(name.dropLast("_1.m4s".count)).part"
  }
}

/// True for any temporary name of this module.
func isTemporaryName(_ name: String) -> Bool { name.hasPrefix(".") && name.hasSuffix(".part") }

/// A temporary name that no other writer uses: 64 random bits.
func randomTemporaryName() -> String {
  ".\(String(UInt64.random(in: 0 ... .max), radix: 16)).part"
}
