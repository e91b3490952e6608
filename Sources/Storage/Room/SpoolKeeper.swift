import HLS
package import Platform
import Synchronization

/// Keeps a spool within its limits: looks whether there is room, and makes some at the expense of what may go.
///
/// A run without a marker keeps its last segment, whatever the limits: recovery counts by it.
package final class SpoolKeeper: Sendable {
  private struct Candidate: Comparable {
    let isUnsent: Bool
    let end: WallClockTime
    let path: EntryPath
    let area: Tree.Area
    let bytes: Int64

    static func < (a: Candidate, b: Candidate) -> Bool {
      if a.isUnsent != b.isUnsent { return b.isUnsent }
      return a.end == b.end ? a.path.description < b.path.description : a.end < b.end
    }
  }

  private struct State {
    /// Bytes of the spool when it was last listed, and what has been added since.
    var used: Int64?
    /// What may go, the oldest last.
    var candidates: [Candidate] = []
    var nextListing: ContinuousClock.Instant?
  }

  package let limits: SpoolLimits
  private let tree: Tree
  private let log: Log
  private let state = Mutex(State())

  /// Candidates of one listing.
  private static let batch = 256
  /// A spool that takes long to list is listed less often: at most a twentieth of the time goes into it.
  private static let costFactor = 20
  private static let shortestInterval: Duration = .milliseconds(400)

  package init(_ tree: Tree, _ limits: SpoolLimits, _ log: Log) {
    self.tree = tree
    self.limits = limits
    self.log = log
  }

  /// New segments wait for room when there is none; otherwise recording ends.
  package var waitsForRoom: Bool { limits.whenFull != .stop }

  /// A file has been committed.
  package func added(_ bytes: Int64) {
    state.withLock { state in
      if let used = state.used { state.used = used + bytes }
    }
  }

  /// Makes sure that there is room for `need` bytes more.
  ///
  /// - Throws: an error with `isFull` when there is none, and nothing that may go.
  package func makeRoom(for need: Int64) throws(StorageError) {
    // Taken out, so that the disk is not waited for under the lock; a second caller begins anew.
    var state = self.state.withLock { state in
      defer { state = State() }
      return state
    }
    defer { self.state.withLock { $0 = state } }
    var excess = try self.excess(&state, need)
    if excess > 0, limits.maximumSize != nil, try list(&state) {
      // Others may have made room since the spool was counted.
      excess = try self.excess(&state, need)
    }
    guard excess > 0 else { return }
    if limits.whenFull != .stop { try remove(excess, &state) }
    // Once more only: some file systems free space later, and all would go for nothing.
    excess = try self.excess(&state, need)
    if excess > 0 {
      throw .noRoom(root: tree.root, reason: limits.shortage(try tree.space(), used: state.used, need: need))
    }
  }

  /// As `makeRoom`, once the disk has refused a write: not every quota shows in the space that is told, so that room
  /// counts as there when it has been written to.
  package func findRoom(for need: Int64) throws(StorageError) {
    try makeRoom(for: need)
    do throws(StorageError) {
      return try tree.tryRoom(for: need)
    } catch {
      guard error.isFull, waitsForRoom else { throw error }
    }
    var state = self.state.withLock { state in
      defer { state = State() }
      return state
    }
    defer { self.state.withLock { $0 = state } }
    try remove(need, &state)
    try tree.tryRoom(for: need)
  }

  private func excess(_ state: inout State, _ need: Int64) throws(StorageError) -> Int64 {
    if limits.maximumSize != nil, state.used == nil { _ = try list(&state) }
    return limits.excess(try tree.space(), used: state.used, need: need)
  }

  private func remove(_ excess: Int64, _ state: inout State) throws(StorageError) {
    var left = excess
    var files = 0
    while left > 0 {
      if state.candidates.isEmpty {
        guard try list(&state), !state.candidates.isEmpty else { break }
      }
      let oldest = state.candidates.removeLast()
      // Sent, or removed by somebody else, since it was listed.
      guard try tree.remove(oldest.path, area: oldest.area) else { continue }
      left -= oldest.bytes
      state.used = state.used.map { $0 - oldest.bytes }
      if oldest.isUnsent { tell(oldest) } else { files += 1 }
    }
    if files > 0 {
      log.info(
        "spool-dropped-sent", "removed \(files) sent segments from the spool to make room", ["segments": .init(files)])
    }
  }

  private func tell(_ lost: Candidate) {
    log.warning(
      "spool-dropped-unsent",
      "removed \(lost.path) (\(lost.bytes) bytes), which no server has acknowledged, to make room",
      ["file": .init(lost.path), "bytes": .init(lost.bytes)])
  }

  /// Counts the spool and finds the oldest that may go. False when that was done a moment ago.
  private func list(_ state: inout State) throws(StorageError) -> Bool {
    let start = ContinuousClock.now
    if let next = state.nextListing, start < next { return false }
    var used: Int64 = 0
    var selection = OldestSelection<Candidate>(limit: SpoolKeeper.batch)
    for recording in try tree.recordings() {
      for key in try tree.runs(of: recording) { used += try offer(key, to: &selection) }
    }
    state.used = used
    state.candidates = selection.sorted().reversed()
    let end = ContinuousClock.now
    state.nextListing = end + max(SpoolKeeper.shortestInterval, (end - start) * SpoolKeeper.costFactor)
    return true
  }

  private func offer(_ key: RunKey, to selection: inout OldestSelection<Candidate>) throws(StorageError) -> Int64 {
    var found: [Candidate] = []
    var last = -1
    var isClosed = false
    let takesUnsent = limits.whenFull == .dropOldest
    let census = try tree.census(of: key) { entry, area, facts in
      switch entry {
      case .marker: isClosed = true
      case .segment(let name):
        last = max(last, name.sequence)
        guard area == .sent || takesUnsent else { return }
        found.append(
          Candidate(
            isUnsent: area != .sent, end: name.start.advanced(byTicks: name.ticks),
            path: EntryPath(key: key, entry: entry), area: area, bytes: facts.size))
      case .initSection, .piece: break
      }
    }
    for candidate in found {
      if !isClosed, case .segment(let name) = candidate.path.entry, name.sequence == last { continue }
      selection.offer(candidate)
    }
    return census.bytes
  }
}
