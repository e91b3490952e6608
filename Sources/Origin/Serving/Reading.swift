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
      if case .segment = entry.entry, let after = request.target.query("after") {
        return try seamless(entry, after: after, startsAnew: request.target.query("init") != nil)
      }
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

  func status(of file: borrowing FileDescriptor, _ entry: EntryPath) throws(StorageError) -> FileStatus {
    do throws(SystemError) {
      return try file.status()
    } catch {
      throw .system(error)
    }
  }

  /// A playlist. It changes all the time, so caches must ask; the tag is made from its content, so that an answer costs
  /// no body while nothing is new, on every server that has the same playlist.
  func playlist(_ path: PlaylistPath, _ request: IncomingRequest) -> Answer {
    do throws(StorageError) {
      guard path.kind == .live, path.rendition != nil, canWait else {
        guard let bytes = try readPlaylist(path) else { return .now(Self.missingPlaylist) }
        return .now(try served(bytes, path, request.headers))
      }
      return try livePlaylist(path, request)
    } catch {
      return .now(failure("cannot read a playlist of \(path.recording)", error))
    }
  }

  private static let playlistType = "application/vnd.apple.mpegurl"
  private static var missingPlaylist: Response {
    forOtherSites(Response.text(404, "no such playlist (yet)").adding("Cache-Control", "no-cache"))
  }

  private func readPlaylist(_ path: PlaylistPath) throws(StorageError) -> [UInt8]? {
    if path.kind == .sofar, let rendition = path.rendition {
      return try WholeRecording.playlist(tree, path.recording, rendition)?.rendered()
    }
    return try tree.read((path.directories + [path.fileName]).joined(separator: "/"), limit: longestPlaylist)
  }

  /// A rendition's live playlist, at once or when it has the entry that is asked for (RFC 8216bis-20 §6.2.5).
  private func livePlaylist(_ path: PlaylistPath, _ request: IncomingRequest) throws(StorageError) -> Answer {
    let skips = ["YES", "v2"].contains(request.target.query("_HLS_skip"))
    let wanted = request.target.query("_HLS_msn")
    if wanted == nil, request.target.query("_HLS_part") != nil {
      return .now(forOtherSites(.text(400, "_HLS_part needs _HLS_msn")))
    }
    var waiter: PlaylistWaiters.Waiter?
    if let wanted {
      guard let sequence = Int(wanted), sequence >= 0 else {
        return .now(forOtherSites(.text(400, "_HLS_msn is no media sequence number")))
      }
      guard let bytes = try readPlaylist(path) else { return .now(Self.missingPlaylist) }
      let list = ServedPlaylist(bytes)
      if !list.isEnded, sequence >= list.nextSequence {
        // §6.2.5.2: further ahead than the next entry but one is a client's mistake.
        if sequence > list.nextSequence + 1 {
          return .now(forOtherSites(.text(400, "_HLS_msn is too far ahead")))
        }
        let pending = PendingResponse(
          limit: .seconds(3 * max(1, list.targetDuration)),
          otherwise: forOtherSites(Response.text(503, "nothing new has come").adding("Cache-Control", "no-cache")))
        let added = PlaylistWaiters.Waiter(
          sequence: sequence, skips: skips, fields: request.headers, pending: pending)
        if waiters.add(added, for: path) { waiter = added }
      }
    }
    // Read after the waiter is known: an update in between has either met the waiter or is in what is read now.
    guard let bytes = try readPlaylist(path) else { return .now(Self.missingPlaylist) }
    let list = ServedPlaylist(bytes)
    if let waiter, !list.isEnded, list.nextSequence <= waiter.sequence { return .later(waiter.pending) }
    return .now(try served(list.rendered(skips: skips), path, request.headers))
  }

  private func served(
    _ bytes: [UInt8], _ path: PlaylistPath, _ request: HeaderFields
  ) throws(StorageError) -> Response {
    guard path.rendition != nil else {
      return forOtherSites(derived(bytes, contentType: Self.playlistType, request))
    }
    var text = bytes
    if let help = SeamHelp(request) { text = help.applied(to: bytes, try index.offsets(in: path.recording)) }
    return forOtherSites(derived(text, contentType: Self.playlistType, request, vary: "Accept-Encoding, User-Agent"))
  }

  /// A live playlist has changed: answers those who waited for it.
  func playlistChanged(_ update: StitchUpdate) {
    let path = PlaylistPath(recording: update.recording, rendition: update.rendition, kind: .live)
    let ready = waiters.take(path, nextSequence: update.nextSequence, isEnded: update.isEnded)
    guard !ready.isEmpty else { return }
    do throws(StorageError) {
      guard let bytes = try readPlaylist(path) else { return }
      let list = ServedPlaylist(bytes)
      for waiter in ready {
        waiter.pending.fulfil(try served(list.rendered(skips: waiter.skips), path, waiter.fields))
      }
    } catch {
      for waiter in ready { waiter.pending.fulfil(failure("cannot read a playlist of \(path.recording)", error)) }
    }
  }

  /// An answer of text made here, with a tag of its content, packed where the client takes that.
  func derived(
    _ bytes: [UInt8], contentType: String, _ request: HeaderFields, vary: String = "Accept-Encoding"
  ) -> Response {
    var headers = HeaderFields([
      .init("Content-Type", contentType), .init("Cache-Control", cacheScope + "no-cache"),
      .init("Vary", vary),
    ])
    let packs = bytes.count >= 1_024 && request.acceptsGzip
    if let digest = try? SHA256Digest.of(bytes) {
      // The packed form is another representation, and a strong tag must tell them apart (RFC 9110 §8.8.3.3).
      let tag = EntityTag(hexadecimal(digest.prefix(12)) + (packs ? "-gzip" : ""))
      headers.append("ETag", "\(tag)")
      if tag.isListed(in: request.list("If-None-Match")) { return Response(304, headers: headers) }
    }
    if packs, let packed = gzipped(bytes) {
      headers.append("Content-Encoding", "gzip")
      return Response(200, headers: headers, body: .bytes(packed))
    }
    return Response(200, headers: headers, body: .bytes(bytes))
  }

  /// A shared cache must not hand on what needed a token.
  var cacheScope: String { configuration.readTokens.isEmpty ? "public, " : "private, " }

  func contentType(_ entry: EntryPath) -> String {
    if case .marker = entry.entry { return "application/octet-stream" }
    return entry.key.rendition == .mic ? "audio/mp4" : "video/mp4"
  }
}
