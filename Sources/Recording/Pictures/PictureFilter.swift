import LibAV

/// The filters that turn a source's pictures into what is encoded: upright, progressive, square pixels, even sides, 8-bit
/// 4:2:0 in video range. Pure.
struct PictureFilter: Equatable, Sendable {
  var width: Int
  var height: Int
  var sampleAspect: RationalTime
  var rotation: Rotation
  var isInterlaced: Bool
  var format: PixelFormat
  var color: ColorProperties
  /// What the encoder takes.
  var outputFormat: PixelFormat

  /// Size to encode. Sides are even and at least 2.
  ///
  /// - Parameter wanted: what was asked for; a missing side keeps the aspect.
  func outputSize(_ wanted: RecordingConfiguration.Size?) -> (width: Int, height: Int) {
    var shown = (Double(width), Double(height))
    let aspect = sampleAspect.isKnown ? sampleAspect.value : 1
    // Pixels become square by stretching, so that no detail is lost.
    if aspect > 1 { shown.0 *= aspect } else if aspect < 1, aspect > 0 { shown.1 /= aspect }
    if rotation.swapsSides { shown = (shown.1, shown.0) }
    switch (wanted?.width, wanted?.height) {
    case (let width?, let height?): return (even(Double(width)), even(Double(height)))
    case (let width?, nil): return (even(Double(width)), even(Double(width) * shown.1 / shown.0))
    case (nil, let height?): return (even(Double(height) * shown.0 / shown.1), even(Double(height)))
    case (nil, nil): return (even(shown.0), even(shown.1))
    }
  }

  /// `size`, made smaller where its shorter side is longer than `side`; the shape stays.
  static func limited(_ size: (width: Int, height: Int), side: Int) -> (width: Int, height: Int) {
    let shorter = min(size.width, size.height)
    guard shorter > side else { return size }
    let factor = Double(side) / Double(shorter)
    return (even(Double(size.width) * factor), even(Double(size.height) * factor))
  }

  private static func even(_ side: Double) -> Int { max(2, Int((side / 2).rounded()) * 2) }
  private func even(_ side: Double) -> Int { Self.even(side) }

  /// libavfilter's description.
  ///
  /// - Parameters:
  ///   - size: what comes out, exactly; where the aspect differs (the source changed), black bars fill up.
  ///   - keepsAspect: whether bars are wanted; else the picture is stretched to a size that was asked for.
  func description(size: (width: Int, height: Int), keepsAspect: Bool) -> String {
    var filters: [String] = []
    if isInterlaced { filters.append("yadif=mode=send_frame:deint=interlaced") }
    if let turn = rotation.filter { filters.append(turn) }
    let turned = rotation.swapsSides ? (height, width) : (width, height)
    let isSquare = !sampleAspect.isKnown || sampleAspect.numerator == sampleAspect.denominator
    let hasSize = turned == size && isSquare
    var scale: [String] = []
    if !hasSize {
      if keepsAspect {
        let (inner, _) = fitted(in: size)
        scale = ["w=\(inner.width)", "h=\(inner.height)"]
      } else {
        scale = ["w=\(size.width)", "h=\(size.height)"]
      }
    }
    if !hasSize || format != outputFormat || color.isFullRange {
      if isRGB {
        scale.append("out_color_matrix=bt709")
      }
      scale.append("out_range=tv")
      filters.append("scale=" + scale.joined(separator: ":"))
    }
    filters.append("format=\(outputFormat)")
    // libav's scaler leaves the tags as they were.
    if isRGB { filters.append("setparams=range=tv:\(convertedTags)") }
    if !hasSize && keepsAspect {
      let (inner, hasBars) = fitted(in: size)
      if hasBars {
        filters.append(
          "pad=w=\(size.width):h=\(size.height):x=\((size.width - inner.width) / 4 * 2)"
            + ":y=\((size.height - inner.height) / 4 * 2)")
      }
    }
    if !isSquare || !hasSize { filters.append("setsar=1") }
    return filters.joined(separator: ",")
  }

  /// The largest size of the picture's own aspect within `size`.
  private func fitted(in size: (width: Int, height: Int)) -> (inner: (width: Int, height: Int), hasBars: Bool) {
    let natural = outputSize(nil)
    let factor = min(Double(size.width) / Double(natural.width), Double(size.height) / Double(natural.height))
    let inner = (
      min(size.width, even(Double(natural.width) * factor)), min(size.height, even(Double(natural.height) * factor))
    )
    // A pixel or two of rounding is no aspect of its own.
    if size.width - inner.0 <= 2 && size.height - inner.1 <= 2 { return (size, false) }
    return (inner, true)
  }

  /// What pictures in red, green and blue are converted to, as far as the source does not tell the rest.
  private var convertedTags: String {
    var tags = ["colorspace=bt709"]
    if color.primaries == ColorProperties.unspecified.primaries { tags.append("color_primaries=bt709") }
    if color.transfer == ColorProperties.unspecified.transfer { tags.append("color_trc=bt709") }
    return tags.joined(separator: ":")
  }

  private var isRGB: Bool {
    let name = format.description
    return ["rgb", "bgr", "gbr", "argb", "abgr", "0rgb", "0bgr", "x2rgb", "x2bgr", "pal8"].contains {
      name.hasPrefix($0)
    }
  }
}
