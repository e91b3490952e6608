import Foundation
import HLS
import TestKit
import Testing

@Suite(.serialized)
struct `Quality in a browser` {
  /// Two qualities of 2 Mb/s and 0.2 Mb/s over a network that is taken away and given back. Chromium itself slows it down.
  @Test func `goes down when segments come too slowly, stays there, and goes up when they come easily again`() throws {
    let served = try ServedTree(gapAfter: .zero)
    let client = try served.client()
    let start = Int64(Date().timeIntervalSince1970 * 1_000) - 100_000
    let small = try #require(RenditionName("180p"))
    for (rendition, size, bitRate) in [(RenditionName.main, "480x270", 2_000), (small, "320x180", 150)] {
      try SampleRun(
        recording: "lecture", rendition: rendition, start: start, seconds: 24, size: size, bitRate: bitRate, each: 1
      ).upload(to: client, marker: "24.end")
    }
    let browser = try HeadlessBrowser()
    func allow(bytesPerSecond: Int) throws {
      try browser.call(
        "Network.emulateNetworkConditions",
        ["offline": false, "latency": 0, "downloadThroughput": bytesPerSecond, "uploadThroughput": -1])
    }
    let state =
      "JSON.stringify([video.currentTime, video.videoWidth, video.readyState, open.size, open.slow, open.easy])"
    try browser.call("Network.enable")
    try browser.open("http://127.0.0.1:\(served.port)/#/lecture")
    try browser.wait(for: "video.currentTime > 0.5 && video.videoWidth === 480", telling: state)
    #expect(try browser.evaluate("open.variants[0].rate > 5 * open.variants[1].rate") as? Bool == true)
    // A third of what the better one needs, one and a half of what the lesser one needs.
    try allow(bytesPerSecond: 60_000)
    try browser.evaluate("seekTo(10)")
    try browser.wait(for: "video.videoWidth === 320 && video.currentTime > 10", telling: state)
    #expect(try browser.text("$('quality').value") == "")
    try browser.wait(for: "video.currentTime > 13", telling: state)
    #expect(try browser.number("video.videoWidth") == 320)
    // As it is after a minute.
    try allow(bytesPerSecond: -1)
    try browser.evaluate("open.patience = 3; video.playbackRate = 4")
    try browser.wait(for: "video.videoWidth === 480 && video.currentTime > 13 && !video.paused", telling: state)
    #expect(try browser.number("open.patience") == 6)
    #expect(browser.complaints.isEmpty)
  }
}
