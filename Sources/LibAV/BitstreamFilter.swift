import CLibAV

/// Owns one bitstream filter, or a chain of them (`AVBSFContext`). Freed with `av_bsf_free`. After each `send`, call
/// `receive` until `.needsInput`.
@safe package struct BitstreamFilter: ~Copyable {
  package let name: String
  private let raw: UnsafeMutablePointer<AVBSFContext>
  private var current: CodecParameters

  /// - Parameters:
  ///   - name: libav's list syntax: `aac_adtstoasc`, `hevc_mp4toannexb,extract_extradata=remove=1`.
  package init(_ name: String, parameters: CodecParameters, timeBase: RationalTime) throws(AVError) {
    var raw: UnsafeMutablePointer<AVBSFContext>?
    var result = unsafe av_bsf_list_parse_str(name, &raw)
    guard result >= 0, let context = unsafe raw else {
      throw AVError(.openBitstreamFilter(name), code: result < 0 ? result : -12)
    }
    result = unsafe avcodec_parameters_copy(context.pointee.par_in, parameters.raw)
    unsafe context.pointee.time_base_in = timeBase.raw
    if result >= 0 { result = unsafe av_bsf_init(context) }
    guard result >= 0 else {
      unsafe av_bsf_free(&raw)
      throw AVError(.openBitstreamFilter(name), code: result)
    }
    do throws(AVError) {
      current = try unsafe CodecParameters(copying: context.pointee.par_out)
    } catch {
      unsafe av_bsf_free(&raw)
      throw error
    }
    unsafe self.raw = context
    self.name = name
  }

  deinit {
    var raw: UnsafeMutablePointer<AVBSFContext>? = unsafe raw
    unsafe av_bsf_free(&raw)
  }

  /// Of the stream that comes out. Filters that find the codec configuration in the packets (`aac_adtstoasc`,
  /// `extract_extradata`) make it known with the first packet that `receive` gives.
  package var parameters: CodecParameters { current }

  /// Takes the packet, which is clear afterwards.
  package mutating func send(_ packet: inout Packet) throws(AVError) {
    // An empty packet would mean the end to libav.
    guard !packet.isEmpty else { return packet.clear() }
    let result = unsafe av_bsf_send_packet(raw, packet.raw)
    guard result >= 0 else { throw AVError(.filterBitstream(name), code: result) }
  }

  package mutating func drain() throws(AVError) {
    let result = unsafe av_bsf_send_packet(raw, nil)
    guard result >= 0 || result == segrec_AVERROR_EOF else {
      throw AVError(.filterBitstream(name), code: result)
    }
  }

  package mutating func receive(into packet: inout Packet) throws(AVError) -> CodingStep {
    packet.clear()
    let result = unsafe av_bsf_receive_packet(raw, packet.raw)
    guard let step = codingStep(result) else { throw AVError(.filterBitstream(name), code: result) }
    if step == .produced {
      packet.timeBase = unsafe RationalTime(raw.pointee.time_base_out)
      if let extradata = packet.newExtradata, extradata != current.extradata {
        current = try current.replacing(extradata: extradata)
      }
    }
    return step
  }

  /// The chain that makes packets of `stream` fit for fragments, with the codec configuration found in them when the
  /// container has none; nil when they fit as they are.
  package static func forFragments(_ parameters: CodecParameters) -> String? {
    let extradata = parameters.extradata
    switch parameters.codec {
    case .aac:
      // ADTS (MPEG-TS, raw .aac) has its configuration in each frame.
      return extradata.isEmpty ? "aac_adtstoasc" : nil
    case .h264:
      // Annex B repeats its parameter sets in the stream; they are compared with those of the init section.
      return extradata.first == 1 ? nil : "extract_extradata"
    case .hevc:
      if extradata.first != 1 { return "extract_extradata=remove=1" }
      // hev1 may keep its parameter sets in the stream only, hvc1 may not (ISO/IEC 14496-15 §8.4.1).
      return hasParameterSets(hvcC: extradata) ? nil : "hevc_mp4toannexb,extract_extradata=remove=1"
    case .av1: return extradata.isEmpty ? "extract_extradata" : nil
    case .vp9: return "vp9_superframe"
    default: return nil
    }
  }

  /// True when an HEVCDecoderConfigurationRecord (ISO/IEC 14496-15 §8.3.3.1) has VPS, SPS and PPS.
  static func hasParameterSets(hvcC: [UInt8]) -> Bool {
    guard hvcC.count > 22 else { return false }
    var found: Set<UInt8> = []
    var offset = 23
    for _ in 0..<hvcC[22] {
      guard offset + 3 <= hvcC.count else { break }
      let type = hvcC[offset] & 0x3F
      let count = Int(hvcC[offset + 1]) << 8 | Int(hvcC[offset + 2])
      offset += 3
      if count > 0 { found.insert(type) }
      for _ in 0..<count {
        guard offset + 2 <= hvcC.count else { return false }
        offset += 2 + (Int(hvcC[offset]) << 8 | Int(hvcC[offset + 1]))
      }
    }
    return found.isSuperset(of: [32, 33, 34])
  }
}

// Sendable: one owner, and libav gives bitstream filters no thread affinity.
extension BitstreamFilter: @unchecked Sendable {}
