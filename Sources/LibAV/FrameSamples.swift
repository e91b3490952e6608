import CLibAV
import Glibc

extension Frame {
  /// Gives away the first `count` samples, of more than there are so many; the data is shared. Of eight channels at most.
  package mutating func split(after count: Int) throws(AVError) -> Frame {
    let head = try shared()
    unsafe head.raw.pointee.nb_samples = Int32(count)
    let isPlanar = av_sample_fmt_is_planar(sampleFormat.raw) != 0
    for plane in 0..<(isPlanar ? channels : 1) {
      unsafe raw.pointee.extended_data[plane]? += count * sampleFormat.bytesPerSample * (isPlanar ? 1 : channels)
    }
    unsafe raw.pointee.nb_samples -= Int32(count)
    pts = pts.map { $0 + RationalTime(1, Int32(sampleRate)).convert(Int64(count), to: timeBase) }
    return head
  }

  /// Lets go of what lasts longer than `duration` says, where that is more than its unit rounds away.
  package mutating func dropPadding() {
    let samples = RationalTime(1, Int32(sampleRate))
    let kept = timeBase.convert(duration, to: samples)
    guard kept > 0, kept + timeBase.convert(2, to: samples) < Int64(sampleCount) else { return }
    unsafe raw.pointee.nb_samples = Int32(kept)
  }

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
