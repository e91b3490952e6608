import Glibc

// Until Platform has its own (h1): a thread and a wake-up, the least the server needs.
struct SystemError: Error {}
final class Wakeup: Sendable {
  let descriptor: Int32
  private let writing: Int32
  init() throws(SystemError) {
    var pair: (Int32, Int32) = (-1, -1)
    let result = unsafe withUnsafeMutableBytes(of: &pair) {
      unsafe socketpair(
        AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0,
        $0.assumingMemoryBound(to: Int32.self).baseAddress)
    }
    if result < 0 { throw SystemError() }
    (descriptor, writing) = pair
  }
  deinit { close(descriptor); close(writing) }
  func signal() { var byte: UInt8 = 1; _ = unsafe write(writing, &byte, 1) }
  func clear() { var bytes = [UInt8](repeating: 0, count: 64); while unsafe read(descriptor, &bytes, 64) == 64 {} }
  func wait(until deadline: ContinuousClock.Instant) -> Bool {
    let left = max(.zero, deadline - .now).components
    var p = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&p, 1, Int32(clamping: left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000 + 1)) > 0
  }
}
final class Thread: Sendable {
  private final class Box { let body: @Sendable () -> Void; init(_ b: @escaping @Sendable () -> Void) { body = b } }
  private let raw: pthread_t
  init(name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
    var t = pthread_t()
    let box = unsafe Unmanaged.passRetained(Box(body)).toOpaque()
    if unsafe pthread_create(
      &t, nil,
      {
        unsafe Unmanaged<Box>.fromOpaque($0!).takeRetainedValue().body(); return nil
      }, box) != 0
    {
      throw SystemError()
    }
    raw = t
  }
  func join() { _ = pthread_join(raw, nil) }
}
