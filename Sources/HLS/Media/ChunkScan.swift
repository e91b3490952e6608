/// Walks a segment, or the part of one that a crash left, from front to back: where its whole chunks (`moof` and the
/// `mdat` it describes, ISO 14496-12 §8.8.4) end, and what they hold of each track.
///
/// The file is fed in pieces of any size. Memory is one `moof` and a few numbers per track, whatever the file; the
/// payload of other boxes is only counted, and may be stepped over without being read (`skippable`). Bytes that are not
/// such a file stop the scan: `wholeLength` then still stands at the end of the last whole chunk.
package struct ChunkScan: Sendable {
  /// Largest `moof` read, in bytes: 260,000 samples, hours of a chunk. More is damage.
  package static let maximumFragmentHeader = 4 << 20

  /// Bytes from the start of the file to the end of the last whole chunk: where salvage may cut.
  package private(set) var wholeLength: UInt64 = 0
  /// The same without the last whole chunk, and how long the segment would be then, in 90 kHz ticks.
  package private(set) var withoutLast: (length: UInt64, ticks: Int64) = (0, 0)
  /// Whole chunks so far.
  package private(set) var wholeChunks = 0
  /// Bytes fed or skipped so far, up to the point where the scan stopped.
  package private(set) var position: UInt64 = 0
  /// Why the scan cannot go on; nil while it can.
  package private(set) var failure: MediaFormatError?
  /// What the whole chunks hold, one for each track of the init section that has samples.
  package var tracks: [TrackSpan] { spans.compactMap(\.self) }

  private let known: [MediaTrack]
  /// By index of `known`.
  private var spans: [TrackSpan?]
  /// The fragments of a `moof` whose `mdat` is not whole yet.
  private var pending: [(track: Int, fragment: TrackFragment)]?
  private var state = State.header
  private var buffer: [UInt8] = []

  private enum State {
    case header
    /// Collecting a `moof` of so many payload bytes.
    case fragmentHeader(size: Int)
    /// Passing over what is left of a payload.
    case payload(left: UInt64, isMediaData: Bool)
  }

  package init(_ initSection: InitSection) {
    known = initSection.tracks
    spans = Array(repeating: nil, count: initSection.tracks.count)
  }

  /// Bytes that come next and that nobody needs to read; a feeder that can seek may call `skip` instead of `feed`.
  package var skippable: UInt64 {
    if failure == nil, case .payload(let left, _) = state { left } else { 0 }
  }

  /// Steps over `count` bytes that exist in the file but were not read; at most `skippable`.
  package mutating func skip(_ count: UInt64) {
    guard failure == nil, case .payload(let left, let isMediaData) = state else { return }
    let passed = min(left, count)
    position += passed
    pass(left: left - passed, isMediaData: isMediaData)
  }

  /// Reads the next bytes of the file.
  package mutating func feed(_ bytes: RawSpan) {
    var offset = 0
    while offset < bytes.byteCount, failure == nil {
      let available = bytes.byteCount - offset
      switch state {
      case .payload(let left, let isMediaData):
        let passed = Int(min(left, UInt64(available)))
        offset += passed
        position += UInt64(passed)
        pass(left: left - UInt64(passed), isMediaData: isMediaData)
      case .header:
        // First what every header has, then the 64-bit size if there is one: never beyond the header's own end.
        let taken = min((buffer.count < 8 ? 8 : BoxHeader.maximumSize) - buffer.count, available)
        buffer.append(bytes, from: offset, count: taken)
        offset += taken
        position += UInt64(taken)
        if buffer.count >= 8 { readHeader() }
      case .fragmentHeader(let size):
        let taken = min(size - buffer.count, available)
        buffer.append(bytes, from: offset, count: taken)
        offset += taken
        position += UInt64(taken)
        if buffer.count == size { readFragmentHeader() }
      }
    }
  }

  package mutating func feed(_ bytes: [UInt8]) {
    unsafe feed(bytes.span.bytes)
  }

  private mutating func pass(left: UInt64, isMediaData: Bool) {
    guard left == 0 else {
      state = .payload(left: left, isMediaData: isMediaData)
      return
    }
    state = .header
    if isMediaData { finishChunk() }
  }

  private mutating func readHeader() {
    do throws(MediaFormatError) {
      guard let header = try BoxHeader.parse(buffer[...]) else { return }
      buffer.removeAll(keepingCapacity: true)
      // Zeros that a power cut left behind read as a box without a type that reaches to the end of the file. Without
      // its length nobody can tell whether a box is whole, and a writer of fragments always knows it.
      guard let size = header.payloadSize else {
        throw MediaFormatError(box: header.type.description, reason: "gives no size")
      }
      switch header.type {
      case .moof:
        guard size <= UInt64(ChunkScan.maximumFragmentHeader) else {
          throw MediaFormatError(box: "moof", reason: "has \(size) bytes, which is no fragment's")
        }
        guard pending == nil else { throw MediaFormatError(box: "moof", reason: "follows a moof without its mdat") }
        buffer.reserveCapacity(Int(min(size, 1 << 16)))
        state = .fragmentHeader(size: Int(size))
        if size == 0 { readFragmentHeader() }
      case .mdat:
        guard pending != nil else { throw MediaFormatError(box: "mdat", reason: "has no moof before it") }
        pass(left: size, isMediaData: true)
      default:
        pass(left: size, isMediaData: false)
      }
    } catch {
      failure = error
    }
  }

  private mutating func readFragmentHeader() {
    do throws(MediaFormatError) {
      let boxes = try Box.all(in: buffer[...], of: "moof")
      var fragments: [(track: Int, fragment: TrackFragment)] = []
      for traf in boxes.all("traf") {
        let (index, fragment) = try TrackFragment.parse(traf, of: known)
        fragments.append((index, fragment))
      }
      pending = fragments
      state = .header
    } catch {
      failure = error
    }
    buffer.removeAll(keepingCapacity: buffer.capacity <= 1 << 16)
  }

  private mutating func finishChunk() {
    guard let fragments = pending else { return }
    pending = nil
    withoutLast = (wholeLength, tracks.ticks)
    for (index, fragment) in fragments where fragment.samples > 0 {
      if var span = spans[index] {
        span.add(fragment)
        spans[index] = span
      } else {
        spans[index] = TrackSpan(known[index], fragment)
      }
    }
    wholeChunks += 1
    wholeLength = position
  }
}

