import Foundation
import Platform
import Storage
import Synchronization
import TestKit

/// A disk in memory that keeps apart what programs see and what a power cut leaves: content is durable after a sync of
/// its file, names are durable after a sync of their directory. It can let one step fail, or stop the machine after one.
final class SimulatedDisk: Sendable {
  /// What becomes of written data that was never synced.
  enum UnsyncedData: CaseIterable, Sendable {
    /// It is gone.
    case lost
    /// It is all there.
    case kept
    /// The size is there, the content is not.
    case zeros
  }

  /// A program that leaves something out, for the tests' own test.
  enum Omission: CaseIterable, Sendable {
    case fileSync, directorySync
    /// The file is synced, but only after it has its name.
    case fileSyncBeforeRename
  }

  enum Fault: Sendable {
    /// Step number `step`, counted from 1, does nothing and fails.
    case failing(step: Int, code: Int32)
    /// After that many steps the machine is off: nothing happens any more.
    case stopping(afterStep: Int)
  }

  fileprivate struct Node {
    var isDirectory = false
    var data: [UInt8] = []
    var durableData: [UInt8] = []
    var names: [String: Int] = [:]
    var durableNames: [String: Int] = [:]
  }

  fileprivate struct State {
    var nodes = [0: Node(isDirectory: true)]
    var nextNode = 1
    var steps = 0
    var fault: Fault?
    var omission: Omission?
    /// Nodes whose sync waits for the next rename (`Omission.fileSyncBeforeRename`).
    var postponed: [Int] = []
    var log: [String] = []
  }

  fileprivate let state: Mutex<State>
  /// Called before each rename, on the thread that renames.
  fileprivate let beforeRename: (@Sendable () -> Void)?
  /// Real files behind descriptors and locks.
  fileprivate let scratch: TemporaryDirectory

  init(
    _ fault: Fault? = nil, omitting omission: Omission? = nil, beforeRename: (@Sendable () -> Void)? = nil
  ) throws {
    self.beforeRename = beforeRename
    var initial = State()
    initial.fault = fault
    initial.omission = omission
    state = Mutex(initial)
    scratch = try TemporaryDirectory()
  }

  var root: any DiskDirectory { SimulatedDirectory(disk: self, node: 0, path: "disk") }
  var steps: Int { state.withLock { $0.steps } }
  /// The changes so far, in words.
  var log: [String] { state.withLock { $0.log } }
  var isOff: Bool { state.withLock { $0.isOff } }

  /// The program is gone, the machine goes on: all that was written is still seen, and no more durable than before.
  func kill(then fault: Fault? = nil) {
    state.withLock { state in
      state.steps = 0
      state.fault = fault
      state.log = []
    }
  }

  /// The power goes and comes back; then nothing fails any more unless `fault` says so.
  ///
  /// - Parameter namesSurvive: whether changes of names that were never synced have reached the disk.
  func crash(namesSurvive: Bool, unsynced: UnsyncedData, then fault: Fault? = nil) {
    state.withLock { state in
      for (number, var node) in state.nodes {
        if namesSurvive { node.durableNames = node.names }
        node.names = node.durableNames
        switch unsynced {
        case .lost: break
        case .kept: node.durableData = node.data
        case .zeros:
          let kept = node.durableData.prefix(node.data.count)
          node.durableData = kept + [UInt8](repeating: 0, count: node.data.count - kept.count)
        }
        node.data = node.durableData
        state.nodes[number] = node
      }
      state.steps = 0
      state.fault = fault
      state.omission = nil
      state.postponed = []
      state.log = []
    }
  }

  fileprivate func with<R>(_ body: (inout State) throws(SystemError) -> R) throws(SystemError) -> R {
    let result: Result<R, SystemError> = state.withLock { state in
      do throws(SystemError) { return .success(try body(&state)) } catch { return .failure(error) }
    }
    return try result.get()
  }

  /// All files by path from the root.
  func files() -> [String: [UInt8]] {
    state.withLock { state in
      var found: [String: [UInt8]] = [:]
      func walk(_ node: Int, _ path: String) {
        for (name, child) in state.nodes[node]?.names ?? [:] {
          guard let entry = state.nodes[child] else { continue }
          if entry.isDirectory { walk(child, path + name + "/") } else { found[path + name] = entry.data }
        }
      }
      walk(0, "")
      return found
    }
  }
}

