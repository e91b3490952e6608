import LibAV

extension MediaInput {
  func best(_ kind: MediaKind) -> StreamInfo? { kind == .video ? bestVideo : bestAudio }

  /// Formats whose clock may change from one packet to the next without notice.
  var joinsClocks: Bool {
    ["mpegts", "mpeg", "mpegtsraw", "flv", "live_flv", "hls"].contains {
      formatName.split(separator: ",").contains($0[...])
    }
  }
}

extension StreamInfo {
  /// A frame rate that can be worked with, whatever the container claims.
  var usualFrameRate: RationalTime {
    for rate in [frameRate, averageFrameRate, baseFrameRate] where rate.isKnown && (1...240).contains(rate.value) {
      return rate
    }
    return RationalTime(25, 1)
  }

  /// The rate at which frames follow one another where they do: of a variable rate, the higher.
  var peakFrameRate: RationalTime {
    let usual = usualFrameRate
    guard baseFrameRate.isKnown, (1...120).contains(baseFrameRate.value), baseFrameRate.value > usual.value else {
      return usual
    }
    return baseFrameRate
  }
}
