import CLibAV
import Glibc

extension Frame {
  /// The samples of one channel of planar floats; empty when it is other sound.
  package func floats(ofChannel channel: Int) -> [Float] {
    guard sampleFormat == .floatPlanar, channel >= 0, channel < channels,
      let data = unsafe raw.pointee.extended_data?[channel]
    else { return [] }
    return unsafe data.withMemoryRebound(to: Float.self, capacity: sampleCount) { samples in
      unsafe Array(UnsafeBufferPointer(start: samples, count: sampleCount))
    }
  }

  /// Adds `gain` times `samples` to one channel of planar floats, from its first sample on, and keeps the sums within
  /// -1...1. Nothing happens to other sound.
  package mutating func add(_ samples: [Float], times gain: Float, toChannel channel: Int) throws(AVError) {
    guard sampleFormat == .floatPlanar, channel >= 0, channel < channels else { return }
    let result = unsafe av_frame_make_writable(raw)
    guard result >= 0 else { throw AVError(.allocate("samples"), code: result) }
    guard let data = unsafe raw.pointee.extended_data?[channel] else { return }
    let count = min(samples.count, sampleCount)
    unsafe data.withMemoryRebound(to: Float.self, capacity: count) { sums in
      for index in 0..<count { unsafe sums[index] = min(max(sums[index] + gain * samples[index], -1), 1) }
    }
  }
}

/// The factor that so many decibels stand for.
package func amplitude(decibels: Double) -> Float { Float(pow(10, decibels / 20)) }
