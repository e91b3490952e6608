import Foundation
import HLS
import Storage
import TestKit
import Testing

@testable import Origin

@Suite struct `Index of recordings` {
  @Test func `sees what arrives, what others put there and what they take`() throws {
    let served = try ServedTree()
    let index = RecordingIndex(served.tree, lifetime: .zero)
    try served.write(firstSegment, [1, 2, 3])
    #expect(try index.summaries().map(\.bytes) == [3])
    let second = "\(lectureRun)/00000001_20261130T021313.123Z_450000.m4s"
    try served.write(second, [1, 2, 3, 4])
    #expect(try index.summaries().map(\.bytes) == [7])
    #expect(try index.summaries().map(\.segments) == [2])
    try served.write("\(lectureRun)/sent/00000001_20261130T021313.123Z_450000.m4s", [1])
    #expect(try index.summaries().map(\.bytes) == [8])
    let entry = try #require(EntryPath(firstSegment))
    #expect(try served.tree.remove(entry))
    #expect(try index.summaries().map(\.bytes) == [5])
  }
}
