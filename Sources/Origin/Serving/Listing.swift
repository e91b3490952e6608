import HLS
import HTTP
import Platform
import Storage

extension OriginHandler {
  /// What the page lists.
  func recordings(_ access: Access, _ request: HeaderFields) -> Response {
    do throws(StorageError) {
      let summaries = try index.summaries().filter { access.mayRead($0.name) }
      var json = JSONText()
      json.object { json in
        json.pair("now", WallClock.now())
        json.key("recordings")
        json.array { json in
          for summary in summaries { write(summary, into: &json) }
        }
      }
      return jsonResponse(json, request)
    } catch {
      return failure("cannot list the recordings", error)
    }
  }

  private func write(_ summary: RecordingSummary, into json: inout JSONText) {
    json.object { json in
      json.pair("name", summary.name.text)
      json.pair("state", summary.state.rawValue)
      json.pair("start", summary.start?.milliseconds)
      json.pair("milliseconds", summary.ticks / 90)
      json.pair("segments", Int64(summary.segments))
      json.pair("missing", Int64(summary.missing))
      json.pair("runs", Int64(summary.runs))
      json.pair("bytes", summary.bytes)
      json.pair("lastArrival", summary.lastArrival)
      json.pair("end", summary.end)
      json.key("renditions")
      json.array { json in for rendition in summary.renditions { json.value(rendition.text) } }
    }
  }

  /// One recording's time line: spans as arrays of kind, run, start and length in milliseconds, and segment count.
  func timeline(_ recording: RecordingName, _ request: HeaderFields) -> Response {
    do throws(StorageError) {
      let renditions = try tree.renditions(of: recording)
      guard let rendition = renditions.contains(.main) ? .main : renditions.first else {
        return .text(404, "no such recording")
      }
      var runs: [TimelineShelf.Run] = []
      for run in try tree.runs(of: recording, rendition: rendition) {
        runs.append(try timelines.run(RunKey(recording: recording, rendition: rendition, run: run)))
      }
      let spans = runs.map { $0.timeline.spans(expected: $0.marker?.count) }
      let delays = runs.last?.timeline.delays ?? []
      let bytes = try index.summary(of: recording)?.bytes ?? 0
      var json = JSONText()
      json.object { json in
        json.pair("name", recording.text)
        json.pair("now", WallClock.now())
        json.pair("state", runs.last?.marker?.kind == .end ? "ended" : "live")
        json.pair("lastArrival", runs.map(\.lastArrival).max() ?? 0)
        json.pair("end", spans.last { !$0.isEmpty }?.last.map { $0.start.milliseconds + $0.milliseconds })
        json.pair("delay", delays.last)
        json.pair("delayMost", delays.max())
        json.pair("bytes", bytes)
        json.key("renditions")
        json.array { json in for rendition in renditions { json.value(rendition.text) } }
        json.key("spans")
        json.array { json in
          for (run, spans) in spans.enumerated() {
            for span in spans {
              json.array { json in
                json.value(span.kind.rawValue)
                json.value(Int64(run))
                json.value(span.start.milliseconds)
                json.value(span.milliseconds)
                json.value(Int64(span.segments))
              }
            }
          }
        }
      }
      return jsonResponse(json, request)
    } catch {
      return failure("cannot list \(recording)", error)
    }
  }

  /// Never kept by a browser: whoever signs out or loses the right to see it must not find it in a cache.
  private func jsonResponse(_ json: JSONText, _ request: HeaderFields) -> Response {
    var headers = HeaderFields([
      .init("Content-Type", "application/json"), .init("Cache-Control", "no-store"), .init("Vary", "Accept-Encoding"),
    ])
    if json.bytes.count >= 1_024, request.acceptsGzip, let packed = gzipped(json.bytes) {
      headers.append("Content-Encoding", "gzip")
      return Response(200, headers: headers, body: .bytes(packed))
    }
    return Response(200, headers: headers, body: .bytes(json.bytes))
  }
}
