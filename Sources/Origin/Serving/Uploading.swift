import HLS
import HTTP
import Platform
import Storage

extension OriginHandler {
  /// Decides by the head of an upload whether its body is wanted. What is refused here is refused unread.
  func upload(_ entry: EntryPath, _ request: IncomingRequest, _ access: Access) -> Answer {
    guard access.mayUpload(to: entry.key.recording) else { return .now(unauthorized(offersBasic: true)) }
    guard let length = request.contentLength else {
      return .now(.text(411, "an upload needs a Content-Length"))
    }
    if let refusal = refusal(entry, request, length: length) { return .now(refusal) }
    do throws(StorageError) {
      // A name that is there with another size need not be sent to be refused.
      if let there = try tree.facts(of: entry), there.size != length {
        counters.conflicted()
        log.warning("conflict", "\(entry) came again with another size; the first stays", ["entry": .init(entry)])
        return .now(.text(409, "another file has this name"))
      }
      if let full = try refusalForRoom(length) { return .now(full) }
      let announced = request.headers.list("Content-Digest").filter { $0.lowercased().hasPrefix("sha-256=") }
      let digest: SHA256Digest? = announced.isEmpty ? nil : try makeDigest()
      return .receive(
        Upload(
          try tree.receive(entry), length: length, announcedDigests: announced.map(String.init), digest: digest,
          commits: commits))
    } catch {
      return .now(commits.answer(toFailure: error, entry))
    }
  }

  private func refusal(_ entry: EntryPath, _ request: IncomingRequest, length: Int64) -> Response? {
    if request.headers["Content-Range"] != nil {
      return .text(400, "a part of a file cannot be stored (RFC 9110 §14.5)")
    }
    if request.headers.list("Content-Encoding").contains(where: { !$0.equalsIgnoringCase("identity") }) {
      return .text(415, "files are stored as they are: no Content-Encoding")
    }
    if case .marker = entry.entry {
      return length == 0 ? nil : .text(400, "a marker is empty")
    }
    if length == 0 { return .text(400, "an empty file is no media segment") }
    if length > configuration.maximumSegment {
      return .text(413, "larger than \(configuration.maximumSegment) bytes, which --max-segment allows")
    }
    return nil
  }

  private func refusalForRoom(_ length: Int64) throws(StorageError) -> Response? {
    if let maximum = configuration.maximumRoot, index.bytes + length > maximum {
      return .text(507, "the root has reached \(maximum) bytes, which --max-root allows")
    }
    if try tree.space().availableBytes < length + configuration.reserve {
      return .text(507, "the server's disk is full")
    }
    return nil
  }

  private func makeDigest() throws(StorageError) -> SHA256Digest? {
    do throws(ClientError) {
      return try SHA256Digest()
    } catch {
      throw .outOfOrder("\(error)")
    }
  }
}