extension SimulatedDisk.State {
  var isOff: Bool {
    if case .stopping(let last) = fault { steps >= last } else { false }
  }

  /// Counts a step that changes something, and fails it where that is asked for.
  mutating func step(_ operation: String, _ subject: String) throws(SystemError) {
    if isOff { throw SystemError(operation: operation, subject: subject, code: EIO) }
    steps += 1
    if case .failing(steps, let code) = fault {
      throw SystemError(operation: operation, subject: subject, code: code)
    }
    log.append("\(operation) \(subject)")
  }

  func child(_ name: String, of node: Int, _ operation: String, _ path: String) throws(SystemError) -> Int {
    guard let child = nodes[node]?.names[name] else {
      throw SystemError(operation: operation, subject: "\(path)/\(name)", code: ENOENT)
    }
    return child
  }

  mutating func add(_ name: String, to node: Int, isDirectory: Bool) -> Int {
    let number = nextNode
    nextNode += 1
    nodes[number] = SimulatedDisk.Node(isDirectory: isDirectory)
    nodes[node]?.names[name] = number
    return number
  }

  mutating func makeDurable(_ file: Int) {
    guard let data = nodes[file]?.data else { return }
    nodes[file]?.durableData = data
  }
}

private final class SimulatedDirectory: DiskDirectory {
  let disk: SimulatedDisk
  let node: Int
  let path: String

  init(disk: SimulatedDisk, node: Int, path: String) {
    self.disk = disk
    self.node = node
    self.path = path
  }

  private func with<R>(_ body: (inout SimulatedDisk.State) throws(SystemError) -> R) throws(SystemError) -> R {
    try disk.with(body)
  }

  func subdirectory(_ name: String) throws(SystemError) -> any DiskDirectory {
    let child = try with { state throws(SystemError) in try state.child(name, of: node, "open", path) }
    return SimulatedDirectory(disk: disk, node: child, path: "\(path)/\(name)")
  }

  func makeDirectory(_ name: String) throws(SystemError) -> Bool {
    try with { state throws(SystemError) in
      if state.nodes[node]?.names[name] != nil { return false }
      try state.step("make", "\(path)/\(name)")
      _ = state.add(name, to: node, isDirectory: true)
      return true
    }
  }

  func create(_ name: String) throws(SystemError) -> any DiskFile {
    let child = try with { state throws(SystemError) in
      if state.nodes[node]?.names[name] != nil {
        throw SystemError(operation: "create", subject: "\(path)/\(name)", code: EEXIST)
      }
      try state.step("create", "\(path)/\(name)")
      return state.add(name, to: node, isDirectory: false)
    }
    return SimulatedFile(disk: disk, node: child, path: "\(path)/\(name)")
  }

  func openForWriting(_ name: String) throws(SystemError) -> any DiskFile {
    let child = try with { state throws(SystemError) in try state.child(name, of: node, "open", path) }
    return SimulatedFile(disk: disk, node: child, path: "\(path)/\(name)")
  }

  func openForReading(_ name: String) throws(SystemError) -> FileDescriptor {
    let data = try with { state throws(SystemError) in
      state.nodes[try state.child(name, of: node, "open", path)]?.data ?? []
    }
    let copy = disk.scratch.file(UUID().uuidString)
    let file = try FileDescriptor.create(replacing: copy)
    try file.writeAll(data)
    try file.seek(to: 0)
    return file
  }

  func rename(
    _ name: String, to newName: String, in target: any DiskDirectory, replacing: Bool
  ) throws(SystemError) {
    guard let target = target as? SimulatedDirectory else { return }
    disk.beforeRename?()
    try with { state throws(SystemError) in
      let child = try state.child(name, of: node, "rename", path)
      if !replacing, state.nodes[target.node]?.names[newName] != nil {
        throw SystemError(operation: "rename to", subject: "\(target.path)/\(newName)", code: EEXIST)
      }
      try state.step("rename", "\(path)/\(name) \(target.path)/\(newName)")
      state.nodes[node]?.names[name] = nil
      state.nodes[target.node]?.names[newName] = child
      // Durable only if the machine goes on past the next step.
      if state.omission == .fileSyncBeforeRename {
        let postponed = state.postponed
        state.postponed = []
        if !state.isOff { for file in postponed { state.makeDurable(file) } }
      }
    }
  }

