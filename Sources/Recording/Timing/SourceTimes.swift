package import LibAV

/// The times of one packet as its source gives them, in the track's time base.
package struct SourceTimes: Equatable, Sendable {
  package var pts: Int64?
  package var dts: Int64?
  /// 0 when unknown.
  package var duration: Int64
  /// Time at the front that is decoded but not heard: encoder priming (ISO 14496-12 §8.6.6, Matroska CodecDelay).
  package var skipped: Int64
  /// Decoding can start here.
  package var isKey: Bool
  /// To be decoded but neither seen nor heard: it lies before the start of an edit (ISO 14496-12 §8.6.6).
  package var isHidden: Bool
  /// Monotonic time since the recorder started; nil for sources that wait (files, pipes), whose arrival says nothing.
  package var arrival: Duration?

  package init(
    pts: Int64?, dts: Int64?, duration: Int64 = 0, skipped: Int64 = 0, isKey: Bool = true, isHidden: Bool = false,
    arrival: Duration? = nil
  ) {
    self.pts = pts
    self.dts = dts
    self.duration = duration
    self.skipped = skipped
    self.isKey = isKey
    self.isHidden = isHidden
    self.arrival = arrival
  }
}

/// Where one packet stands, in its track's time base; 0 is the run's origin, which all tracks share.
package struct PlacedTimes: Equatable, Sendable {
  /// Counts from 0; a jump of the source's clock begins the next.
  package var run: Int
  package let pts: Int64
  /// Strictly greater than that of the track's packet before in the same run.
  package let dts: Int64
  /// As the source says, or the track's usual duration; the next packet tells better.
  package let duration: Int64

  package init(run: Int, pts: Int64, dts: Int64, duration: Int64) {
    self.run = run
    self.pts = pts
    self.dts = dts
    self.duration = duration
  }

  /// The same packet on a timeline whose origin lies earlier by `shift`.
  func moved(by shift: Int64) -> PlacedTimes {
    PlacedTimes(run: run, pts: pts + shift, dts: dts + shift, duration: duration)
  }
}

/// What became of one packet.
package enum Placement: Equatable, Sendable {
  case placed(PlacedTimes)
  /// It cannot be decoded (before the first key frame, or a leading picture of it) or lies before the run's origin.
  case dropped
}

/// What the timeline must know of a track.
package struct TimelineTrack: Equatable, Sendable {
  package var timeBase: RationalTime
  /// Used where packets carry no duration, in `timeBase`; at least 1.
  package var usualDuration: Int64
  /// Frames by which decoding runs ahead of presentation, as far as the header tells.
  package var reorderDepth: Int64
  /// Decoding starts at key frames only: packets before the first one of a run are dropped, and so are its leading
  /// pictures, which refer to pictures before it.
  package var startsAtKey: Bool
  /// Copied packets cannot be cut, so those before the run's origin are dropped; decoded ones are trimmed later, and
  /// their decoder wants what comes before.
  package var isCopied: Bool
  /// Presentation of the run begins with this track: set for a copied video track.
  package var setsOrigin: Bool

  package init(
    timeBase: RationalTime, usualDuration: Int64, reorderDepth: Int = 0, startsAtKey: Bool = false,
    isCopied: Bool = false, setsOrigin: Bool = false
  ) {
    self.timeBase = timeBase
    self.usualDuration = max(1, usualDuration)
    self.reorderDepth = Int64(reorderDepth)
    self.startsAtKey = startsAtKey
    self.isCopied = isCopied
    self.setsOrigin = setsOrigin
  }
}
