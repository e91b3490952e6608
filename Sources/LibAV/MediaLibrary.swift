import CLibAV

/// What libav needs once per process.
enum MediaLibrary {
  /// Registers capture devices, keeps codecs from memory they only round up to, and ALSA from writing lines; safe to ask for repeatedly.
  static let devices: Void = {
    segrec_refuse_huge_pages()
    segrec_silence_alsa()
    avdevice_register_all()
  }()
}
