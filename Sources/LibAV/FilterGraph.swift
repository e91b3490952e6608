import CLibAV

/// Form of the frames that enter a filter graph. Frames of another form need a new graph.
package enum FilterInput: Hashable, Sendable {
  case video(
    width: Int, height: Int, format: PixelFormat, timeBase: RationalTime, frameRate: RationalTime,
    sampleAspect: RationalTime)
  case audio(sampleRate: Int, format: SampleFormat, channelLayout: String, timeBase: RationalTime)

  /// The form of a decoded frame, which has its time base set.
  package init(of frame: borrowing Frame, kind: MediaKind, frameRate: RationalTime = RationalTime(0, 1)) {
    if kind == .video {
      let aspect = frame.sampleAspect
      self = .video(
        width: frame.width, height: frame.height, format: frame.pixelFormat, timeBase: frame.timeBase,
        frameRate: frameRate, sampleAspect: aspect.isKnown ? aspect : RationalTime(1, 1))
    } else {
      self = .audio(
        sampleRate: frame.sampleRate, format: frame.sampleFormat, channelLayout: frame.channelLayout,
        timeBase: frame.timeBase)
    }
  }

  var kind: MediaKind {
    switch self {
    case .video: .video
    case .audio: .audio
    }
  }

  var source: (filter: String, arguments: String) {
    switch self {
    case .video(let width, let height, let format, let timeBase, let frameRate, let aspect):
      var arguments = "width=\(width):height=\(height):pix_fmt=\(format.rawValue):time_base=\(timeBase)"
      arguments += ":sar=\(aspect.isKnown ? aspect : RationalTime(1, 1))"
      if frameRate.isKnown { arguments += ":frame_rate=\(frameRate)" }
      return ("buffer", arguments)
    case .audio(let sampleRate, let format, let layout, let timeBase):
      // Layouts without a name of libav's ("3 channels") are given by their number.
      let suffix = " channels"
      let form = layout.hasSuffix(suffix) ? "channels=\(layout.dropLast(suffix.count))" : "channel_layout=\(layout)"
      return ("abuffer", "sample_rate=\(sampleRate):sample_fmt=\(format):\(form):time_base=\(timeBase)")
    }
  }
}

