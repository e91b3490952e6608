import Foundation
import TestKit
import Testing

@testable import Platform

@Suite struct `Block buffer` {
  /// Where a file system writes past its cache, if the tests' has it, and where it may not be able to.
  @Test(arguments: ["/tmp", "/dev/shm"])
  func `what was appended, flushed and cut in any order is what the file holds`(place: String) throws {
    var random = SeededRandom(7)
    let buffer = BlockBuffer()
    for round in 0..<20 {
      let path = "\(place)/segrec-\(UUID().uuidString)"
      defer { unlink(path) }
      let file = try FileDescriptor.create(replacing: path)
      buffer.begin(file)
      var expected: [UInt8] = []
      var flushed = 0
      for _ in 0..<30 {
        switch Int.random(in: 0..<10, using: &random) {
        case 0:
          expected.removeLast(Int.random(in: 0...min(expected.count, 9_000), using: &random))
          try buffer.truncate(to: Int64(expected.count), file)
          flushed = min(flushed, expected.count)
        case 1:
          expected.removeLast(Int.random(in: 0...expected.count, using: &random))
          try buffer.truncate(to: Int64(expected.count), file)
          flushed = min(flushed, expected.count)
        case 2...4:
          try buffer.flush(to: file)
          flushed = expected.count
        default:
          let size = Int.random(in: 0...(round % 2 == 0 ? 9_000 : 1_300_000), using: &random)
          let bytes = [UInt8](repeating: UInt8.random(in: 1...255, using: &random), count: size)
          try buffer.append(bytes.span.bytes, to: file)
          expected += bytes
        }
        // What a crash would leave: all that was flushed, and behind it what was written since or the rest of a block.
        let found = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(found.prefix(flushed) == Data(expected).prefix(flushed))
        let rest = found.dropFirst(flushed)
        let isWritten = rest == Data(expected).dropFirst(flushed).prefix(rest.count)
        #expect(isWritten || rest.count < 4_096 && rest.allSatisfy { $0 == 0 })
      }
      try buffer.flush(to: file)
      try buffer.cut(file)
      #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(expected))
    }
  }
}
