package import HLS
package import Platform
package import Storage

/// Watches a tree that another server fills (inotify) and makes known each file that appears in it.
///
/// Of each rendition the latest runs are watched; what comes into older ones is found by the service's own look at the
/// directories. So is everything when the kernel allows no more watches, which is said once.
package final class TreeWatcher: Sendable {
  private let tree: Tree
  private let log: Log
  private let found: @Sendable (EntryPath) -> Void
  private let lookAgain: @Sendable () -> Void
  private let isStopped = StopFlag()
  private let thread = Monitor<Thread?>(nil)

  /// Runs of a rendition that are watched at a time: while one is written, those before it may still be filled.
  private static let watchedRuns = 4
  /// How long `stop` may take.
  private static let patience: Duration = .milliseconds(250)

  /// - Parameters:
  ///   - found: called on the watcher's thread for each file.
  ///   - lookAgain: called when notices were lost.
  package init(
    _ tree: Tree, log: Log, found: @escaping @Sendable (EntryPath) -> Void, lookAgain: @escaping @Sendable () -> Void
  ) {
    self.tree = tree
    self.log = log
    self.found = found
    self.lookAgain = lookAgain
  }

  /// Watches before it returns: what appears later is made known. Started before a `StitchService` that looks at the
  /// directories first, it leaves nothing out.
  package func start() throws(SystemError) {
    let begun = Monitor<Result<Void, SystemError>?>(nil)
    let started = try Thread("stitch-watch") { [self] in
      do throws(SystemError) {
        var walk = Walk(tree, log, try DirectoryWatcher())
        try walk.begin()
        begun.withLock { $0 = .success(()) }
        run(&walk)
      } catch {
        begun.withLock { $0 = .failure(error) }
      }
    }
    thread.withLock { $0 = started }
    try begun.wait(until: { $0 })?.get()
  }

  package func stop() {
    isStopped.request()
    let running = thread.withLock { thread in
      let running = thread
      thread = nil
      return running
    }
    running?.join()
  }

  private func run(_ walk: inout Walk) {
    while !isStopped.isRequested {
      do throws(SystemError) {
        let isComplete = try walk.next(timeout: TreeWatcher.patience, found)
        if !isComplete { lookAgain() }
      } catch {
        log.error("watch", "\(error); directories are looked at from time to time instead")
        return
      }
    }
  }

  /// What is watched. Used by one thread at a time.
  private struct Walk: ~Copyable {
    private enum Place {
      case root
      case recording(RecordingName)
      case rendition(RecordingName, RenditionName)
      case run(RunKey)
    }

    private struct Rendition: Hashable {
      let recording: RecordingName
      let rendition: RenditionName
    }

    private let tree: Tree
    private let log: Log
    private let watcher: DirectoryWatcher
    private var places: [DirectoryWatcher.Watch: Place] = [:]
    private var runs: [Rendition: [(run: RunName, watch: DirectoryWatcher.Watch)]] = [:]
    private var isLimitSaid = false

    init(_ tree: Tree, _ log: Log, _ watcher: consuming DirectoryWatcher) {
      self.tree = tree
      self.log = log
      self.watcher = watcher
    }

    mutating func begin() throws(SystemError) {
      places[try watcher.add(tree.root)] = .root
      descend { _ in }
    }

    /// - Returns: false when notices were lost.
    mutating func next(timeout: Duration, _ found: (EntryPath) -> Void) throws(SystemError) -> Bool {
      var isComplete = true
      for event in try watcher.events(timeout: timeout) {
        switch event {
        case .overflow:
          isComplete = false
          descend { _ in }
        case .ended(let watch):
          forget(watch)
        case .vanished:
          break
        case .appeared(let watch, let name, let isDirectory):
          guard let place = places[watch] else { continue }
          if isDirectory {
            enter(place, name, found)
          } else if case .run(let key) = place, let entry = RunEntry(name) {
            found(EntryPath(key: key, entry: entry))
          }
        }
      }
      return isComplete
    }

    /// Watches all there is below the root.
    private mutating func descend(_ found: (EntryPath) -> Void) {
      for recording in listing({ () throws(StorageError) in try tree.recordings() }) {
        enter(.root, recording.text, found)
      }
    }

    /// Watches the directory `name` in `place` and what is in it, and makes known the files that came before the watch.
    private mutating func enter(_ place: Place, _ name: String, _ found: (EntryPath) -> Void) {
      switch place {
      case .root:
        guard let recording = RecordingName(name), watch(.recording(recording), tree.path(of: recording)) != nil
        else { return }
        for rendition in listing({ () throws(StorageError) in try tree.renditions(of: recording) }) {
          enter(.recording(recording), rendition.text, found)
        }
      case .recording(let recording):
        guard let rendition = RenditionName(name), rendition.isUsableAsRendition,
          watch(.rendition(recording, rendition), "\(tree.path(of: recording))/\(rendition)") != nil
        else { return }
        let all = listing { () throws(StorageError) in try tree.runs(of: recording, rendition: rendition) }
        for run in all.suffix(TreeWatcher.watchedRuns) {
          enter(.rendition(recording, rendition), run.description, found)
        }
      case .rendition(let recording, let rendition):
        guard let run = RunName(name) else { return }
        enter(RunKey(recording: recording, rendition: rendition, run: run), found)
      case .run:
        break
      }
    }

    private mutating func enter(_ key: RunKey, _ found: (EntryPath) -> Void) {
      guard let watch = watch(.run(key), tree.path(of: key)) else { return }
      let rendition = Rendition(recording: key.recording, rendition: key.rendition)
      var watched = runs[rendition] ?? []
      if !watched.contains(where: { $0.run == key.run }) {
        watched.append((key.run, watch))
        watched.sort { $0.run < $1.run }
      }
      while watched.count > TreeWatcher.watchedRuns {
        let oldest = watched.removeFirst()
        watcher.remove(oldest.watch)
        places[oldest.watch] = nil
      }
      runs[rendition] = watched
      var entries: [RunEntry] = []
      _ = listing { () throws(StorageError) -> [RunEntry] in
        try tree.entries(of: key) { entry in
          entries.append(entry)
          return true
        }
        return []
      }
      for entry in entries { found(EntryPath(key: key, entry: entry)) }
    }

    private mutating func watch(_ place: Place, _ path: String) -> DirectoryWatcher.Watch? {
      do throws(SystemError) {
        let watch = try watcher.add(path)
        places[watch] = place
        return watch
      } catch {
        // Gone again, or not a directory.
        if error.isMissing { return nil }
        if !isLimitSaid {
          isLimitSaid = true
          log.warning("watch", "\(error); what is not watched is looked at from time to time")
        }
        return nil
      }
    }

    private mutating func forget(_ watch: DirectoryWatcher.Watch) {
      guard let place = places.removeValue(forKey: watch) else { return }
      switch place {
      case .run(let key):
        runs[Rendition(recording: key.recording, rendition: key.rendition)]?.removeAll { $0.watch == watch }
      case .rendition(let recording, let rendition):
        runs[Rendition(recording: recording, rendition: rendition)] = nil
      case .root, .recording:
        break
      }
    }

    private func listing<Name>(_ body: () throws(StorageError) -> [Name]) -> [Name] {
      do throws(StorageError) {
        return try body()
      } catch {
        if !error.isMissing { log.warning("watch", "\(error)") }
        return []
      }
    }
  }
}
