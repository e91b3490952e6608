import CLibAV

/// What libav needs once per process.
enum MediaLibrary {
  /// Registers capture devices, and keeps codecs from memory they only round up to; safe to ask for repeatedly.
  static let devices: Void = {
    segrec_refuse_huge_pages()
    avdevice_register_all()
  }()
}
