import Foundation
import LibAV

func write(_ bytes: [UInt8], to path: String) throws {
  try Data(bytes).write(to: URL(fileURLWithPath: path))
}

/// Decodes a whole file and counts what comes out.
func countDecoded(_ path: String) throws -> (pictures: Int, samples: Int, firstSample: Int64?) {
  var input = try MediaInput(InputRequest(url: path), interruption: Interruption())
  var counts = (pictures: 0, samples: 0, firstSample: Int64?.none)
  final class Owner {
    var decoder: Decoder
    let kind: MediaKind
    init(_ stream: StreamInfo) throws {
      decoder = try Decoder(stream: stream)
      kind = stream.kind
    }
  }
  var owners: [Int: Owner] = [:]
  for stream in [input.bestVideo, input.bestAudio].compactMap({ $0 }) { owners[stream.index] = try Owner(stream) }
  var packet = try Packet()
  var frame = try Frame()
  func receive(_ owner: Owner) throws {
    while try owner.decoder.receive(into: &frame) == .produced {
      if owner.kind == .video {
        counts.pictures += 1
      } else {
        counts.firstSample = counts.firstSample ?? frame.pts
        counts.samples += frame.sampleCount
      }
    }
  }
  while try input.read(into: &packet) {
    guard let owner = owners[packet.streamIndex] else { continue }
    try owner.decoder.send(packet)
    try receive(owner)
  }
  for owner in owners.values {
    try owner.decoder.drain()
    try receive(owner)
  }
  return counts
}
