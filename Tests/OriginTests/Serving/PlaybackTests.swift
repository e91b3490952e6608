import Foundation
import HLS
import HTTP
import Platform
import TestKit
import Testing

@testable import Origin

/// Milliseconds since the epoch.
private var now: Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }
/// Where screenshots go when somebody wants to look at them.
private let screenshots = ProcessInfo.processInfo.environment["SEGREC_SCREENSHOTS"]

/// What the page's video element is doing, for failures.
private let videoState = """
  JSON.stringify([video.currentTime, video.duration, video.readyState, video.paused, video.error && video.error.message,
  [...Array(video.buffered.length).keys()].map(i => [video.buffered.start(i), video.buffered.end(i)]),
  document.getElementById('message').textContent])
  """

@Suite(.serialized)
struct `Page in a browser` {
  /// A recording of two runs that has ended, with one segment missing and a break between the runs.
  private func uploadEnded(_ client: RawHTTPClient) throws {
    let start = now - 3_600_000
    let first = try SampleRun(recording: "lecture-monday", start: start, seconds: 30)
    let second = try SampleRun(
      recording: "lecture-monday", start: start + 100_000, seconds: 20, size: "480x270", tone: 660)
    try first.upload(to: client, missing: [2], marker: "6.next")
    try second.upload(to: client, marker: "4.end")
  }

  private func shoot(_ browser: HeadlessBrowser, _ name: String) throws {
    if let screenshots { try browser.screenshot(to: "\(screenshots)/\(name).png") }
  }

  @Test func `plays an ended recording over its gap and the break between runs, and seeks in it`() throws {
    let served = try ServedTree(gapAfter: .zero)
    try uploadEnded(served.client())
    let browser = try HeadlessBrowser()
    let page = "http://127.0.0.1:\(served.port)/"
    try browser.open(page)
    try browser.wait(for: "document.querySelector('#recordings a strong').textContent === 'lecture-monday'")
    #expect(try browser.text("document.querySelector('#recordings .badge').textContent") == "ended")
    #expect(try browser.text("document.querySelector('#recordings .warn').textContent") == "1 segment missing")
    try browser.wait(for: "document.querySelector('#recordings img').naturalWidth > 0")
    try shoot(browser, "list")
    try browser.evaluate("document.querySelector('#recordings a').click()")
    try browser.wait(for: "video.currentTime > 1", telling: videoState)
    #expect(try browser.text("document.querySelectorAll('#spans .missing').length") == "1")
    try browser.evaluate(
      "$('timeline').dispatchEvent(new PointerEvent('pointermove', { pointerType: 'mouse', "
        + "clientX: $('timeline').getBoundingClientRect().left + 300 }))")
    try browser.wait(for: "document.querySelector('#peek img').naturalWidth > 0")
    try shoot(browser, "ended")
    // Fast, and with the rest of the run skipped, over the gap at 10 s and the break at 25 s.
    try browser.evaluate("video.playbackRate = 4; seekTo(8)")
    try browser.wait(for: "video.currentTime > 13", seconds: 30, telling: videoState)
    try browser.evaluate("seekTo(23)")
    try browser.wait(for: "video.currentTime > 27 && video.videoWidth === 480", seconds: 30, telling: videoState)
    try browser.wait(for: "video.ended", seconds: 40, telling: videoState)
    #expect(try browser.evaluate("video.error") is NSNull)
    try browser.press("Home")
    try browser.wait(for: "video.currentTime < 2", telling: videoState)
    try browser.press("Escape")
    try browser.wait(for: "!document.getElementById('list').hidden")
    #expect(browser.complaints.isEmpty)
  }

