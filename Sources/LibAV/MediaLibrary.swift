import CLibAV

/// What libav needs once per process.
enum MediaLibrary {
  /// Registers capture devices; safe to ask for repeatedly.
  static let devices: Void = avdevice_register_all()
}
