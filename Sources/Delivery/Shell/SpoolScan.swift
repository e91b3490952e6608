import HLS
import Storage

extension Tree {
  /// Looks at one run: its first or last `windowSize` waiting segments, and counts of the rest. Memory does not grow with
  /// the run.
  func listing(
    of key: RunKey, windowSize: Int, newestFirst: Bool
  ) throws(StorageError) -> SpoolListing {
    var listing = SpoolListing()
    var window = SegmentWindow(size: windowSize, keepsNewest: newestFirst)
    try entries(of: key) { entry in
      switch entry {
      case .initSection: listing.hasInitSection = true
      case .segment(let name):
        listing.waiting += 1
        listing.waitingTicks += name.ticks
        window.add(name)
      case .marker(let name):
        if name.count >= (listing.marker?.count ?? 0) { listing.marker = name }
      case .piece: break
      }
      return true
    }
    listing.window = window.sorted()
    try entries(of: key, area: .sent) { entry in
      if case .segment = entry { listing.hasSent = true }
      return !listing.hasSent
    }
    try entries(of: key, area: .refused) { entry in
      switch entry {
      case .segment: listing.refused += 1
      case .initSection: listing.isInitSectionRefused = true
      case .marker, .piece: break
      }
      return true
    }
    if let marker = listing.marker {
      listing.isMarkerSent = try facts(of: EntryPath(key: key, entry: .marker(marker)), area: .sent) != nil
    }
    return listing
  }
}

/// The first or last names of a sequence that comes in any order, in bounded memory.
struct SegmentWindow {
  private let size: Int
  private let keepsNewest: Bool
  private var names: [SegmentName] = []

  init(size: Int, keepsNewest: Bool) {
    self.size = max(1, size)
    self.keepsNewest = keepsNewest
  }

  mutating func add(_ name: SegmentName) {
    names.append(name)
    if names.count >= size * 2 { cut() }
  }

  /// In the order of numbers.
  mutating func sorted() -> [SegmentName] {
    cut()
    return names
  }

  private mutating func cut() {
    names.sort()
    if names.count > size {
      if keepsNewest { names.removeFirst(names.count - size) } else { names.removeLast(names.count - size) }
    }
  }
}
