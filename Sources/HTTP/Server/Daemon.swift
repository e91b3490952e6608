import CMicroHTTPD
import Glibc

/// Owns one running `MHD_Daemon`, its settings and the certificate text, all of which the library reads until it has
/// stopped. Freed with `MHD_stop_daemon`.
@safe struct Daemon: ~Copyable {
  private let raw: OpaquePointer
  private let settings: UnsafeMutablePointer<segrec_mhd_settings>
  private let core: Unmanaged<ServerCore>

  init(
    _ socket: consuming ListeningSocket, core: ServerCore, identity: TLSIdentity?, threads: Int,
    limits: HTTPServerLimits, name: ListenAddress
  ) throws(HTTPServerError) {
    let retained = unsafe Unmanaged.passRetained(core)
    let settings = UnsafeMutablePointer<segrec_mhd_settings>.allocate(capacity: 1)
    unsafe settings.initialize(to: segrec_mhd_settings())
    var flags =
      MHD_USE_EPOLL_INTERNAL_THREAD.rawValue | MHD_ALLOW_SUSPEND_RESUME.rawValue | MHD_USE_ITC.rawValue
      | MHD_USE_ERROR_LOG.rawValue
    if let identity {
      flags |= MHD_USE_TLS.rawValue
      unsafe settings.pointee.certificate = unsafe copyTerminated(identity.certificate)
      unsafe settings.pointee.key = unsafe copyTerminated(identity.key)
    }
    unsafe settings.pointee.flags = flags
    let descriptor = socket.release()
    unsafe settings.pointee.listening_socket = descriptor
    let threads = max(1, threads)
    // The library splits the limit evenly over its threads.
    unsafe settings.pointee.connection_limit = UInt32(clamping: max(limits.connections, threads))
    unsafe settings.pointee.idle_seconds = UInt32(clamping: max(1, limits.idleTime.components.seconds))
    unsafe settings.pointee.threads = UInt32(clamping: threads)
    unsafe settings.pointee.memory_per_connection = limits.memoryPerConnection
    unsafe settings.pointee.context = retained.toOpaque()
    unsafe settings.pointee.accept = ServerCore.accept
    unsafe settings.pointee.handle = ServerCore.handle
    unsafe settings.pointee.begin = ServerCore.begin
    unsafe settings.pointee.completed = ServerCore.completed
    unsafe settings.pointee.connection = ServerCore.connectionChanged
    unsafe settings.pointee.notice = ServerCore.notice
    guard let raw = unsafe segrec_mhd_start(settings) else {
      let code = errno
      close(descriptor)
      unsafe Daemon.free(settings)
      unsafe retained.release()
      if identity != nil {
        throw HTTPServerError(
          .start("\(name)"), cause: "the certificate or its key cannot be used (both must be PEM and belong together)")
      }
      throw HTTPServerError(.start("\(name)"), errno: code)
    }
    unsafe self.raw = raw
    unsafe self.settings = settings
    unsafe self.core = retained
  }

  deinit {
    unsafe MHD_stop_daemon(raw)
    unsafe Daemon.free(settings)
    unsafe core.release()
  }

  private static func free(_ settings: UnsafeMutablePointer<segrec_mhd_settings>) {
    unsafe free(text: settings.pointee.certificate)
    unsafe free(text: settings.pointee.key)
    unsafe settings.deinitialize(count: 1)
    unsafe settings.deallocate()
  }

  private static func free(text: UnsafePointer<CChar>?) {
    if let text = unsafe text { unsafe UnsafeMutablePointer(mutating: text).deallocate() }
  }
}
// Sendable: the library lets any thread stop a daemon, and one owner does it once.
extension Daemon: @unchecked Sendable {}

private func copyTerminated(_ bytes: [UInt8]) -> UnsafePointer<CChar> {
  let copy = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count + 1)
  for (index, byte) in bytes.enumerated() { unsafe copy[index] = CChar(bitPattern: byte) }
  unsafe copy[bytes.count] = 0
  return unsafe UnsafePointer(copy)
}
