/// The text of a sliding list, kept from one writing to the next: an entry is put into words once, however long the list
/// stays at an hour.
package struct RenderedPlaylist: Sendable {
  /// The lines of all entries, without what stands before the first for being the first.
  private var lines: [UInt8] = []
  /// Bytes of each entry's lines.
  private var lengths: [Int] = []

  package init() {}

  /// The whole text of `playlist`, which has lost `removed` entries at its front since the last call, and then got others
  /// at its end.
  package mutating func text(of playlist: MediaPlaylist, removed: Int) -> [UInt8] {
    let gone = min(removed, lengths.count)
    lines.removeFirst(lengths.prefix(gone).reduce(0, +))
    lengths.removeFirst(gone)
    for index in playlist.entries.indices.dropFirst(lengths.count) {
      let added = MediaPlaylist.rendered(adding: playlist.entries[index...index])
      lines += added
      lengths.append(added.count)
    }
    return playlist.rendered(lines: lines)
  }
}
