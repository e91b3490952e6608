import Glibc
import Synchronization

/// A thread of the system that runs one closure. It is named in `top` and debuggers.
package final class Thread: Sendable {
  package let name: String
  private let handle: pthread_t
  private let isJoined = Atomic(false)

  /// Starts the thread.
  ///
  /// - Parameters:
  ///   - name: cut to 15 bytes, which is what the kernel keeps.
  ///   - stackSize: bytes; 512 kB is enough for libav's codecs on one thread each.
  package init(
    _ name: String, stackSize: Int = 512 * 1024, body: @escaping @Sendable () -> Void
  ) throws(SystemError) {
    self.name = name
    let start = ThreadStart(name: name, body: body)
    var attributes = pthread_attr_t()
    unsafe pthread_attr_init(&attributes)
    unsafe pthread_attr_setstacksize(&attributes, max(stackSize, 64 * 1024))
    var handle = pthread_t()
    let context = unsafe Unmanaged.passRetained(start)
    let code = unsafe pthread_create(&handle, &attributes, threadMain, context.toOpaque())
    unsafe pthread_attr_destroy(&attributes)
    if code != 0 {
      unsafe context.release()
      throw SystemError(operation: "start thread", subject: name, code: code)
    }
    self.handle = handle
  }

  deinit {
    if !isJoined.load(ordering: .acquiring) { pthread_detach(handle) }
  }

  /// Waits until the closure has returned. A second call returns at once.
  package func join() {
    if isJoined.exchange(true, ordering: .acquiringAndReleasing) { return }
    pthread_join(handle, nil)
  }

  /// Has the calling thread do nothing for a while, for what nobody tells of when it happens. Signals may end it early.
  package static func pause(_ duration: Duration) {
    poll(nil, 0, duration.wholeMilliseconds)
  }

  /// Sends a signal to this thread alone.
  func send(signal: Int32) { pthread_kill(handle, signal) }
}

private final class ThreadStart: Sendable {
  let name: String
  let body: @Sendable () -> Void

  init(name: String, body: @escaping @Sendable () -> Void) {
    self.name = name
    self.body = body
  }
}

private func threadMain(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context = unsafe context else { return nil }
  let start = unsafe Unmanaged<ThreadStart>.fromOpaque(context).takeRetainedValue()
  // pthread_setname_np is hidden from Swift's Glibc module. A thread without its name works as well.
  let comm = unsafe open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
  if comm != -1 {
    let name = Array(start.name.utf8.prefix(15))
    _ = unsafe write(comm, name, name.count)
    close(comm)
  }
  start.body()
  return nil
}
