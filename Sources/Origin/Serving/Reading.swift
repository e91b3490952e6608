import HLS
import HTTP
import Platform
import Storage

/// Bytes a playlist may have: a week of 5 s segments is 12 MB.
private let longestPlaylist = 64 << 20

extension OriginHandler {
  /// A segment, an init section or a marker. What stands under such a name never changes.
  func file(_ entry: EntryPath, _ request: IncomingRequest) -> Response {
    do throws(StorageError) {
      let file = try openFile(entry)
      let status = try status(of: file, entry)
      let tag = EntityTag("\(String(status.size, radix: 16))-\(String(status.modifiedNanoseconds, radix: 16))")
      var headers = HeaderFields([
        .init("Content-Type", contentType(entry)), .init("ETag", "\(tag)"), .init("Accept-Ranges", "bytes"),
        .init("Cache-Control", cacheScope + "max-age=31536000, immutable"),
      ])
      if tag.isListed(in: request.headers.list("If-None-Match")) { return Response(304, headers: headers) }
      let range = ByteRange(
        request.headers["Range"], ifRange: request.headers["If-Range"], tag: tag, size: status.size)
      let opened = OpenFile(takingOver: file.release())
      switch range {
      case .whole: return Response(200, headers: headers, body: .file(opened, offset: 0, length: status.size))
      case .part(let offset, let length):
        headers.append("Content-Range", "bytes \(offset)-\(offset + length - 1)/\(status.size)")
        return Response(206, headers: headers, body: .file(opened, offset: offset, length: length))
      case .unsatisfiable:
        return Response.text(416, "no such bytes").adding("Content-Range", "bytes */\(status.size)")
      }
    } catch {
      return error.isMissing ? .text(404, "not here") : failure("cannot open \(entry)", error)
    }
  }

  /// Pieces that have been made into segments lie in another area; a link to them stays good.
  private func openFile(_ entry: EntryPath) throws(StorageError) -> FileDescriptor {
    do throws(StorageError) {
      return try tree.openForReading(entry)
    } catch {
      guard case .piece = entry.entry, error.isMissing else { throw error }
      return try tree.openForReading(entry, area: .pieces)
    }
  }

  private func status(of file: borrowing FileDescriptor, _ entry: EntryPath) throws(StorageError) -> FileStatus {
    do throws(SystemError) {
      return try file.status()
    } catch {
      throw .system(error)
    }
  }

  /// A playlist, whole. It changes all the time, so caches must ask; the tag is made from its content, so that an answer
  /// costs no body while nothing is new, on every server that has the same playlist.
  func playlist(_ path: PlaylistPath, _ request: IncomingRequest) -> Response {
    do throws(StorageError) {
      let place = (path.directories + [path.fileName]).joined(separator: "/")
      guard let bytes = try tree.read(place, limit: longestPlaylist) else {
        return Response.text(404, "no such playlist (yet)").adding("Cache-Control", "no-cache")
      }
      return derived(bytes, contentType: "application/vnd.apple.mpegurl", request)
    } catch {
      return failure("cannot read a playlist of \(path.recording)", error)
    }
  }

  /// An answer of bytes made here, with a tag of its content.
  func derived(_ bytes: [UInt8], contentType: String, _ request: IncomingRequest) -> Response {
    var headers = HeaderFields([
      .init("Content-Type", contentType), .init("Cache-Control", cacheScope + "no-cache"),
    ])
    if let digest = try? SHA256Digest.of(bytes) {
      let tag = EntityTag(hexadecimal(digest.prefix(12)))
      headers.append("ETag", "\(tag)")
      if tag.isListed(in: request.headers.list("If-None-Match")) { return Response(304, headers: headers) }
    }
    return Response(200, headers: headers, body: .bytes(bytes))
  }

  /// A shared cache must not hand on what needed a token.
  private var cacheScope: String { configuration.readTokens.isEmpty ? "public, " : "private, " }

  private func contentType(_ entry: EntryPath) -> String {
    if case .marker = entry.entry { return "application/octet-stream" }
    return entry.key.rendition == .mic ? "audio/mp4" : "video/mp4"
  }
}
