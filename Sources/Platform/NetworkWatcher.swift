import Glibc

/// Tells when an interface, an address or a route of this machine appears (rtnetlink, RFC 3549): the moment at which it
/// is worth trying again what the network refused.
package final class NetworkWatcher: Sendable {
  private let ending: Wakeup
  private let thread: Thread

  /// From linux/rtnetlink.h, which Swift's Glibc module does not show.
  private static let groups: UInt32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400  // links; IPv4, IPv6: addresses, routes
  private static let newLink: UInt16 = 16
  private static let newAddress: UInt16 = 20
  private static let newRoute: UInt16 = 24

  /// - Parameter onChange: called on a thread of its own, once for any number of changes that come together.
  package init(onChange: @escaping @Sendable () -> Void) throws(SystemError) {
    let number = try checked("watch", "the network") {
      Glibc.socket(AF_NETLINK, Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue), 0)
    }
    let socket = FileDescriptor(owning: number, path: "rtnetlink")
    // struct sockaddr_nl: family, padding, port (0: the kernel chooses), groups.
    let address: (UInt16, UInt16, UInt32, UInt32) = (UInt16(AF_NETLINK), 0, 0, NetworkWatcher.groups)
    try checked("watch", "the network") {
      unsafe withUnsafePointer(to: address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe bind(number, $0, 12) }
      }
    }
    let ending = try Wakeup()
    self.ending = ending
    let open = SharedDescriptor(socket)
    thread = try Thread("network") { NetworkWatcher.watch(open.descriptor, ending, onChange) }
  }

  deinit {
    // A netlink socket cannot be shut down, so that the thread must be told.
    ending.signal()
    thread.join()
  }

  private static func watch(
    _ socket: borrowing FileDescriptor, _ ending: Wakeup, _ onChange: @Sendable () -> Void
  ) {
    var buffer = [UInt8](repeating: 0, count: 8192)
    while true {
      var entries = [
        pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0),
        pollfd(fd: ending.number, events: Int16(POLLIN), revents: 0),
      ]
      guard uninterrupted({ unsafe poll(&entries, 2, -1) }) > 0, entries[1].revents == 0 else { return }
      let count = uninterrupted { unsafe recv(socket.number, &buffer, buffer.count, 0) }
      if count > 0 {
        if tellsArrival(buffer[..<count]) { onChange() }
      } else if count == -1, errno == ENOBUFS {
        // More changes than fit: something has changed, then.
        onChange()
      } else {
        return
      }
    }
  }

  /// Whether a datagram of netlink messages (length, type, …; each aligned to 4) has one about something new.
  static func tellsArrival(_ datagram: ArraySlice<UInt8>) -> Bool {
    var rest = datagram
    while rest.count >= 16 {
      let length = (0..<4).reversed().reduce(0) { $0 << 8 | Int(rest[rest.startIndex + $1]) }
      let type = UInt16(rest[rest.startIndex + 4]) | UInt16(rest[rest.startIndex + 5]) << 8
      if [newLink, newAddress, newRoute].contains(type) { return true }
      guard length >= 16 else { return false }
      rest = rest.dropFirst((length + 3) & ~3)
    }
    return false
  }
}

/// Keeps a descriptor open for as long as a thread uses it.
private final class SharedDescriptor: Sendable {
  let descriptor: FileDescriptor

  init(_ descriptor: consuming FileDescriptor) {
    self.descriptor = descriptor
  }
}