  @Test func `follows a live recording over a gap and a new run to its end`() throws {
    let served = try ServedTree(gapAfter: .zero)
    let client = try served.client()
    let sample = try SampleRun(recording: "camera", start: now - 20_000, seconds: 30)
    let next = try SampleRun(recording: "camera", start: now + 30_000, seconds: 20, size: "480x270")
    for file in sample.files.prefix(5) { try sample.put(file.name, file.bytes, client) }
    let browser = try HeadlessBrowser()
    try browser.open("http://127.0.0.1:\(served.port)/#/camera")
    try browser.wait(for: "video.currentTime > 0.5 && !video.paused", telling: videoState)
    #expect(try browser.text("document.getElementById('badge').textContent") == "live")
    #expect(try browser.evaluate("document.getElementById('toLive').hidden") as? Bool == false)
    #expect(try browser.text("$('health').textContent").contains("No number is missing"))
    try shoot(browser, "live")
    // Back to the first segment and to the newest again.
    let edge = try browser.number("edge()")
    #expect(edge == 20)
    #expect(try browser.number("video.currentTime") >= 5)
    try browser.press("Home")
    try browser.wait(for: "video.currentTime > 0.3 && video.currentTime < 4", telling: videoState)
    try browser.press("End")
    try browser.wait(for: "video.currentTime > 13", telling: videoState)
    // The fifth does not come.
    for file in sample.files.dropFirst(6) { try sample.put(file.name, file.bytes, client) }
    try sample.put("6.next", [], client)
    try next.upload(to: client, marker: "4.end")
    try browser.wait(for: "edge() >= \(edge + 29)", seconds: 30, telling: videoState)
    try browser.evaluate("video.playbackRate = 4; seekTo(18)")
    try browser.wait(for: "video.currentTime > 26", seconds: 40, telling: videoState)
    try browser.wait(for: "video.currentTime > 31 && video.videoWidth === 480", seconds: 40, telling: videoState)
    try browser.wait(for: "video.ended", seconds: 40, telling: videoState)
    #expect(try browser.evaluate("video.error") is NSNull)
    #expect(
      try browser.number(
        "[...Array(video.played.length).keys()].reduce((n, i) => n + video.played.end(i) - video.played.start(i), 0)")
        > 25)
    try browser.wait(for: "document.getElementById('badge').textContent === 'ended'")
    #expect(browser.complaints.isEmpty)
  }

  @Test func `goes back in a live recording beyond what the live list still has`() throws {
    let served = try ServedTree(gapAfter: .zero, window: 15)
    let client = try served.client()
    try SampleRun(recording: "camera", start: now - 200_000, seconds: 20, size: "320x180")
      .upload(to: client, missing: [2], marker: "4.next")
    try SampleRun(recording: "camera", start: now - 60_000, seconds: 60).upload(to: client)
    let browser = try HeadlessBrowser()
    try browser.open("http://127.0.0.1:\(served.port)/#/camera")
    try browser.wait(for: "video.currentTime > 0.5 && !video.paused && edge() - begin() < 31", telling: videoState)
    try browser.press("Home")
    try browser.wait(
      for: "video.videoWidth === 320 && toWall(video.currentTime) - bounds()[0] < 9000", telling: videoState)
    try shoot(browser, "live-start")
    // Over the gap, and over the seam into what the live list begins with.
    try browser.evaluate("video.playbackRate = 4; seekWall(bounds()[0] + 8500)")
    try browser.wait(for: "toWall(video.currentTime) - bounds()[0] > 15500", seconds: 40, telling: videoState)
    try browser.wait(for: "video.videoWidth === 640", seconds: 40, telling: videoState)
    try browser.evaluate("act.live()")
    try browser.wait(for: "edge() - video.currentTime < 10 && video.readyState > 2", telling: videoState)
    #expect(browser.complaints.isEmpty)
  }

  @Test(arguments: [true, false])
  func `shows the pictures with another sound, and another quality`(isLive: Bool) throws {
    let served = try ServedTree(gapAfter: .zero)
    let client = try served.client()
    let start = now - 40_000
    let small = try #require(RenditionName("180p"))
    for (rendition, size, tone) in [(RenditionName.main, "640x360", 440), (small, "320x180", 440), (.mic, nil, 880)] {
      try SampleRun(
        recording: "lecture", rendition: rendition, start: start, seconds: 40, size: size as String?, tone: tone
      ).upload(to: client, marker: isLive ? nil : "8.end")
    }
    let browser = try HeadlessBrowser()
    try browser.open("http://127.0.0.1:\(served.port)/#/lecture")
    try browser.wait(for: "video.currentTime > 0.5 && video.videoWidth === 640", telling: videoState)
    try browser.evaluate("seekTo(12)")
    try browser.wait(for: "video.currentTime > 12 && video.readyState > 2", telling: videoState)
    #expect(try browser.text("[...$('sound').options].map(o => o.text)") == "Programme,Microphone")
    #expect(try browser.text("[...$('quality').options].map(o => o.text)") == "automatic,360p,180p")
    let goesOn = "video.currentTime > 12 && video.currentTime < 30 && !video.paused && video.readyState > 2"
    try browser.evaluate("$('sound').value = 'Microphone'; $('sound').dispatchEvent(new Event('change'))")
    try browser.wait(
      for: "player.feeds.length === 2 && player.feeds.every(f => f.buffer) && \(goesOn) && video.videoWidth === 640",
      telling: videoState)
    // One source of pictures and one of sound: the programme's own is left out.
    #expect(
      try browser.text("player.feeds.map(f => f.type.split('/')[0] + f.type.split(',').length)") == "video1,audio1")
    #expect(try browser.evaluate("$('links').textContent.includes('/lecture/main/sofar.m3u8')") as? Bool == isLive)
    let heard = try browser.number("video.webkitAudioDecodedByteCount")
    try browser.wait(for: "video.webkitAudioDecodedByteCount > \(heard)", telling: videoState)
    try browser.evaluate("$('quality').value = '320x180'; $('quality').dispatchEvent(new Event('change'))")
    try browser.wait(for: "video.videoWidth === 320 && \(goesOn)", telling: videoState)
    try shoot(browser, "sound-and-quality")
    #expect(browser.complaints.isEmpty)
  }

  @Test func `says that a recording is not there`() throws {
    let served = try ServedTree(gapAfter: .zero)
    let browser = try HeadlessBrowser()
    try browser.open("http://127.0.0.1:\(served.port)/#/nothing")
    try browser.wait(for: "!$('gone').hidden && $('there').hidden")
    #expect(try browser.text("$('gone').textContent").contains("no recording of this name"))
    try shoot(browser, "unknown")
  }

  @Test func `draws days of nothing narrow, with the days in the labels`() throws {
    let served = try ServedTree(gapAfter: .zero)
    let client = try served.client()
    let start = now - 300_000_000
    try SampleRun(recording: "kiosk", start: start, seconds: 20).upload(to: client, marker: "4.next")
    try SampleRun(recording: "kiosk", start: start + 180_000_000, seconds: 20).upload(to: client, marker: "4.end")
    let browser = try HeadlessBrowser()
    try browser.open("http://127.0.0.1:\(served.port)/#/kiosk")
    try browser.wait(for: "document.querySelectorAll('#spans .present, #spans .late').length === 2")
    let widths = try browser.text("[...$('spans').children].map(e => Math.round(parseFloat(e.style.width)))")
    #expect(widths == "2,49,49")
    #expect(try browser.text("$('from').textContent.length > 15 && $('to').textContent.length > 15") == "true")
    // In the middle of the second run.
    #expect(
      try browser.number("Math.round((wallAt($('timeline').getBoundingClientRect().right - 5) - bounds()[0]) / 1000)")
        == 180_020)
    try shoot(browser, "days")
  }

  @Test func `leaves it to the browser's own player where there are no media sources`() throws {
    let served = try ServedTree(gapAfter: .zero)
    try uploadEnded(served.client())
    let browser = try HeadlessBrowser()
    try browser.call(
      "Page.addScriptToEvaluateOnNewDocument", ["source": "delete window.MediaSource"])
    try browser.open("http://127.0.0.1:\(served.port)/#/lecture-monday")
    try browser.wait(for: "video.currentTime > 1", telling: videoState)
    #expect(try browser.text("player") == "null")
    try browser.evaluate("video.playbackRate = 4; seekTo(8)")
    try browser.wait(for: "video.currentTime > 16", seconds: 30, telling: videoState)
    try browser.evaluate("seekTo(28)")
    try browser.wait(for: "video.currentTime > 32 && video.videoWidth === 480", seconds: 30, telling: videoState)
    try browser.evaluate("seekTo(46)")
    try browser.wait(for: "video.ended", seconds: 40, telling: videoState)
    #expect(try browser.evaluate("video.error") is NSNull)
    #expect(browser.complaints.isEmpty)
  }

  @Test func `asks for the token and then plays with a cookie`() throws {
    let served = try ServedTree(gapAfter: .zero) {
      $0.readTokens = try AccessTokens(parsing: "watch-this-one", source: "file")
    }
    try SampleRun(recording: "private", start: now - 60_000, seconds: 10).upload(to: served.client(), marker: "2.end")
    let browser = try HeadlessBrowser()
    let page = "http://127.0.0.1:\(served.port)/"
    try browser.open(page)
    try browser.wait(for: "!document.getElementById('signIn').hidden")
    try shoot(browser, "token")
    try browser.evaluate("document.getElementById('token').value = 'wrong-token'; signIn('wrong-token')")
    try browser.wait(for: "document.getElementById('signInMessage').textContent !== ''")
    try browser.open("about:blank")
    try browser.open(page + "#token=watch-this-one")
    try browser.wait(for: "document.querySelector('#recordings a strong').textContent === 'private'")
    #expect(try browser.text("location.href") == page)
    #expect(try browser.text("document.cookie") == "")
    try browser.evaluate("location.hash = '#/private'")
    try browser.wait(for: "video.currentTime > 1", telling: videoState)
  }

  @Test func `fits a phone and the dark, and tells a browser without HLS what to do`() throws {
    let served = try ServedTree(gapAfter: .zero)
    try uploadEnded(served.client())
    let browser = try HeadlessBrowser()
    try browser.emulate(width: 390, height: 844, isMobile: true, isDark: true)
    try browser.open("http://127.0.0.1:\(served.port)/#/lecture-monday")
    try browser.wait(for: "video.currentTime > 0.5", telling: videoState)
    #expect(try browser.number("document.documentElement.scrollWidth") <= 390)
    #expect(try browser.text("getComputedStyle(document.body).backgroundColor") == "rgb(20, 20, 21)")
    try shoot(browser, "phone-dark")
    try browser.call(
      "Page.addScriptToEvaluateOnNewDocument",
      ["source": "HTMLMediaElement.prototype.canPlayType = () => ''; delete window.MediaSource"])
    try browser.open("about:blank")
    try browser.open("http://127.0.0.1:\(served.port)/#/lecture-monday")
    try browser.wait(for: "document.getElementById('message').textContent.includes('no player for HLS')")
    let link = try browser.text("document.querySelector('#message a').href")
    #expect(link.hasSuffix("/lecture-monday/vod.m3u8"))
    try shoot(browser, "no-player")
  }
}