/// What the whole chunks of one file hold of one track.
package struct TrackSpan: Equatable, Sendable {
  package let id: UInt32
  package let kind: MediaTrack.Kind
  package let timescale: UInt32
  /// Decode time of the first sample, in `timescale` units (`tfdt`, ISO 14496-12 §8.8.12).
  package let firstDecodeTime: UInt64
  /// Decode time at which the sample after the last one would start.
  package private(set) var endDecodeTime: UInt64
  package private(set) var samples: UInt64
  /// Sum of the samples' durations, in `timescale` units.
  package private(set) var duration: UInt64
  /// Sum of the samples' sizes in bytes.
  package private(set) var bytes: UInt64
  package private(set) var frames: FrameDurations
  /// Whether decoding may start at the first sample (`sample_is_non_sync_sample` is 0, ISO 14496-12 §8.8.3.1).
  package let startsWithSync: Bool

  fileprivate init(_ track: MediaTrack, _ fragment: TrackFragment) {
    id = track.id
    kind = track.kind
    timescale = track.timescale
    firstDecodeTime = fragment.decodeTime ?? 0
    endDecodeTime = (fragment.decodeTime ?? 0) &+ fragment.duration
    samples = fragment.samples
    duration = fragment.duration
    bytes = fragment.bytes
    frames = fragment.frames
    startsWithSync = fragment.startsWithSync
  }

  fileprivate mutating func add(_ fragment: TrackFragment) {
    // All sums saturate: numbers of that size are damage, and only must not trap.
    endDecodeTime = (fragment.decodeTime ?? endDecodeTime).saturatingAdd(fragment.duration)
    samples = samples.saturatingAdd(fragment.samples)
    duration = duration.saturatingAdd(fragment.duration)
    bytes = bytes.saturatingAdd(fragment.bytes)
    frames.add(fragment.frames)
  }

  /// From the first sample's decode time to the end of the last sample, in 90 kHz ticks; 0 when time runs backwards.
  package var ticks: Int64 {
    guard endDecodeTime > firstDecodeTime else { return 0 }
    return mediaTicks(endDecodeTime - firstDecodeTime, timescale: timescale)
  }
}

extension [TrackSpan] {
  /// Duration of the segment in 90 kHz ticks: that of the first video track, or else of the longest other one.
  package var ticks: Int64 {
    first { $0.kind == .video }?.ticks ?? map(\.ticks).max() ?? 0
  }
}

/// `units` of a track's `timescale` in 90 kHz ticks, rounded to the nearest; saturates at `Int64.max`.
package func mediaTicks(_ units: UInt64, timescale: UInt32) -> Int64 {
  let scale = UInt64(max(1, timescale))
  let (high, low) = units.multipliedFullWidth(by: 90_000)
  let (sum, carry) = low.addingReportingOverflow(scale / 2)
  let top = carry ? high &+ 1 : high
  guard top < scale else { return .max }
  return Int64(clamping: scale.dividingFullWidth((top, sum)).quotient)
}

extension [UInt8] {
  fileprivate mutating func append(_ bytes: RawSpan, from offset: Int, count: Int) {
    // The buffer lives for the length of the call and is only copied from; `extracting` checks the bounds.
    unsafe bytes.extracting(offset..<(offset + count)).withUnsafeBytes { unsafe append(contentsOf: $0) }
  }
}

extension UInt64 {
  fileprivate func saturatingAdd(_ other: UInt64) -> UInt64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}
