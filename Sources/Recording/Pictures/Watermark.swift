/// Marks laid over the picture: an image in a corner, a line of text. Pure: what comes out is libavfilter's language.
package struct Watermark: Equatable, Sendable {
  package enum Corner: String, Sendable, CaseIterable {
    case topLeft = "top-left"
    case topRight = "top-right"
    case bottomLeft = "bottom-left"
    case bottomRight = "bottom-right"

    func place(width: String, height: String, inner: (width: String, height: String), margin: Int) -> (
      x: String, y: String
    ) {
      let isLeft = self == .topLeft || self == .bottomLeft
      let isTop = self == .topLeft || self == .topRight
      return (
        isLeft ? "\(margin)" : "\(width)-\(inner.width)-\(margin)",
        isTop ? "\(margin)" : "\(height)-\(inner.height)-\(margin)"
      )
    }
  }

  /// An image file that libav decodes; transparency counts.
  package var imagePath: String?
  package var corner: Corner = .topRight
  /// Pixels to the edges.
  package var margin = 16
  /// One line. `{time}` is the wall clock in UTC, `{recording}` the recording's name.
  package var text: String?

  package init() {}

  var isEmpty: Bool { imagePath == nil && text == nil }
  /// The picture changes although the source does not.
  var isMoving: Bool {
    var rest = (text ?? "")[...]
    while !rest.isEmpty {
      if rest.hasPrefix("{time}") { return true }
      rest = rest.dropFirst()
    }
    return false
  }

  /// Goes on with a chain of filters.
  ///
  /// - Parameters:
  ///   - height: of the picture, in pixels.
  ///   - format: libav's name of the pixel format that the chain makes and is to make.
  func extend(_ chain: String, height: Int, recording: String, format: String) -> String {
    var chain = chain
    if let text {
      let place = Corner.bottomLeft.place(width: "w", height: "h", inner: ("tw", "th"), margin: margin)
      chain +=
        ",drawtext=expansion=normal:fontsize=\(max(12, height / 30)):fontcolor=white:borderw=2:bordercolor=black@0.6"
      chain += ":x=\(place.x):y=\(place.y):text=\(Self.quoted(Self.expanded(text, recording: recording)))"
    }
    if let imagePath {
      let place = corner.place(width: "W", height: "H", inner: ("w", "h"), margin: margin)
      chain =
        "[in]\(chain)[picture];movie=filename=\(Self.quoted(imagePath))[mark];"
        + "[picture][mark]overlay=x=\(place.x):y=\(place.y):eof_action=repeat:format=yuv420,format=\(format)[out]"
    }
    return chain
  }

  /// drawtext's own language: `%{…}` expands, a backslash keeps a character as it is.
  private static func expanded(_ text: String, recording: String) -> String {
    var out = ""
    var rest = text[...]
    while let first = rest.first {
      if rest.hasPrefix("{time}") {
        out += "%{gmtime:%Y-%m-%d %H\\:%M\\:%S}"
        rest = rest.dropFirst("{time}".count)
      } else if rest.hasPrefix("{recording}") {
        out += recording
        rest = rest.dropFirst("{recording}".count)
      } else {
        out += first == "%" || first == "\\" ? "\\\(first)" : String(first)
        rest = rest.dropFirst()
      }
    }
    return out
  }

  /// A value for libavfilter: quoted for its option parser, then for its graph parser (ffmpeg-filters, "Notes on
  /// filtergraph escaping").
  static func quoted(_ value: String) -> String {
    var option = ""
    for character in value {
      if "\\':".contains(character) { option.append("\\") }
      option.append(character)
    }
    var graph = ""
    for character in option {
      if "\\'[],;".contains(character) { graph.append("\\") }
      graph.append(character)
    }
    return graph
  }
}
