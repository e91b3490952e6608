import HLS
import HTTP
import Platform
import Storage

/// What a player gets that cannot cope with a new run, whose times start at 0 again (EXT-X-DISCONTINUITY): a list whose
/// segments count on from the end of the run before (`?after=`), and, for one that starts a new demuxer at a seam
/// without giving it the init section, have that in front (`&init`). Both are other addresses, so that a cache never
/// hands one player what was made for another.
struct SeamHelp {
  private let ending: String

  /// Nil for players that need no help, or are not known to. docs/serving.md says what each does.
  init?(_ request: HeaderFields) {
    guard let agent = request["User-Agent"] else { return nil }
    if agent.hasPrefix("VLC/3") {
      ending = "&init"
    } else if agent.hasPrefix("GStreamer") || agent.hasPrefix("libmpv") {
      ending = ""
    } else {
      return nil
    }
  }

  /// The media playlist with addresses for this player.
  /// - Parameter offsets: ticks of the recording before each run.
  func applied(to playlist: [UInt8], _ offsets: [RunName: Int64]) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity(playlist.count * 5 / 4)
    var last: (run: ArraySlice<UInt8>, query: [UInt8]) = ([], [])
    for line in playlist.split(separator: UInt8(ascii: "\n")) {
      text += line
      if line.first != UInt8(ascii: "#"), let slash = line.firstIndex(of: UInt8(ascii: "/")) {
        let run = line[..<slash]
        if run != last.run {
          let offset = RunName(String(decoding: run, as: UTF8.self)).flatMap { offsets[$0] } ?? 0
          last = (run, offset == 0 && ending.isEmpty ? [] : Array("?after=\(offset)\(ending)".utf8))
        }
        text += last.query
      }
      text.append(UInt8(ascii: "\n"))
    }
    return text
  }
}

extension OriginHandler {
  /// A segment whose times count on from `after` 90 kHz ticks.
  /// - Parameter startsAnew: with the init section in front.
  func seamless(_ entry: EntryPath, after: String, startsAnew: Bool) throws(StorageError) -> Response {
    // A year and a half.
    guard let ticks = Int64(after), (0...1 << 42).contains(ticks) else {
      return .text(400, "after= is no number of ticks")
    }
    let file = try tree.openForReading(entry)
    let status = try status(of: file, entry)
    guard let initSection = try tree.initSection(of: entry.key),
      let front = startsAnew ? try initSectionBytes(of: entry.key) : []
    else { return .text(404, "its init section is not here") }
    var move = DecodeTimeMove(initSection, by: ticks)
    while let part = move.wanted, part.lowerBound < status.size {
      let bytes = try read(part.clamped(to: 0..<status.size), of: file)
      do throws(MediaFormatError) {
        try move.feed(bytes)
      } catch {
        return .text(404, "not a segment: \(error)")
      }
    }
    let patches = move.changes.map { PatchedFile.Patch(offset: $0.offset, bytes: $0.bytes) }
    let headers = HeaderFields([
      .init("Content-Type", contentType(entry)), .init("Cache-Control", cacheScope + "max-age=31536000, immutable"),
    ])
    return Response(
      200, headers: headers,
      body: .patched(
        PatchedFile(file, size: status.size, front: front, patches: patches)))
  }

  private func initSectionBytes(of run: RunKey) throws(StorageError) -> [UInt8]? {
    try tree.part(of: EntryPath(key: run, entry: .initSection), at: 0, count: InitSection.maximumSize)?.bytes
  }

  private func read(_ part: Range<Int64>, of file: borrowing FileDescriptor) throws(StorageError) -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: part.count)
    do throws(SystemError) {
      buffer.removeLast(buffer.count - (try file.read(into: &buffer, at: part.lowerBound)))
      return buffer
    } catch {
      throw .system(error)
    }
  }

  /// What a playlist names where nothing came, for players that do not know EXT-X-GAP: no bytes, or for one that needs
  /// it the init section. Players that get an error stop there.
  func gap(_ run: RunKey, _ request: IncomingRequest) -> Response {
    do throws(StorageError) {
      let bytes = request.target.query("init") == nil ? nil : try initSectionBytes(of: run)
      return Response(
        200, headers: HeaderFields([.init("Content-Type", "video/mp4"), .init("Cache-Control", "no-cache")]),
        body: .bytes(bytes ?? []))
    } catch {
      return failure("cannot read the init section of \(run)", error)
    }
  }
}
