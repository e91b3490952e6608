import CLibAV
import Glibc

/// A libav call that failed: what was being done, to what, and the `AVERROR` that came back.
package struct AVError: Error, Equatable, Sendable, CustomStringConvertible {
  /// Subjects are free of secrets: `InputName` has scrubbed them.
  package enum Operation: Equatable, Sendable {
    case open(input: String)
    case read(input: String)
    case option(name: String, subject: String)
    case openDecoder(String)
    case decode(String)
    case openEncoder(String)
    case encode(String)
    case openFilter(String)
    case filter(String)
    case openMuxer(String)
    case mux(String)
    case openBitstreamFilter(String)
    case filterBitstream(String)
    case allocate(String)
  }

  /// What a caller can do about it.
  package enum Kind: Equatable, Sendable {
    case notFound
    case permissionDenied
    case invalidData
    case noStreams
    /// This libav has no such protocol, demuxer, decoder, encoder, filter or muxer.
    case unsupported
    case unknownOption
    /// A host, server or device that does not answer, refuses or is busy.
    case unavailable
    /// `Interruption.stop()` was called.
    case stopped
    case timedOut
    case outOfMemory
    case other
  }

  package let operation: Operation
  /// `AVERROR`, negative.
  package let code: Int32
  /// The last error line libav logged about it or what this module knows more; may be empty.
  package let detail: String

  package init(_ operation: Operation, code: Int32, detail: String = "") {
    self.operation = operation
    self.code = code
    self.detail = detail
  }

  package var kind: Kind {
    switch code {
    case -ENOENT, -ENOTDIR, segrec_AVERROR_HTTP_NOT_FOUND: .notFound
    case -EACCES, -EPERM, segrec_AVERROR_HTTP_UNAUTHORIZED, segrec_AVERROR_HTTP_FORBIDDEN: .permissionDenied
    case segrec_AVERROR_INVALIDDATA, -EISDIR: .invalidData
    case segrec_AVERROR_STREAM_NOT_FOUND: .noStreams
    case segrec_AVERROR_PROTOCOL_NOT_FOUND, segrec_AVERROR_DEMUXER_NOT_FOUND, segrec_AVERROR_DECODER_NOT_FOUND,
      segrec_AVERROR_ENCODER_NOT_FOUND, segrec_AVERROR_FILTER_NOT_FOUND, segrec_AVERROR_MUXER_NOT_FOUND,
      segrec_AVERROR_BSF_NOT_FOUND, segrec_AVERROR_PATCHWELCOME, -ENOSYS:
      .unsupported
    case segrec_AVERROR_OPTION_NOT_FOUND: .unknownOption
    case segrec_AVERROR_EXIT: .stopped
    case -ETIMEDOUT: .timedOut
    case -ENOMEM: .outOfMemory
    case -EIO, -ENODEV, -ENXIO, -EBUSY, -ECONNREFUSED, -ECONNRESET, -ECONNABORTED, -EHOSTUNREACH, -ENETUNREACH,
      -ENETDOWN, -EPIPE, segrec_AVERROR_HTTP_BAD_REQUEST, segrec_AVERROR_HTTP_OTHER_4XX,
      segrec_AVERROR_HTTP_SERVER_ERROR:
      .unavailable
    default: .other
    }
  }

  /// The system's error number (errno) where a call of the system failed. Nil for libav's own errors, and for the numbers
  /// that libav uses for arguments it does not like.
  package var systemCode: Int32? {
    switch code {
    case -EINVAL, -ENOSYS, -ERANGE, -EDOM: nil
    case -133 ... -1: -code
    default: nil
    }
  }

  /// One line, without a full stop: "cannot open clip.mp4: No such file or directory".
  package var description: String {
    let cause = detail.isEmpty ? causeText : detail
    return switch operation {
    case .open(let input): "cannot open \(input): \(cause)"
    case .read(let input): "cannot read \(input): \(cause)"
    case .option(let name, let subject): "\(subject) does not know the option \(name)"
    case .openDecoder(let name): "cannot open the decoder \(name): \(cause)"
    case .decode(let name): "cannot decode \(name): \(cause)"
    case .openEncoder(let name): "cannot open the encoder \(name): \(cause)"
    case .encode(let name): "cannot encode with \(name): \(cause)"
    case .openFilter(let graph): "cannot set up the filter \(graph): \(cause)"
    case .filter(let graph): "cannot filter with \(graph): \(cause)"
    case .openMuxer(let name): "cannot set up the muxer \(name): \(cause)"
    case .mux(let name): "cannot write \(name): \(cause)"
    case .openBitstreamFilter(let name): "cannot set up the bitstream filter \(name): \(cause)"
    case .filterBitstream(let name): "cannot filter the bitstream with \(name): \(cause)"
    case .allocate(let what): "cannot allocate \(what): \(cause)"
    }
  }

  var causeText: String {
    switch code {
    case segrec_AVERROR_STREAM_NOT_FOUND: "no video or audio in it"
    case segrec_AVERROR_EXIT: "stopped"
    case -ETIMEDOUT: "nothing came in time"
    case segrec_AVERROR_INVALIDDATA: "not media that libav can read, or damaged"
    default:
      unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(AV_ERROR_MAX_STRING_SIZE) * 2) { buffer in
        guard let base = buffer.baseAddress, unsafe av_strerror(code, base, buffer.count) >= 0 else {
          return "error \(code)"
        }
        return unsafe String(cString: base)
      }
    }
  }
}

/// What a codec or filter answered when asked for output.
package enum CodingStep: Equatable, Sendable {
  /// The frame or packet passed in has been filled.
  case produced
  /// Nothing to give before more is sent.
  case needsInput
  /// Drained: nothing will come any more.
  case ended
}

/// Maps the answer of a `receive` call; nil is a failure.
func codingStep(_ result: Int32) -> CodingStep? {
  switch result {
  case 0...: .produced
  case segrec_AVERROR_EAGAIN: .needsInput
  case segrec_AVERROR_EOF: .ended
  default: nil
  }
}
