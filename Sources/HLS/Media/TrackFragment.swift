/// One `traf`: the samples a fragment adds to one track (ISO 14496-12 §8.8.6 to §8.8.8, §8.8.12).
struct TrackFragment: Equatable {
  /// Decode time of the first sample in the track's timescale; nil when the fragment does not say (no `tfdt`).
  var decodeTime: UInt64?
  var samples: UInt64 = 0
  var duration: UInt64 = 0
  var bytes: UInt64 = 0
  var frames = FrameDurations()
  var startsWithSync = false

  /// Decode times above this are damage: 2^62 units are 1,600 years even at 90 MHz.
  static let largestTime: UInt64 = 1 << 62

  /// - Returns: the track's index in `tracks`, and its fragment.
  static func parse(_ traf: Box, of tracks: [MediaTrack]) throws(MediaFormatError) -> (Int, TrackFragment) {
    let boxes = try traf.children
    var reader = try boxes.required("tfhd", of: "traf").reader
    let (_, flags) = try reader.fullBoxHeader()
    let id = try reader.u32()
    guard let index = tracks.firstIndex(where: { $0.id == id }) else {
      throw MediaFormatError(box: "tfhd", reason: "names track \(id), which the init section does not have")
    }
    var defaults = tracks[index].defaults
    if flags & 0x01 != 0 { try reader.skip(8) }  // base_data_offset
    if flags & 0x02 != 0 { try reader.skip(4) }  // sample_description_index
    if flags & 0x08 != 0 { defaults.duration = try reader.u32() }
    if flags & 0x10 != 0 { defaults.size = try reader.u32() }
    if flags & 0x20 != 0 { defaults.flags = try reader.u32() }

    var fragment = TrackFragment()
    if let tfdt = boxes.first("tfdt") {
      var reader = tfdt.reader
      let (version, _) = try reader.fullBoxHeader()
      let time = version == 1 ? try reader.u64() : UInt64(try reader.u32())
      guard time <= largestTime else { throw MediaFormatError(box: "tfdt", reason: "holds an impossible time") }
      fragment.decodeTime = time
    }
    for trun in boxes.all("trun") { try fragment.add(trun, defaults, tracks[index].timescale) }
    return (index, fragment)
  }

  private mutating func add(_ trun: Box, _ defaults: SampleDefaults, _ timescale: UInt32) throws(MediaFormatError) {
    var reader = trun.reader
    let (_, flags) = try reader.fullBoxHeader()
    let count = try reader.u32()
    if flags & 0x01 != 0 { try reader.skip(4) }  // data_offset
    let firstFlags = flags & 0x04 != 0 ? try reader.u32() : nil
    guard count > 0 else { return }

    let hasDuration = flags & 0x100 != 0
    let hasSize = flags & 0x200 != 0
    let hasFlags = flags & 0x400 != 0
    let hasOffset = flags & 0x800 != 0
    var sampleFlags = firstFlags ?? defaults.flags
    var addedDuration: UInt64 = 0
    var addedBytes: UInt64 = 0
    if hasDuration || hasSize || hasFlags || hasOffset {
      // Every turn consumes bytes, so a count that lies runs into the end of the box.
      var alike: (duration: UInt32, count: UInt64) = (0, 0)
      for sample in 0..<count {
        let duration = hasDuration ? try reader.u32() : defaults.duration
        let size = hasSize ? try reader.u32() : defaults.size
        let flags = hasFlags ? try reader.u32() : defaults.flags
        if hasOffset { try reader.skip(4) }
        addedDuration += UInt64(duration)
        addedBytes += UInt64(size)
        if duration == alike.duration {
          alike.count += 1
        } else {
          frames.add(alike.duration, timescale: timescale, count: alike.count)
          alike = (duration, 1)
        }
        if sample == 0, firstFlags == nil { sampleFlags = flags }
      }
      frames.add(alike.duration, timescale: timescale, count: alike.count)
    } else {
      // No bytes per sample: the count alone could say four thousand million.
      addedDuration = UInt64(count) * UInt64(defaults.duration)
      addedBytes = UInt64(count) * UInt64(defaults.size)
      frames.add(defaults.duration, timescale: timescale, count: UInt64(count))
    }
    if samples == 0 { startsWithSync = sampleFlags & 0x1_0000 == 0 }
    let (durations, overflow) = duration.addingReportingOverflow(addedDuration)
    guard !overflow, durations <= TrackFragment.largestTime else {
      throw MediaFormatError(box: "trun", reason: "holds an impossible duration")
    }
    duration = durations
    let (sizes, sizesOverflow) = bytes.addingReportingOverflow(addedBytes)
    guard !sizesOverflow else { throw MediaFormatError(box: "trun", reason: "holds an impossible size") }
    bytes = sizes
    samples += UInt64(count)
  }
}