/// Owns one `AVFilterGraph` of one or more inputs and one output of the same kind. Freed with `avfilter_graph_free`. After
/// each `send`, call `receive` until `.needsInput`.
@safe package struct FilterGraph: ~Copyable {
  package let inputs: [FilterInput]
  package let description: String
  private let raw: UnsafeMutablePointer<AVFilterGraph>
  private let sources: [UnsafeMutablePointer<AVFilterContext>]
  private let sink: UnsafeMutablePointer<AVFilterContext>

  /// - Parameters:
  ///   - inputs: at least one; all of one kind, which is the output's too.
  ///   - description: libavfilter's language. One input needs no label; several are `[in0]`, `[in1]` … and then the output
  ///     must be `[out]`.
  ///   - threads: slices filtered in parallel.
  package init(inputs: [FilterInput], description: String, threads: Int = 1) throws(AVError) {
    guard let kind = inputs.first?.kind, let raw = unsafe avfilter_graph_alloc() else {
      throw AVError(.allocate("a filter graph"), code: -12)
    }
    unsafe raw.pointee.nb_threads = Int32(max(1, threads))
    do throws(AVError) {
      let sink = try unsafe FilterGraph.create(
        kind == .video ? "buffersink" : "abuffersink", "out", kind == .video ? nil : "all_channel_counts=1", in: raw)
      var sources: [UnsafeMutablePointer<AVFilterContext>] = unsafe []
      for (index, input) in inputs.enumerated() {
        let name = inputs.count == 1 ? "in" : "in\(index)"
        let (filter, arguments) = input.source
        unsafe sources.append(try FilterGraph.create(filter, name, arguments, in: raw))
      }
      try unsafe FilterGraph.link(description, raw, sources, sink)
      unsafe self.sink = sink
      unsafe self.sources = sources
    } catch {
      var raw: UnsafeMutablePointer<AVFilterGraph>? = unsafe raw
      unsafe avfilter_graph_free(&raw)
      throw error
    }
    unsafe self.raw = raw
    self.inputs = inputs
    self.description = description
  }

  package init(input: FilterInput, description: String, threads: Int = 1) throws(AVError) {
    try self.init(inputs: [input], description: description, threads: threads)
  }

  deinit {
    var raw: UnsafeMutablePointer<AVFilterGraph>? = unsafe raw
    unsafe avfilter_graph_free(&raw)
  }

  /// Unit of the times that come out.
  package var outputTimeBase: RationalTime { unsafe RationalTime(av_buffersink_get_time_base(sink)) }
  package var outputFrameRate: RationalTime { unsafe RationalTime(av_buffersink_get_frame_rate(sink)) }
  package var outputSampleAspect: RationalTime { unsafe RationalTime(av_buffersink_get_sample_aspect_ratio(sink)) }
  package var outputWidth: Int { unsafe Int(av_buffersink_get_w(sink)) }
  package var outputHeight: Int { unsafe Int(av_buffersink_get_h(sink)) }
  package var outputSampleRate: Int { unsafe Int(av_buffersink_get_sample_rate(sink)) }
  package var outputPixelFormat: PixelFormat { unsafe PixelFormat(rawValue: av_buffersink_get_format(sink)) }

  /// Audio comes out in frames of exactly `samples`, but for the last.
  package mutating func setFrameSize(_ samples: Int) { unsafe av_buffersink_set_frame_size(sink, UInt32(samples)) }

  /// Takes the frame, which is clear afterwards; its times are in the input's time base.
  package mutating func send(_ frame: inout Frame, to input: Int = 0) throws(AVError) {
    let result = unsafe av_buffersrc_add_frame_flags(sources[input], frame.raw, 0)
    guard result >= 0 else { throw AVError(.filter(description), code: result) }
  }

  /// No more frames for `input`. `time` is where it ends, in its time base.
  package mutating func drain(input: Int = 0, at time: Int64? = nil) throws(AVError) {
    let result =
      if let time {
        unsafe av_buffersrc_close(sources[input], time, 0)
      } else {
        unsafe av_buffersrc_add_frame_flags(sources[input], nil, 0)
      }
    guard result >= 0 || result == segrec_AVERROR_EOF else { throw AVError(.filter(description), code: result) }
  }

  /// Fills `frame`, its times in `outputTimeBase`.
  package mutating func receive(into frame: inout Frame) throws(AVError) -> CodingStep {
    frame.clear()
    let result = unsafe av_buffersink_get_frame(sink, frame.raw)
    guard let step = codingStep(result) else { throw AVError(.filter(description), code: result) }
    if step == .produced { frame.timeBase = outputTimeBase }
    return step
  }

  private static func create(
    _ filter: String, _ name: String, _ arguments: String?, in graph: UnsafeMutablePointer<AVFilterGraph>
  ) throws(AVError) -> UnsafeMutablePointer<AVFilterContext> {
    guard let definition = unsafe avfilter_get_by_name(filter) else {
      throw AVError(.openFilter(filter), code: segrec_AVERROR_FILTER_NOT_FOUND)
    }
    var context: UnsafeMutablePointer<AVFilterContext>?
    let result = unsafe avfilter_graph_create_filter(&context, definition, name, arguments, nil, graph)
    guard result >= 0, let context = unsafe context else {
      throw AVError(.openFilter(filter), code: result < 0 ? result : -12)
    }
    return unsafe context
  }

  private static func link(
    _ description: String, _ graph: UnsafeMutablePointer<AVFilterGraph>,
    _ sources: [UnsafeMutablePointer<AVFilterContext>], _ sink: UnsafeMutablePointer<AVFilterContext>
  ) throws(AVError) {
    // "Outputs" are the open ends the description is to be fed from, "inputs" those it feeds.
    var outputs: UnsafeMutablePointer<AVFilterInOut>?
    for index in unsafe sources.indices.reversed() {
      guard let end = unsafe avfilter_inout_alloc() else {
        unsafe avfilter_inout_free(&outputs)
        throw AVError(.allocate("a filter graph"), code: -12)
      }
      unsafe end.pointee.name = av_strdup(sources.count == 1 ? "in" : "in\(index)")
      unsafe end.pointee.filter_ctx = sources[index]
      unsafe end.pointee.pad_idx = 0
      unsafe end.pointee.next = outputs
      unsafe outputs = end
    }
    guard var inputs = unsafe avfilter_inout_alloc() as UnsafeMutablePointer<AVFilterInOut>?? else {
      unsafe avfilter_inout_free(&outputs)
      throw AVError(.allocate("a filter graph"), code: -12)
    }
    unsafe inputs?.pointee.name = av_strdup("out")
    unsafe inputs?.pointee.filter_ctx = sink
    unsafe inputs?.pointee.pad_idx = 0
    unsafe inputs?.pointee.next = nil
    var result = unsafe avfilter_graph_parse_ptr(graph, description, &inputs, &outputs, nil)
    unsafe avfilter_inout_free(&inputs)
    unsafe avfilter_inout_free(&outputs)
    if result >= 0 { result = unsafe avfilter_graph_config(graph, nil) }
    guard result >= 0 else { throw AVError(.openFilter(description), code: result) }
  }
}

// Sendable: one owner, and libav gives filter graphs no thread affinity.
extension FilterGraph: @unchecked Sendable {}