@Suite struct `Download of a whole recording` {
  @Test func `is one MP4, whole or in parts, and leaves no file behind`() throws {
    let served = try ServedTree()
    let client = try served.client()
    try SampleRun(recording: "lecture", start: now - 60_000, seconds: 10).upload(to: client, marker: "2.end")
    let files = served.files()
    let answer = try client.request("GET", "/lecture/lecture.mp4")
    #expect(answer.status == 200)
    #expect(answer["content-disposition"] == "attachment; filename=\"lecture.mp4\"")
    #expect(String(decoding: answer.body[4..<8], as: UTF8.self) == "ftyp")
    let part = try client.request("GET", "/lecture/lecture.mp4", headers: ["Range: bytes=4-7"])
    #expect(part.status == 206 && part.text == "ftyp")
    #expect(try client.request("HEAD", "/lecture/lecture.mp4")["content-length"] == "\(answer.body.count)")
    #expect(served.files() == files)
    let path = served.directory.file("out.mp4")
    try Data(answer.body).write(to: URL(fileURLWithPath: path))
    let duration = try Program.tool(
      "ffprobe", ["-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", path])
    #expect(abs((Double(duration.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0) - 10) < 0.1)
    #expect(try client.request("GET", "/nothing/nothing.mp4").status == 404)
    #expect(try client.request("GET", "/lecture/other.mp4").status == 404)
  }
}