  func remove(_ name: String) throws(SystemError) {
    try with { state throws(SystemError) in
      _ = try state.child(name, of: node, "remove", path)
      try state.step("remove", "\(path)/\(name)")
      state.nodes[node]?.names[name] = nil
    }
  }

  func removeDirectory(_ name: String) throws(SystemError) {
    try with { state throws(SystemError) in
      let child = try state.child(name, of: node, "remove", path)
      if state.nodes[child]?.names.isEmpty == false {
        throw SystemError(operation: "remove", subject: "\(path)/\(name)", code: ENOTEMPTY)
      }
      try state.step("remove", "\(path)/\(name)")
      state.nodes[node]?.names[name] = nil
    }
  }

  func status(_ name: String) throws(SystemError) -> FileStatus {
    try with { state throws(SystemError) in
      let child = try state.child(name, of: node, "examine", path)
      let entry = state.nodes[child]
      return FileStatus(
        size: Int64(entry?.data.count ?? 0), modifiedNanoseconds: 0,
        kind: entry?.isDirectory == true ? .directory : .regular,
        identity: FileIdentity(device: 1, inode: UInt64(child)))
    }
  }

  func list(_ body: (_ name: String, _ kind: FileKind) -> Bool) throws(SystemError) {
    let entries = try with { state throws(SystemError) in
      (state.nodes[node]?.names ?? [:]).map { ($0.key, state.nodes[$0.value]?.isDirectory == true) }
    }
    for (name, isDirectory) in entries where !body(name, isDirectory ? .directory : .regular) { return }
  }

  func sync() throws(SystemError) {
    try with { state throws(SystemError) in
      try state.step("sync", path)
      if state.omission == .directorySync { return }
      if let names = state.nodes[node]?.names { state.nodes[node]?.durableNames = names }
    }
  }

  func space() throws(SystemError) -> FileSystem.Space { try FileSystem.space(at: "/") }

  func attemptLock(_ name: String) throws(SystemError) -> FileLock.Attempt {
    try FileLock.attempt(in: Directory(path: disk.scratch.path), name: "\(node)\(name)")
  }
}

private final class SimulatedFile: DiskFile {
  let disk: SimulatedDisk
  let node: Int
  let path: String
  /// What waits for a flush, and where it belongs; nil where nothing waits.
  private var gathered: [UInt8]?
  private var place = 0

  init(disk: SimulatedDisk, node: Int, path: String) {
    self.disk = disk
    self.node = node
    self.path = path
  }

  private func step(
    _ operation: String, _ change: (inout SimulatedDisk.State) -> Void
  ) throws(SystemError) {
    try disk.with { state throws(SystemError) in
      try state.step(operation, path)
      change(&state)
    }
  }

  func gather(in buffer: BlockBuffer) { gathered = [] }

  func append(_ bytes: RawSpan) throws(SystemError) {
    guard gathered == nil else { return bytes.withUnsafeBytes { gathered?.append(contentsOf: $0) } }
    try write(bytes)
  }

  func flush() throws(SystemError) {
    guard let bytes = gathered, !bytes.isEmpty else { return }
    // A write that failed half-way is written over.
    try disk.with { state throws(SystemError) in state.nodes[node]?.data.replaceSubrange(place..., with: []) }
    try write(bytes.span.bytes)
    place += bytes.count
    gathered = []
  }

  private func write(_ bytes: RawSpan) throws(SystemError) {
    let added = bytes.withUnsafeBytes { Array($0) }
    do throws(SystemError) {
      try step("write") { $0.nodes[node]?.data += added }
    } catch {
      // A disk that is full has taken what fitted.
      try disk.with { state throws(SystemError) in
        if !state.isOff { state.nodes[node]?.data += added.prefix(added.count / 2) }
      }
      throw error
    }
  }

  func truncate(to size: Int64) throws(SystemError) {
    try step("truncate") { state in
      guard let data = state.nodes[node]?.data else { return }
      state.nodes[node]?.data = Array(data.prefix(Int(size)))
    }
    guard let waiting = gathered else { return }
    gathered = Array(waiting.prefix(max(0, Int(size) - place)))
    place = min(place, Int(size))
  }

  func sync() throws(SystemError) {
    try step("sync") { state in
      switch state.omission {
      case .fileSync: break
      case .fileSyncBeforeRename: state.postponed.append(node)
      case .directorySync, nil: state.makeDurable(node)
      }
    }
  }

  func close() throws(SystemError) {}
}
