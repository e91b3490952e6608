package import HLS
import HTTP

/// What a path stands for.
enum Route: Equatable {
  /// The page for people.
  case page
  case health
  case metrics
  /// The list behind the page.
  case recordings
  /// One recording's timeline behind the page.
  case recording(RecordingName)
  /// Where the page trades a token for a cookie.
  case session
  case playlist(PlaylistPath)
  /// `<recording>/<recording>.mp4`: all of it as one file.
  case export(RecordingName)
  /// `<recording>/thumbnail.jpg?at=<milliseconds since 1970>`: a picture of that minute.
  case thumbnail(RecordingName)
  /// What a playlist names where nothing came: players that know EXT-X-GAP do not ask.
  case gap(RunKey)
  case entry(EntryPath)

  init?(_ components: [String]) {
    switch components.count {
    case 0: self = .page
    case 1:
      switch components[0] {
      case "healthz": self = .health
      case "metrics": self = .metrics
      case "session": self = .session
      default: return nil
      }
    case 2 where components == ["api", "recordings"]: self = .recordings
    case 2, 3:
      if components.count == 3, components[0] == "api", components[1] == "recordings",
        let name = RecordingName(components[2]), PlaylistPath(components) == nil
      {
        self = .recording(name)
      } else if let playlist = PlaylistPath(components) {
        self = .playlist(playlist)
      } else if components.count == 2, let name = RecordingName(components[0]), components[1] == name.text + ".mp4" {
        self = .export(name)
      } else if components.count == 2, let name = RecordingName(components[0]), components[1] == "thumbnail.jpg" {
        self = .thumbnail(name)
      } else {
        return nil
      }
    case 4:
      if let entry = EntryPath(components.joined(separator: "/")) {
        self = .entry(entry)
      } else if let recording = RecordingName(components[0]), let rendition = RenditionName(components[1]),
        let run = RunName(components[2]), MediaPlaylist.isGapName(components[3])
      {
        self = .gap(RunKey(recording: recording, rendition: rendition, run: run))
      } else {
        return nil
      }
    default: return nil
    }
  }

  var methods: [String] {
    switch self {
    case .page, .health, .metrics, .recordings, .recording, .playlist, .export, .thumbnail, .gap:
      ["GET", "HEAD", "OPTIONS"]
    case .session: ["POST", "DELETE", "OPTIONS"]
    case .entry: ["GET", "HEAD", "PUT", "OPTIONS"]
    }
  }

  /// True for what players on other sites' pages may fetch. The list of recordings is not among it: a page somewhere on
  /// the web could read what a server on this machine holds.
  var isForOtherSites: Bool {
    switch self {
    case .playlist, .entry, .gap: true
    case .page, .health, .metrics, .recordings, .recording, .export, .thumbnail, .session: false
    }
  }
}

/// A playlist's place below the root: `<recording>[/<rendition>]/{live,vod}.m3u8`, or one that is made when somebody asks
/// for it: `<recording>/<rendition>/sofar.m3u8`, all there is at that moment.
package struct PlaylistPath: Hashable, Sendable {
  package enum Kind: String, Sendable {
    case live, vod, sofar
  }
  package let recording: RecordingName
  /// Nil for the multivariant playlist of the recording.
  package let rendition: RenditionName?
  package let kind: Kind

  package init(recording: RecordingName, rendition: RenditionName?, kind: Kind) {
    self.recording = recording
    self.rendition = rendition
    self.kind = kind
  }

  init?(_ components: [String]) {
    guard components.count == 2 || components.count == 3, let recording = RecordingName(components[0]) else {
      return nil
    }
    switch components.last {
    case "live.m3u8": kind = .live
    case "vod.m3u8": kind = .vod
    case "sofar.m3u8" where components.count == 3: kind = .sofar
    default: return nil
    }
    self.recording = recording
    if components.count == 3 {
      guard let rendition = RenditionName(components[1]), rendition.isUsableAsRendition else { return nil }
      self.rendition = rendition
    } else {
      rendition = nil
    }
  }

  /// The directories it lies in, outermost first.
  var directories: [String] { [recording.text] + (rendition.map { [$0.text] } ?? []) }
  var fileName: String { "\(kind.rawValue).m3u8" }
}
